"""Port: reads from the Ethereum node, and the records that it returns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from quietswap.rules.chain.block_facts import BlockFacts
from quietswap.rules.chain.received import Movements
from quietswap.rules.quotes.quote import Route, RouteRequest
from quietswap.rules.routers import batch
from quietswap.rules.tokens.token import Token, WrapOperation
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import SignedTransaction, UnsignedTransaction


@dataclass(frozen=True, slots=True)
class AccountState:
    """Wallet state for a quote: next nonces, balance in wei, and of the sell token the balance and
    the allowance of each router in smallest units. An EOA has no `code`."""

    nonce: int
    pending_nonce: int
    eth_balance: int
    sell_balance: int
    allowances: Mapping[Address, int]
    code: bytes = b""


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """Simulation result of one route: `received` in smallest units of the buy token, `gas` as
    maxUsedGas, `gas_used` after refunds.

    `succeeded` is None if the route could not be simulated. `broken` names the rule that a
    successful swap breaks for the wallet, and `takes_fee` whether that is a fee on transfer. The
    transaction must be issued with exactly `gas_limit`, because a contract can read it. `block`
    identifies the simulated block and its parent; only results of the same block are comparable.
    Without `exact` a contract could distinguish the simulation from the transaction: by gas price
    or base fee.
    """

    succeeded: bool | None
    received: int | None = None
    gas: int | None = None
    reason: str | None = None
    broken: str | None = None
    gas_limit: int | None = None
    block: str | None = field(default=None, compare=False)
    exact: bool = field(default=True, compare=False)
    gas_used: int | None = field(default=None, compare=False)
    takes_fee: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class SignedSwap:
    """A signed swap for a dry run, with its priority fee `tip` in wei and the least to receive.

    Of what arrives, the transaction itself unwraps `unwrapped` wei.
    """

    wallet: Address
    params: UnsignedTransaction
    buy_token: Address
    min_buy_amount: int
    tip: int = 0
    unwrapped: int = 0


def signed_swap(signed: SignedTransaction, buy_token: Address, min_buy_amount: int) -> SignedSwap:
    calls = batch.read(signed.params, signed.sender)
    return SignedSwap(
        signed.sender,
        signed.params,
        buy_token,
        min_buy_amount,
        signed.priority_fee,
        unwrapped=calls.unwrapped if calls else 0,
    )


@dataclass(frozen=True, slots=True)
class DryRun:
    """The result of a dry run on the latest state; `succeeded` None: unknown, for `reason`.

    `received` is None if only success or failure is known.
    """

    succeeded: bool | None
    received: int | None = None
    reason: str = ""

    def fault(self, swap: SignedSwap) -> str | None:
        """Return why the swap would fail its terms; None if it would not, or if that is unknown."""
        if self.succeeded is False:
            return self.reason or "it reverts without a reason"
        if self.succeeded and self.received is not None and self.received < swap.min_buy_amount:
            return f"it would deliver {self.received}, less than its minimum {swap.min_buy_amount}"
        return None

    @property
    def words(self) -> str:
        if self.succeeded is None:
            return f"not simulated: {self.reason}"
        if self.received is None:
            return "simulated by eth_call: it does not revert"
        return f"simulated: it delivers {self.received}"


class PreparedSimulation(Protocol):
    """A prepared simulation: the wallet's state, read before the routes are known."""

    @property
    def sender(self) -> AccountState:
        """Return the wallet state that was read."""

    @property
    def next_base_fee(self) -> int:
        """Return the base fee in wei of the block in which all candidates are simulated."""

    async def simulate(self, candidates: Sequence[Route]) -> Sequence[SimulationResult]:
        """Simulate all candidates from the same state in one round trip; on failure, each alone.

        Further calls simulate in the same block, if the node knows it. Each candidate runs as its
        transaction would in the next block. Missing balance, allowance or ETH is overridden. A
        candidate with a wrong gas limit runs again, at most three times. The spender of a candidate
        must be one of the spenders that the preparation received.
        """

    async def simulate_batched(
        self, route: Route, conversion: WrapOperation | None = None
    ) -> SimulationResult:
        """Simulate approval and swap as one transaction of the wallet to itself, like `simulate`.

        With `conversion` it wraps what is sold, too, or unwraps the minimum.
        It runs on the router's real allowance; `broken` if any is left or the code of the wallet
        does not support the mode. See `quietswap.rules.routers.batch`.
        """


class NodeUnavailable(Exception):
    """The node returned no complete and valid response. It permits no conclusion.

    `for_caller` are the words for a caller.
    """

    for_caller = "the Ethereum node does not answer"


class NodeBehind(NodeUnavailable):
    """It answers, without a block that it had shown."""

    for_caller = "the Ethereum node is behind and does not show the newest block"


class UnreadableToken(Exception):
    """A view call of the token reverts or uses all its gas, on every node."""


class CallReverts(Exception):
    """The call reverts on the latest state; the text is the reason: printable and bounded."""


@dataclass(frozen=True, slots=True)
class Head:
    """The latest block: `base_fee` of it and `next_base_fee` in wei, `time` in Unix seconds.

    `coinbase` received its tips; it and `gas_limit` are None if the node does not return them.
    `is_amsterdam`: the gas prices of that fork apply (EIP-2780, 7976, 8037). Its headers have a
    block access list (https://eips.ethereum.org/EIPS/eip-7928).
    """

    number: int
    hash: str
    parent_hash: str
    time: int
    base_fee: int
    next_base_fee: int
    coinbase: Address | None = None
    gas_limit: int | None = None
    is_amsterdam: bool = False


@dataclass(frozen=True, slots=True)
class WalletSnapshot:
    """Wallet state at block `head` or the next, in wei and smallest units. An EOA has no `code`."""

    head: int
    nonce: int
    eth_balance: int
    token_balance: int
    allowance: int
    code: bytes = b""


@dataclass(frozen=True, slots=True)
class BlockTransaction:
    """The fields of a mined transaction that identify an order or its replacement."""

    hash: str
    sender: Address
    nonce: int
    to: Address | None
    value: int
    data_size: int


@dataclass(frozen=True, slots=True)
class Block:
    """A full block; `time` in Unix seconds. `facts` are None unless the node shows them."""

    number: int
    hash: str
    parent_hash: str
    time: int
    transactions: tuple[BlockTransaction, ...]
    facts: BlockFacts | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """A complete receipt. A response with a missing or wrong field is not a receipt.

    `movements`: the net change of `sender` by token, from the logs; None if the node sent no
    readable logs. The logs themselves are not kept.
    """

    tx_hash: str
    block_number: int
    block_hash: str
    succeeded: bool
    gas_used: int
    effective_gas_price: int
    sender: Address | None = None
    movements: Movements | None = None


TRACKED_HEAD_S = 4
"""An age of the head at which the tracker, which reads it every 3 s, has nearly always renewed it.

Who takes such a head reads the latest one beside what it asks next, and compares.
"""


class ChainReader(Protocol):
    """The operator's nodes. Every method raises NodeUnavailable if there is no valid response."""

    async def head(self, max_age_s: float | None = None) -> Head:
        """Return the latest head, or one at most `max_age_s` old (less than a block if None)."""

    async def newest_number(self) -> int:
        """Return the highest block of several backends: one URL may lead to some that lag."""

    async def next_fork(self, after_s: int) -> int | None:
        """Return the first Unix time after `after_s` at which new rules apply.

        Known by this release, by the settings, and by the node (EIP-7910, cached for minutes): None
        if none of them names one. Raises nothing.
        """

    async def token(self, address: Address) -> Token | None:
        """Return decimals and symbol, cached; None if the address is not an ERC-20."""

    async def tokens(self, *addresses: Address) -> list[Token | None]:
        """Return the same of a few, in order. One round trip; none if all are cached."""

    def has_read(self, *addresses: Address) -> bool:
        """Return whether `tokens` returns them without a round trip."""

    async def total_supply(self, token: Address) -> int | None:
        """Return how much of a token there is; None if it does not tell."""

    async def wallet(self, wallet: Address, token: Address, spender: Address) -> WalletSnapshot:
        """Return head, nonce, ETH, token balance and allowance in one round trip."""

    async def wallet_and_gas(
        self, wallet: Address, token: Address, params: UnsignedTransaction
    ) -> tuple[Head, WalletSnapshot, int | None]:
        """Return head, facts and the gas that a call uses, in one round trip.

        The allowance is that of the token itself. None where `estimate_gas` has to say why.
        """

    async def wallet_and_dry_run(
        self, swap: SignedSwap, token: Address, spender: Address
    ) -> tuple[WalletSnapshot, DryRun]:
        """Return the same and the result of a dry run of the swap, in one round trip."""

    async def dry_runs(self, swaps: Sequence[SignedSwap]) -> Sequence[DryRun]:
        """Return the dry run of each signed swap on the latest state, in one batch."""

    async def balances(self, wallet: Address, token: Address) -> tuple[int, int]:
        """Return (wei, token smallest units) at one block in one round trip."""

    async def prepare_simulation(
        self, request: RouteRequest, spenders: Sequence[Address]
    ) -> "PreparedSimulation":
        """Read balance and allowances of the wallet for a later simulation.

        It takes one round trip if no override is needed, and runs while routes are requested.
        Raises UnreadableToken if the view calls of the sell token fail.
        """

    async def settlers(self) -> frozenset[Address]:
        """Return the genuine Settlers of 0x's Deployer, cached for minutes; none while paused.

        See `quietswap.rules.routers.settlers`.
        """

    async def estimate_gas(self, wallet: Address, params: UnsignedTransaction) -> int | None:
        """Return gas units; None if the wallet cannot pay for it. Raises CallReverts."""

    async def block(self, number: int) -> Block | None:
        """Return the canonical block at `number` with its transactions; None if it is not mined."""

    async def block_by_hash(self, block_hash: str) -> Block | None:
        """Return a block by hash; None if the node does not have it."""

    async def finalized_number(self) -> int:
        """Return the number of the latest finalized block."""

    async def receipts(self, tx_hashes: Sequence[str]) -> Mapping[str, Receipt | None]:
        """Return receipts by hash; None where there is none.

        A receipt that cannot be read, though the node answers, is left out: it permits no
        conclusion about its transaction.
        """

    async def pending_nonce(self, wallet: Address) -> int:
        """Return the transaction count with the node's public mempool."""

    async def nonces(self, wallets: Sequence[Address]) -> Mapping[Address, int]:
        """Return latest transaction counts in one batch."""

    async def nonces_at(
        self, number: int, block_hash: str, wallets: Sequence[Address]
    ) -> Mapping[Address, int]:
        """Return transaction counts after a block, from backends that have it at its number."""
