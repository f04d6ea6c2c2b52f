"""Time, aggregators, relays, the chain and prices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Protocol

from quietswap.domain.address import Address
from quietswap.domain.protection import EndpointType, ShareMode
from quietswap.domain.route import Route, SwapRequest
from quietswap.domain.token import Token
from quietswap.domain.transaction import TransactionParams


class Clock(Protocol):
    """Time, injected: tests move it by hand."""

    def now_ms(self) -> int:
        """Return Unix milliseconds."""

    def monotonic(self) -> float:
        """Return seconds that never jump."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class ChainDown(Exception):
    """The node gave no answer, a partial one, or an error: no information, never a verdict."""


class Aggregator(Protocol):
    """A DEX aggregator. It neither retries nor keeps a deadline: the use case owns both."""

    @property
    def name(self) -> str:
        """Return its configured name, such as `kyberswap`."""

    async def route(self, request: SwapRequest) -> Route:
        """Return one complete route. Raises quietswap.domain.route.SourceMiss."""


class RelayOutcome(StrEnum):
    """Three outcomes, never two, and the second is told apart by what must follow from it."""

    ACCEPTED = "accepted"
    HELD = "held"
    """It already has these bytes: as good as accepted."""
    CONFLICT = "conflict"
    """It holds another transaction with this nonce, or these bytes."""
    NONCE_USED = "nonce_used"
    """It says the nonce is too low: the node must be asked."""
    NO_FUNDS = "no_funds"
    INVALID = "invalid"
    WOULD_REVERT = "would_revert"
    BUSY = "busy"
    NOT_SENT = "not_sent"
    """The connection failed before any byte was written, or the circuit is open."""
    SILENT = "silent"
    """Nobody knows: timeout, 5xx, 429, HTML, unknown text."""


@dataclass(frozen=True, slots=True)
class RelayAnswer:
    """`reason` is our own plain text, never the relay's raw words."""

    outcome: RelayOutcome
    reason: str = ""


class Relay(Protocol):
    """A private relay. It is never asked for receipts, nonces or balances."""

    @property
    def name(self) -> str:
        """Return its display name."""

    @property
    def is_up(self) -> bool:
        """Return False while its circuit is open."""

    def drops_reverts(self, kind: EndpointType) -> bool:
        """Return whether it promises not to land a transaction that would revert."""

    @property
    def pays_rebates(self) -> bool:
        """Return whether a backrun's bid is shared with the user."""

    @property
    def probe_url(self) -> str:
        """Return the URL to call to see whether it answers; it may hold a secret: never shown."""

    def endpoint(self, kind: EndpointType, share: ShareMode) -> str:
        """Return the URL issued in quotes: where it is sent, without what is secret of it."""

    def tracking_url(self, tx_hash: str) -> str:
        """Return the public page or API that shows the transaction's state."""

    async def submit(self, raw: bytes, kind: EndpointType, share: ShareMode) -> RelayAnswer:
        """Send the signed bytes. Never raises for anything the relay or network does."""

    async def cancel(self, tx_hash: str) -> None:
        """Ask, best effort, that it be forgotten. Never raises; proves nothing."""

    async def hint(self, tx_hash: str) -> str | None:
        """Return what the relay says of it, in words of ours; for the diary, never a verdict."""


@dataclass(frozen=True, slots=True)
class Head:
    """The latest block: `base_fee` of it and `next_base_fee` in wei, `time` in Unix seconds."""

    number: int
    hash: str
    parent_hash: str
    time: int
    base_fee: int
    next_base_fee: int


@dataclass(frozen=True, slots=True)
class WalletFacts:
    """One wallet in wei or smallest units, at block number `head` or the next; `code` is empty for
    most."""

    head: int
    nonce: int
    eth_balance: int
    token_balance: int
    allowance: int
    code: bytes = b""


@dataclass(frozen=True, slots=True)
class Sender:
    """What a quote needs to know of the wallet: its next nonces, and its wei."""

    nonce: int
    pending_nonce: int
    eth_balance: int


@dataclass(frozen=True, slots=True)
class Simulation:
    """One candidate's fate: `received` in smallest units of the buy token, `gas` as maxUsedGas.

    `succeeded` is None when the node or the token's layout does not allow a verdict.
    """

    succeeded: bool | None
    received: int | None = None
    gas: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class BlockTransaction:
    """One transaction of a block: enough to match an order or what replaced it."""

    hash: str
    sender: Address
    nonce: int
    to: Address | None
    value: int
    data_size: int


@dataclass(frozen=True, slots=True)
class Block:
    """A full block; `time` in Unix seconds."""

    number: int
    hash: str
    parent_hash: str
    time: int
    transactions: tuple[BlockTransaction, ...]


@dataclass(frozen=True, slots=True)
class Receipt:
    """A complete receipt; one with a missing or foreign field is no receipt."""

    tx_hash: str
    block_number: int
    block_hash: str
    succeeded: bool
    gas_used: int
    effective_gas_price: int


class Chain(Protocol):
    """The operator's node(s). Every method raises ChainDown when there is no trustworthy answer."""

    async def head(self) -> Head:
        """Return the latest head (cached for less than a block)."""

    async def token(self, address: Address) -> Token | None:
        """Return decimals and symbol, cached; None when no ERC-20 lives there."""

    async def wallet(self, wallet: Address, token: Address, spender: Address) -> WalletFacts:
        """Return head, nonce, ETH, token balance and allowance in one round trip."""

    async def balances(self, wallet: Address, token: Address) -> tuple[int, int]:
        """Return (wei, token smallest units) at one block in one round trip."""

    async def rehearse(self, request: SwapRequest, spenders: Sequence[Address]) -> "Rehearsal":
        """Read what the wallet has, and what each of `spenders` may take of it.

        One round trip for a wallet that is ready to swap, so it is done while routes are awaited.
        """

    async def estimate_gas(self, wallet: Address, params: TransactionParams) -> int | None:
        """Return gas units; None when the node says the call would revert."""

    async def block(self, number: int) -> Block | None:
        """Return the canonical block at `number` with its transactions; None when not there yet."""

    async def block_by_hash(self, block_hash: str) -> Block | None:
        """Return a block by hash; None when the node does not know it."""

    async def finalized_number(self) -> int:
        """Return the number of the latest finalized block."""

    async def receipts(self, tx_hashes: Sequence[str]) -> Mapping[str, Receipt | None]:
        """Return receipts by hash in one batch; None where there is none."""

    async def nonces(self, wallets: Sequence[Address]) -> Mapping[Address, int]:
        """Return latest transaction counts in one batch."""


class Rehearsal(Protocol):
    """One wallet's swap, made ready on the node before any route of it is known."""

    @property
    def sender(self) -> Sender:
        """Return the wallet as it was found."""

    async def simulate(self, candidates: Sequence[Route]) -> Sequence[Simulation]:
        """Run all candidates from the same state in one round trip. Raises ChainDown.

        What the wallet lacks of balance or allowance is overridden. A candidate's spender must be
        one of those the rehearsal was begun with.
        """


class Prices(Protocol):
    """USD prices. A price that is stale, absent or in doubt is None, never an old number."""

    async def eth_usd(self) -> Decimal | None:
        """Return USD per ETH."""

    async def token_usd(self, token: Token) -> Decimal | None:
        """Return USD per whole token."""
