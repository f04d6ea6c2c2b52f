"""What was issued: the values a submitted order is later compared with."""

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any

from quietswap.domain.address import Address
from quietswap.domain.protection import Protection
from quietswap.domain.route import Route
from quietswap.domain.transaction import TransactionParams


class ThreatLevel(StrEnum):
    """How much a sandwich of this swap would take if it were sent publicly."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"


class Verification(StrEnum):
    """What the simulation said about a route."""

    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    """The node could not tell (no eth_simulateV1, unknown token layout, node away)."""


class Outcome(StrEnum):
    """What became of one source in one quote."""

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
    """Not asked: its circuit is open or its own rate limit is spent."""
    REVERTED = "reverted"
    SHORT_DELIVERY = "short_delivery"
    UNSAFE = "unsafe"
    """Router, spender, value, minimum or recipient broke a money rule."""


@dataclass(frozen=True, slots=True)
class SourceReport:
    """One row of `sources`: amounts in smallest units of the buy token, time in milliseconds."""

    source: str
    outcome: Outcome
    latency_ms: int
    promised: int | None = None
    simulated: int | None = None
    difference_bps: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Alternative:
    """A lower-ranked route; `net_value_usd` is None when no price is known."""

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
    protection: Protection
    params: TransactionParams
    verification: Verification
    issued_at_ms: int
    alternatives: tuple[Alternative, ...] = ()
    sources: tuple[SourceReport, ...] = ()
    notes: tuple[str, ...] = ()


class Operation(StrEnum):
    """The two directions of the 1:1 conversion."""

    WRAP = "wrap"
    UNWRAP = "unwrap"


@dataclass(frozen=True, slots=True)
class WrapQuote:
    """A complete wrap or unwrap quote; `amount` in wei, times in Unix ms."""

    quote_id: str
    operation: Operation
    amount: int
    wallet: Address
    gas: int
    protection: Protection
    params: TransactionParams
    issued_at_ms: int
    valid_until_ms: int


class QuoteKind(StrEnum):
    """What an issued quote is for."""

    SWAP = "swap"
    WRAP = "wrap"


@dataclass(frozen=True, slots=True)
class IssuedQuote:
    """The stored half of a quote: all that a submission is compared with.

    `terms` holds, by the dotted name used on the wire, every value an order must repeat
    (`orderParams.amount` and so on) as JSON values; `metadata` is `providerMetadata`.
    """

    quote_id: str
    kind: QuoteKind
    key_id: str
    params: TransactionParams
    wallet: Address
    endpoint_type: str
    share_mode: str
    tier: int
    issued_at_ms: int
    valid_until_ms: int
    metadata: dict[str, Any]
    terms: dict[str, Any] = field(default_factory=dict)
