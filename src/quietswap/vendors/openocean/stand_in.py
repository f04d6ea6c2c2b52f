"""OpenOcean API v4, `GET /v4/1/swap` and `GET /v4/1/quote`; https://docs.openocean.finance/docs/swap-api.

Like the real one, this venue quotes the output without price impact and chooses its route by it.
The quote is too high, the more so the larger the swap. Its minimum is correct.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from quietswap.sandbox.contracts.pools import SandboxToken
from quietswap.sandbox.http_server import Answer, HttpRequest, json_reply
from quietswap.sandbox.venues.market import PricedRoute
from quietswap.sandbox.venues.quote_engine import (
    BadParameter,
    PriceQuote,
    QueryParams,
    RejectReason,
    Venue,
    described,
    less,
)

_CHAINS = ("1", "eth", "ethereum")
_SWAPS = frozenset(f"/v4/{chain}/swap" for chain in _CHAINS)
_QUOTES = frozenset(f"/v4/{chain}/quote" for chain in _CHAINS)
_QUOTED = (
    "inToken", "outToken", "inAmount", "outAmount", "dexes", "path", "save", "price_impact",
)  # fmt: skip
"""What `/quote` has of the members of `/swap`."""
_UNKNOWN = {"code": 400, "error": "token not found", "errorMsg": "outToken is not supported"}
_MISSES: dict[RejectReason, tuple[dict[str, Any], int]] = {
    RejectReason.NO_ROUTE: ({"code": 200, "data": None}, 200),
    RejectReason.UNKNOWN_TOKEN: (_UNKNOWN, 400),
    RejectReason.RATE_LIMITED: ({"code": 429, "error": "Too Many Requests"}, 429),
    RejectReason.REFUSED: ({"code": 403, "error": "Forbidden"}, 403),
}


def _cheapest(routes: Sequence[PricedRoute]) -> PricedRoute | None:
    """Return the route with the lowest fees, for any size of the swap."""
    return min(routes, key=lambda one: sum(hop.pool.fee for hop in one.route.hops), default=None)


class OpenOceanVenue(Venue):
    """`handle` serves `/swap`, and `/quote` without a wallet and calldata."""

    name = "openocean"
    taste = staticmethod(_cheapest)

    async def _answer(self, request: HttpRequest, query: QueryParams) -> Answer:
        if request.method != "GET" or request.path not in _SWAPS | _QUOTES:
            return json_reply({"code": 404, "error": "Not Found"}, 404)
        if not request.query.keys() & {"gasPriceDecimals", "gasPrice"}:
            return json_reply({"code": 200})
        slippage = query.decimal("slippage", "0.05", "50", "1")
        offer = await self._desk.asked(query, "inTokenAddress", "outTokenAddress", "amountDecimals")
        least = less(offer.promised, slippage * 100)
        data = await self._quoted(offer, least)
        if request.path in _QUOTES:
            own = {"estimatedGas": str(offer.route.gas), "exchange": self._desk.router}
            data = {name: data[name] for name in _QUOTED} | own
        elif query.text("account", "-") != "-":
            account = query.address("account")
            data |= {
                "from": query.address("sender", account),
                "data": self._desk.calldata(offer, min_out=least, recipient=account),
            }
        return json_reply({"code": 200, "data": data})

    def _missed(self, miss: RejectReason) -> Answer:
        return json_reply(*_MISSES[miss])

    def _invalid(self, request: HttpRequest, error: BadParameter) -> Answer:
        return json_reply({"code": 400, "error": str(error), "errorMsg": str(error)}, 400)

    async def _quoted(self, offer: PriceQuote, least: int) -> dict[str, Any]:
        ask, market = offer.ask, self._desk.market
        promised = self._desk.promise(await market.before_impact(offer.route, ask.amount))
        impact = (Decimal(offer.promised) / promised - 1) * 100 if promised else Decimal(0)
        first = _dex(offer.route.hops[0].pool.v3)
        return {
            "inToken": await self._token(ask.sell, ask.amount),
            "outToken": await self._token(ask.buy, promised),
            "inAmount": str(ask.amount),
            "outAmount": str(promised),
            "minOutAmount": str(least),
            "estimatedGas": offer.route.gas,
            "to": self._desk.router,
            "value": str(self._desk.value),
            "gasPrice": str(await market.gas_price()),
            "chainId": 1,
            "price_impact": f"{impact:.2f}%",
            "dexes": [{"dexIndex": 0, "dexCode": first, "swapAmount": str(promised)}],
            "path": _path(offer),
            "save": 0,
        }

    async def _token(self, token: SandboxToken, amount: int) -> dict[str, Any]:
        usd = await self._desk.market.usd_price(token)
        volume = float(usd * amount / 10**token.decimals)
        return described(token) | {"usd": f"{usd:.6f}", "volume": volume}


def _dex(v3: bool) -> str:
    return "UniswapV3" if v3 else "UniswapV2"


def _path(offer: PriceQuote) -> dict[str, Any]:
    steps = [
        {
            "from": hop.token_in,
            "to": hop.token_out,
            "parts": 100,
            "dexes": [{"dex": _dex(hop.pool.v3), "percentage": 100}],
        }
        for hop in offer.route.hops
    ]
    routes = [{"parts": 1, "percentage": 100, "subRoutes": steps}]
    return {"from": offer.route.sell, "to": offer.route.buy, "parts": 1, "routes": routes}
