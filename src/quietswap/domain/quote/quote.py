"""Computed quotes of swaps and wraps, with the result of each source."""

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from quietswap.domain.address import Address
from quietswap.domain.quote.quote_issues import QuoteIssues
from quietswap.domain.quote.relay_settings import RelaySettings
from quietswap.domain.quote.route import Route
from quietswap.domain.transaction.unsigned import UnsignedTransaction


class ThreatLevel(StrEnum):
    """The loss to a sandwich if this swap were sent publicly."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"


class VerificationStatus(StrEnum):
    """Whether a simulation has confirmed a route."""

    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    """No simulation was possible (no eth_simulateV1, unknown token layout, no response)."""


class SourceOutcome(StrEnum):
    """The result of one source in one quote."""

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
    UNBOUND = "unbound"
    """No proof that the router enforces the terms (OpenOcean's proxy); not offered."""
    UNSAFE = "unsafe"
    """Router, spender, value, minimum or recipient breaks a money rule."""


@dataclass(frozen=True, slots=True)
class SourceReport:
    """One row of `sources`: amounts in smallest units of the buy token, time in milliseconds."""

    source: str
    outcome: SourceOutcome
    latency_ms: int
    promised: int | None = None
    simulated: int | None = None
    difference_bps: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class AlternativeRoute:
    """A lower-ranked route; `net_value_usd` is None without a price."""

    source: str
    buy_amount: int
    net_value_usd: Decimal | None


@dataclass(frozen=True, slots=True)
class SwapQuote:
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
    issues: QuoteIssues = field(default_factory=QuoteIssues)
    usd_cents: int | None = None
    """Value in USD cents, rounded up: the greater of what is sold and bought; None if unknown."""


class WrapOperation(StrEnum):
    """The two directions of the 1:1 conversion."""

    WRAP = "wrap"
    UNWRAP = "unwrap"


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
