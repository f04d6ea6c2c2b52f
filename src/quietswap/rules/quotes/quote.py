"""Computed quotes of swaps and wraps, with the result of each source."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

import msgspec

from quietswap.rules.relays import RelaySettings
from quietswap.rules.safety.wallet_effects import QuoteIssues
from quietswap.rules.tokens.token import Token, WrapOperation
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import UnsignedTransaction

UNREAD_DECIMALS = -1
"""Of a token that is still read while sources are asked; `VendorAdapter.needs_decimals` waits."""


@dataclass(frozen=True, slots=True)
class RouteRequest:
    """One exact-in swap, the same for every source. Amounts in smallest units."""

    sell: Token
    buy: Token
    sell_amount: int
    wallet: Address
    slippage_bps: int
    gas_price_wei: int
    deadline: int
    """Unix seconds after which the calldata may revert; later than any order's expiry."""


class Route(msgspec.Struct, frozen=True):
    """One complete route of a source.

    `target` is the router to call, `spender` the address to approve and `value` the wei to send, as
    the source says: `route_policy` checks all three. `buy_amount` is the promise before slippage,
    `min_buy_amount` the amount that the calldata enforces, both in smallest units of the buy token.
    `proprietary_amms` are the vendor's names of those it leads through.
    """

    source: str
    dex: str
    target: Address
    spender: Address
    value: int
    data: bytes
    path: tuple[Address, ...]
    buy_amount: int
    min_buy_amount: int
    gas: int | None
    impact_percent: Decimal | None
    proprietary_amms: tuple[str, ...] = ()


class NoRouteReason(StrEnum):
    """Why a source gave no route. The first two are market results, the others failures."""

    NO_ROUTE = "no_route"
    TOKEN_UNKNOWN = "token_unknown"
    RATE_LIMITED = "rate_limited"
    REFUSED = "refused"
    """The vendor refused the request: its key, its wallet, or a term. A retry does not help."""
    BAD_REPLY = "bad_reply"
    """Readable but wrong: schema, amount, router, spender or value."""
    TIMED_OUT = "timed_out"
    UNAVAILABLE = "unavailable"
    """Network failure, 5xx, HTML, oversized or unreadable body."""


class NoRoute(Exception):
    """A source gave no route; `reason` is sanitised text for the log and the `sources` block.

    A vendor's own sentence in it stands in quotation marks after `vendor:`.
    """

    def __init__(
        self, miss: NoRouteReason, reason: str, *, retry_after: float | None = None
    ) -> None:
        super().__init__(f"{miss}: {reason}")
        self.miss = miss
        self.reason = reason
        self.retry_after = retry_after


class ThreatLevel(StrEnum):
    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"


class VerificationStatus(StrEnum):
    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    """No simulation was possible (no eth_simulateV1, unknown token layout, no response)."""


class SourceOutcome(StrEnum):
    WON = "won"
    ANSWERED = "answered"
    NO_ROUTE = "no_route"
    TOKEN_UNKNOWN = "token_unknown"
    RATE_LIMITED = "rate_limited"
    REFUSED = "refused"
    BAD_REPLY = "bad_reply"
    TIMED_OUT = "timed_out"
    UNAVAILABLE = "unavailable"
    SKIPPED = "skipped"
    """Not asked: its circuit is open, its rate limit used up, an operator paused it, or its vendor
    does not take the slippage."""
    REVERTED = "reverted"
    SHORT_DELIVERY = "short_delivery"
    UNVERIFIED = "unverified"
    """It could not be simulated, and may not be offered without."""
    UNSAFE = "unsafe"
    """Router, method, spender, value, minimum or recipient breaks a money rule."""


class Remedy(StrEnum):
    """What would give the route that a source did not give; asking again would not."""

    OTHER_SLIPPAGE = "other_slippage"
    """Its vendor takes none as this: the request's `slippageBps`."""
    OFFER_UNVERIFIED = "offer_unverified"
    """Only its simulation is missing: the operator's `quotes.require_verification`."""


class SourceReport(msgspec.Struct, frozen=True):
    """One row of `sources`: amounts in smallest units of the buy token, time in milliseconds."""

    source: str
    outcome: SourceOutcome
    latency_ms: int
    promised: int | None = None
    simulated: int | None = None
    difference_bps: int | None = None
    reason: str | None = None
    reference_bps: int | None = None
    remedy: Remedy | None = None


class AlternativeRoute(msgspec.Struct, frozen=True):
    """A lower-ranked route; `net_value_usd` is None without a price."""

    source: str
    buy_amount: int
    net_value_usd: Decimal | None


@dataclass(frozen=True, slots=True)
class BatchForm:
    """The batched form of a swap (`quietswap.rules.routers.batch`) for a wallet that is delegated.

    `delegate` is the address of the wallet's code. `params` is the simulated transaction, and `gas`
    its use in units; both are None if the form cannot be used, for the `reason`. `conversion`: it
    also wraps what is sold, or unwraps the minimum.
    """

    delegate: Address
    params: UnsignedTransaction | None = None
    gas: int | None = None
    reason: str | None = None
    conversion: WrapOperation | None = None


FEE_MAY_RISE = (
    "the minimum holds before a fee on transfer of the buy token: if its owner raises one after"
    " this quote, less than the minimum can arrive"
)
"""A note: the router compares its own balance, or what the pools paid, and the token may take a
fee.
"""


class SwapQuote(msgspec.Struct, frozen=True):
    """A complete swap quote. Amounts in smallest units, USD as Decimal, times in Unix ms."""

    sell_token: Address
    buy_token: Address
    sell_amount: int
    buy_amount: int
    min_buy_amount: int
    slippage_bps: int
    wallet: Address
    route: Route
    gas: int
    impact_percent: Decimal | None
    net_value_usd: Decimal | None
    gas_cost_usd: Decimal | None
    threat_level: ThreatLevel
    protection_usd: Decimal
    protection: RelaySettings
    params: UnsignedTransaction
    verification: VerificationStatus
    issued_at_ms: int
    alternatives: tuple[AlternativeRoute, ...] = ()
    sources: tuple[SourceReport, ...] = ()
    notes: tuple[str, ...] = ()
    threat_known: bool = True
    issues: QuoteIssues = QuoteIssues()
    usd_cents: int | None = None
    """Value in USD cents, rounded up: the greater of what is sold and bought; None if unknown."""
    batch: BatchForm | None = None
    """None for a wallet that is not delegated."""


@dataclass(frozen=True, slots=True)
class WrapQuote:
    """A complete wrap or unwrap quote; `amount` in wei, times in Unix ms.

    `gas_wei` is the cost of `gas` at the next base fee.
    """

    quote_id: str
    operation: WrapOperation
    amount: int
    wallet: Address
    gas: int
    gas_wei: int
    protection: RelaySettings
    params: UnsignedTransaction
    issued_at_ms: int
    valid_until_ms: int
    notes: tuple[str, ...] = ()
