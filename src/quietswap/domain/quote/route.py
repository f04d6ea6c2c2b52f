"""The request to an aggregator, its route, and the reasons for no route."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from quietswap.domain.address import Address
from quietswap.domain.token import Token


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


@dataclass(frozen=True, slots=True)
class Route:
    """One complete route of a source.

    `target` is the router to call, `spender` the address to approve and `value` the wei to send, as
    the source says: `route_policy` checks all three. `buy_amount` is the promise before slippage,
    `min_buy_amount` the amount that the calldata enforces, both in smallest units of the buy token.
    `bound`: the router is proven to enforce the calldata's terms; only
    `route_policy.with_enforced_minimum` sets it, by `enforcing`.
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
    bound: bool = False

    def enforcing(self, min_buy_amount: int, *, bound: bool) -> "Route":
        """Return the route with these two fields, in half the time of `dataclasses.replace`."""
        return Route(
            self.source,
            self.dex,
            self.target,
            self.spender,
            self.value,
            self.data,
            self.path,
            self.buy_amount,
            min_buy_amount,
            self.gas,
            self.impact_percent,
            bound,
        )


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
