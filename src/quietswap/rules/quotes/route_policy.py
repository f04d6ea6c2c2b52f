"""The rules that a route must keep before it is simulated.

The service and the client use the same code: a route that breaks a rule is neither offered nor
signed.
"""

from collections.abc import Collection

from msgspec.structs import replace

from quietswap.rules.amounts import less_slippage
from quietswap.rules.quotes.quote import Route, RouteRequest
from quietswap.rules.safety import calldata
from quietswap.rules.tx.address import Address

_DUST_UNITS = 3
"""Two units of rounding, and the one that Augustus keeps."""
_DUST_SHARE = 10**9


def with_enforced_minimum(route: Route, request: RouteRequest) -> Route:
    """Return the route, with the calldata's minimum if only rounding lowers it.

    Vendors round in floats, so their calldata may enforce a few units less than integer arithmetic
    gives. A gap of up to 3 smallest units or a billionth of the promise is rounding: the minimum
    becomes the lower figure. A larger gap stays, and `check_route` refuses it.
    """
    try:
        terms = calldata.decode(route.target, route.data, buy_token=request.buy.address)
    except calldata.UnboundCalldata:
        return route
    dust = max(_DUST_UNITS, route.buy_amount // _DUST_SHARE)
    is_rounding = 0 < route.min_buy_amount - terms.min_buy_amount <= dust
    return replace(route, min_buy_amount=terms.min_buy_amount) if is_rounding else route


def check_route(
    route: Route,
    request: RouteRequest,
    pinned: Collection[Address],
    *,
    settlers: Collection[Address] | None = None,
) -> str | None:
    """Return the money rule that the route breaks, as text; None if it keeps all.

    The wallet approves `target`, often without limit, so only pinned addresses are accepted.
    Minimum, recipient, tokens and amount are read from the calldata, and only for a method whose
    router is proven to enforce them. Other claims of a source bind nobody.

    `settlers` are 0x's genuine Settlers (`quietswap.rules.routers.settlers`); without them 0x is
    refused.
    """
    broken = _check_call(route, pinned) or _check_amounts(route, request)
    if broken is not None:
        return broken
    try:
        terms = calldata.decode(route.target, route.data, buy_token=request.buy.address)
    except calldata.MalformedCalldata as error:
        return f"its calldata is malformed: {error}"
    except calldata.UnboundCalldata as error:
        return f"not bound by its router: {error}"
    return (
        _check_minimum(terms, route)
        or _check_trade(terms, request)
        or _check_settler(terms.settler, settlers)
    )


def breaks_amounts_only(
    route: Route,
    request: RouteRequest,
    pinned: Collection[Address],
    *,
    settlers: Collection[Address] | None = None,
) -> bool:
    """Return whether a route that `check_route` refuses keeps all rules but those of amounts.

    Router, spender, value, recipient, tokens, sold amount and Settler are then as they must be.
    """
    if _check_call(route, pinned) is not None:
        return False
    try:
        terms = calldata.decode(route.target, route.data, buy_token=request.buy.address)
    except calldata.NoMinimum as error:
        terms = error.terms
    except calldata.UnboundCalldata:
        return False
    return (_check_trade(terms, request) or _check_settler(terms.settler, settlers)) is None


def _check_call(route: Route, pinned: Collection[Address]) -> str | None:
    if route.target not in pinned:
        return f"{route.target} is not a pinned router of {route.source}"
    if route.spender != route.target:
        return f"the spender {route.spender} is not the router"
    if route.value != 0:
        return f"it asks for {route.value} wei with the transaction"
    return None


def _check_amounts(route: Route, request: RouteRequest) -> str | None:
    if route.buy_amount <= 0 or route.min_buy_amount <= 0:
        return "its output or its minimum is 0"
    if route.min_buy_amount > route.buy_amount:
        return "its minimum is above its promise"
    if route.min_buy_amount < _least(route, request):
        return "its minimum gives more slippage than was asked"
    return None


def _least(route: Route, request: RouteRequest) -> int:
    """Return the lowest minimum that the requested slippage allows.

    Sources compute a minimum from their gross output, before a fee of about 15 bps; `buy_amount` is
    net of it. So the minimum may be lower by the slippage's share of that fee.
    """
    granted = 1 + request.slippage_bps // 500
    return less_slippage(route.buy_amount, request.slippage_bps + granted)


def _check_minimum(terms: calldata.DecodedCalldata, route: Route) -> str | None:
    if terms.min_buy_amount < route.min_buy_amount:
        return f"its calldata enforces only {terms.min_buy_amount} of {route.min_buy_amount}"
    return None


def _check_trade(terms: calldata.DecodedCalldata, request: RouteRequest) -> str | None:
    if terms.recipient not in (None, request.wallet):
        return f"its calldata pays {terms.recipient}, not the wallet"
    if terms.sell_token != request.sell.address:
        return "its calldata sells another token"
    if terms.buy_token != request.buy.address:
        return "its calldata buys another token"
    if terms.sell_amount != request.sell_amount:
        return "its calldata sells another amount"
    return None


def _check_settler(settler: Address | None, settlers: Collection[Address] | None) -> str | None:
    if settler is None:
        return None
    if not settlers:
        return (
            f"its Settler {settler} cannot be proven genuine: 0x's Deployer names none, or could"
            " not be read"
        )
    if settler not in settlers:
        return f"its Settler {settler} cannot be proven genuine: 0x's Deployer names others"
    return None
