"""What an aggregator is asked, what it answers, and why it may answer nothing."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from quietswap.domain.address import Address
from quietswap.domain.token import Token


@dataclass(frozen=True, slots=True)
class SwapRequest:
    """One exact-in swap, the same for every source. Amounts in smallest units."""

    sell: Token
    buy: Token
    sell_amount: int
    wallet: Address
    slippage_bps: int
    gas_price_wei: int
    deadline: int
    """Unix seconds after which the calldata may revert; later than any order's expiry."""


@dataclass(frozen=True, slots=True)
class Route:
    """One complete answer of a source; it cannot exist half-filled.

    `target` is the router to call, `spender` the address the source wants approved, `value` the
    wei it wants sent: the money rules compare all three. `buy_amount` is what it promises before
    slippage, `min_buy_amount` what its calldata enforces, both in smallest units of the buy token.
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


class Miss(StrEnum):
    """Why a source gave no route. The first two are the market's answer, the rest is silence."""

    NO_ROUTE = "no_route"
    TOKEN_UNKNOWN = "token_unknown"
    RATE_LIMITED = "rate_limited"
    REFUSED = "refused"
    """Authentication or compliance: asking again will not help."""
    BAD_REPLY = "bad_reply"
    """Readable but wrong: schema, amount, router, spender or value."""
    TIMED_OUT = "timed_out"
    UNAVAILABLE = "unavailable"
    """Network failure, 5xx, HTML, oversized or unreadable body."""


class SourceMiss(Exception):
    """A source gave no route; `reason` is for the log and the `sources` block, sanitised."""

    def __init__(self, miss: Miss, reason: str, *, retry_after: float | None = None) -> None:
        super().__init__(f"{miss}: {reason}")
        self.miss = miss
        self.reason = reason
        self.retry_after = retry_after
