"""What must hold of a route before it is even simulated: the rules an attacker will try first."""

from collections.abc import Collection
from dataclasses import replace

from quietswap.domain import calldata
from quietswap.domain.address import Address
from quietswap.domain.amounts import less_slippage
from quietswap.domain.route import Route, SwapRequest

_DUST_UNITS = 2
_DUST_SHARE = 10**9


def with_enforced_minimum(route: Route) -> Route:
    """Return the route with its calldata's own minimum where that is lower by mere rounding.

    Vendors round in floats and do not say how, so their calldata may enforce some units less than
    integer arithmetic says. Up to 2 smallest units or a billionth of the promise is rounding, and
    then the lower figure is the true one. A larger gap stays, for `check_route` to refuse; so does
    one of 2 units that is a whole bps of a tiny amount.
    """
    try:
        terms = calldata.decode(route.data)
    except calldata.HostileCalldata:
        return route
    dust = max(_DUST_UNITS, route.buy_amount // _DUST_SHARE)
    if terms is None or not 0 < route.min_buy_amount - terms.min_buy_amount <= dust:
        return route
    return replace(route, min_buy_amount=terms.min_buy_amount)


def check_route(route: Route, request: SwapRequest, pinned: Collection[Address]) -> str | None:
    """Return which money rule the route breaks, in plain words, or None.

    The wallet approves `target`, often without limit, so an address nobody pinned is the worst
    answer a source can give. Where the router's layout is known its own minimum and recipient are
    read from the calldata: what a source says beside it binds nobody.
    """
    if route.target not in pinned:
        return f"{route.target} is not a pinned router of {route.source}"
    if route.spender != route.target:
        return f"the spender {route.spender} is not the router"
    if route.value != 0:
        return f"it asks for {route.value} wei with the transaction"
    if route.buy_amount <= 0 or route.min_buy_amount <= 0:
        return "it promises nothing"
    if route.min_buy_amount > route.buy_amount:
        return "its minimum is above its promise"
    if route.min_buy_amount < _least(route, request):
        return "its minimum gives more slippage than was asked"
    try:
        terms = calldata.decode(route.data)
    except calldata.HostileCalldata as error:
        return f"its calldata is malformed: {error}"
    return None if terms is None else _check_terms(terms, route, request)


def _least(route: Route, request: SwapRequest) -> int:
    """Return the lowest minimum the asked slippage allows.

    Sources that report a minimum take it from their gross output, before a fee of some 15 bps that
    `buy_amount` is net of: it is lower by the slippage's share of that fee, which is granted.
    """
    granted = 1 + request.slippage_bps // 500
    return less_slippage(route.buy_amount, request.slippage_bps + granted)


def _check_terms(terms: calldata.CalldataTerms, route: Route, request: SwapRequest) -> str | None:
    if terms.min_buy_amount < route.min_buy_amount:
        return f"its calldata enforces only {terms.min_buy_amount} of {route.min_buy_amount}"
    if terms.recipient not in (None, request.wallet):
        return f"its calldata pays {terms.recipient}, not the wallet"
    if terms.sell_token != request.sell.address:
        return "its calldata sells another token"
    if terms.buy_token not in (None, request.buy.address):
        return "its calldata buys another token"
    if terms.sell_amount != request.sell_amount:
        return "its calldata sells another amount"
    if terms.partial:
        return "its calldata may sell only a part"
    return None
