"""Routes that keep every money rule, for tests that break one."""

from typing import Any

from msgspec import structs

from quietswap.rules.quotes.quote import Route, RouteRequest
from quietswap.rules.quotes.route_policy import check_route
from quietswap.rules.tokens.token import WETH, Token
from quietswap.rules.tx.address import Address
from tests.routers.router_calldata import (
    APART,
    ENCODERS,
    OTHER_METHODS,
    REFUSED_METHODS,
    ROUTER_OF,
    WRITTEN,
)
from tests.vendors.router import EXECUTOR, Swap

ROUTER = Address("0x6131B5fae19EA4f9D964eAc0408E4408b66337b5")
STRANGER = Address("0x1234567890123456789012345678901234567890")
WALLET = Address("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045")
USDC = Address("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")
REQUEST = RouteRequest(
    sell=Token(WETH, 18),
    buy=Token(USDC, 6),
    sell_amount=10**18,
    wallet=WALLET,
    slippage_bps=50,
    gas_price_wei=10**9,
    deadline=1_800_000_000,
)
TERMS = Swap(WETH, USDC, 10**18, 2_985_000_000, WALLET)
ROUTE = Route(
    source="kyberswap",
    dex="uniswapv3",
    target=ROUTER,
    spender=ROUTER,
    value=0,
    data=ENCODERS["kyberswap"](TERMS),
    path=(WETH, USDC),
    buy_amount=3_000_000_000,
    min_buy_amount=2_985_000_000,
    gas=200_000,
    impact_percent=None,
)


BOUND = sorted(ENCODERS)


def judged(
    route: Route,
    request: RouteRequest = REQUEST,
    *,
    settlers: tuple[Address, ...] | None = (EXECUTOR,),
) -> str | None:
    """Return the verdict where the route's own target is pinned."""
    return check_route(route, request, (route.target,), settlers=settlers)


def of(source: str, swap: Swap = TERMS, **changes: Any) -> Route:
    """Return a route of `source` through its own router."""
    router = ROUTER_OF[source]
    data = (ENCODERS | OTHER_METHODS | REFUSED_METHODS | APART)[source](swap)
    return structs.replace(ROUTE, target=router, spender=router, data=data, **changes)


def enforced_by(source: str, minimum: int) -> int:
    """Return what is left of a minimum."""
    return minimum - WRITTEN[source].dust


def honest(source: str, **changes: Any) -> Route:
    """Return a route that says what its calldata enforces."""
    return of(source, min_buy_amount=enforced_by(source, TERMS.minimum), **changes)
