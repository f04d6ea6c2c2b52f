"""A planned swap: its quote, its loss, the approvals before it, and why it may not be signed."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from quietswap.client.errors import ClientError
from quietswap.client.flows import quoting
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.flows.reference_price import ReferencePrice
from quietswap.client.flows.simulation import SwapSimulation
from quietswap.rules.chain.records import Head
from quietswap.rules.contract.quotes import SwapQuoteResponse
from quietswap.rules.contract.transactions import TransactionParams
from quietswap.rules.safety.loss import Loss
from quietswap.rules.wire import WrapOperation

Step = Literal["wrap", "reset", "approve", "swap", "batch", "unwrap"]
FRESH_S = 20.0
"""A quote expires after about 30 s. After 20 s too little time may be left to sign it."""


@dataclass(frozen=True, slots=True)
class WalletFacts:
    """What the caller's own node shows of the wallet; amounts in smallest units and in wei.

    `allowance` is that of the quote's router for the sell token, `next_nonce` without orders that
    are private, `used_nonces` only what the latest block has.
    """

    sell_balance: int
    ether: int
    allowance: int
    next_nonce: int
    used_nonces: int


@dataclass(frozen=True, slots=True)
class PlannedApproval:
    """One approval to sign before the swap; `amount` in smallest units (0 for a reset)."""

    token: str
    router: str
    amount: int


@dataclass(frozen=True, slots=True)
class SwapPlan:
    """A quote that passed the checks, with all that is decided about it before it is signed.

    `quote` has the transaction to sign: of a batched plan the batched form. `loss` is the client's
    own judgement, at most `accepted_bps` of it is accepted by the request. `approvals` are signed
    first, with `approval_gas_wei` at most for their gas. `block`, the own node's latest when it was
    planned, `wallet`, `reference` and `trial` are None without a node; `trial` also before the last
    check. `refusal` is the error that is raised
    instead of a signature. `at` is when the quote came, in s of the client's monotonic clock. With
    ETH, `conversion` is a wrap that is signed first, or an unwrap that is signed last, and
    `conversion_gas_wei` the most that its gas may cost at the fees of now. Of a batch, whose
    transaction does it, `request.batch_conversion` says which.
    """

    request: SwapRequest
    quote: SwapQuoteResponse
    loss: Loss
    at: float
    refusal: ClientError | None = None
    approvals: tuple[PlannedApproval, ...] = ()
    approval_gas_wei: int = 0
    block: Head | None = None
    wallet: WalletFacts | None = None
    reference: ReferencePrice | None = None
    is_batched: bool = False
    trial: SwapSimulation | None = None
    conversion: WrapOperation | None = None
    conversion_gas_wei: int = 0

    @property
    def params(self) -> TransactionParams:
        """The transaction of the swap."""
        return self.quote.mev_protection.transaction_params

    @property
    def steps(self) -> tuple[Step, ...]:
        """What is signed, in order; each step waits for the block of the one before it."""
        approvals: tuple[Step, ...] = tuple(
            "approve" if each.amount else "reset" for each in self.approvals
        )
        before: tuple[Step, ...] = ("wrap",) if self.conversion == "wrap" else ()
        after: tuple[Step, ...] = ("unwrap",) if self.conversion == "unwrap" else ()
        return *before, *approvals, "batch" if self.is_batched else "swap", *after

    @property
    def wraps(self) -> bool:
        """Whether it sells ETH: a step of its own or the batch wraps it."""
        return "wrap" in (self.conversion, self.request.batch_conversion)

    @property
    def signatures(self) -> int:
        """How many transactions are signed: one for each step."""
        return len(self.steps)

    @property
    def gas_costs(self) -> tuple[int, int, int]:
        """The most that swap, approvals and conversion may cost in gas, in wei."""
        return int(self.params.max_gas_cost), self.approval_gas_wei, self.conversion_gas_wei

    @property
    def max_gas_cost(self) -> int:
        """The most that all of them may cost in gas, in wei."""
        return sum(self.gas_costs)

    @property
    def fresh_until(self) -> float:
        """Until when the quote may be signed, in s of the client's monotonic clock."""
        return self.at + FRESH_S

    @property
    def accepted_bps(self) -> int:
        return quoting.most_bps(self.request)

    @property
    def needs_consent(self) -> bool:
        """Whether it may lose more than the request accepts, so that `confirm` is asked."""
        has_floor = self.request.at_least is not None
        return self.loss.exceeds(self.accepted_bps, has_floor=has_floor)

    @property
    def below_percent(self) -> Decimal | None:
        """How far the quote is below the reference, in percent; None without one."""
        if self.reference is None:
            return None
        return self.reference.below_percent(self.quote, self.request.slippage_bps)

    def require(self) -> None:
        """Raise the refusal, if there is one."""
        if self.refusal is not None:
            raise self.refusal
