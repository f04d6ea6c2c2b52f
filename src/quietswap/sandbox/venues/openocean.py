"""OpenOcean API v4, `GET /v4/1/swap`; https://docs.openocean.finance/docs/swap-api.

Like the real one, this venue says what the swap would bring if it moved no price, and chooses its
route by that: its promise is too good, the more so the larger the swap. Its minimum is honest.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from quietswap.sandbox.faults import FaultBoard
from quietswap.sandbox.routes import PricedRoute
from quietswap.sandbox.tokens import SandboxToken
from quietswap.sandbox.venues.desk import BadParameter, Desk, Miss, Missed, Offer, Query, less
from quietswap.sandbox.venues.market import Market
from quietswap.sandbox.web import Answer, Reply, Request, json_reply

NAME = "openocean"
_PATHS = frozenset(f"/v4/{chain}/swap" for chain in ("1", "eth", "ethereum"))
_MISSES = {
    Miss.NO_ROUTE: (200, {"code": 200, "data": None}),
    Miss.UNKNOWN_TOKEN: (
        400,
        {"code": 400, "error": "token not found", "errorMsg": "outToken is not supported"},
    ),
    Miss.RATE_LIMITED: (429, {"code": 429, "error": "Too Many Requests"}),
    Miss.REFUSED: (403, {"code": 403, "error": "Forbidden"}),
}


def _cheapest(routes: Sequence[PricedRoute]) -> PricedRoute | None:
    """Take the route with the lowest fees, whatever the size of the swap."""
    return min(routes, key=lambda one: sum(hop.pool.fee for hop in one.route.hops), default=None)


class OpenOcean:
    """`handle` serves the call."""

    def __init__(self, market: Market, board: FaultBoard) -> None:
        self._desk = Desk(NAME, market, board, _cheapest)

    async def handle(self, request: Request) -> Answer:
        """Answer one request."""
        if request.method != "GET" or request.path not in _PATHS:
            return json_reply({"code": 404, "error": "Not Found"}, 404)
        if not request.query.keys() & {"gasPriceDecimals", "gasPrice"}:
            return json_reply({"code": 200})
        try:
            return await self._swap(Query(request.query))
        except Missed as error:
            status, body = _MISSES[error.miss]
            return json_reply(body, status)
        except BadParameter as error:
            return json_reply({"code": 400, "error": str(error), "errorMsg": str(error)}, 400)

    async def _swap(self, query: Query) -> Reply:
        sell, buy = query.address("inTokenAddress"), query.address("outTokenAddress")
        slippage = query.decimal("slippage", "0.05", "50", "1")
        ask = self._desk.ask(sell, buy, query.amount("amountDecimals"))
        offer = await self._desk.offer(ask)
        untouched = await self._desk.market.before_impact(offer.route, ask.amount)
        promised = self._desk.promise(untouched)
        least = less(offer.promised, slippage * 100)
        data = await self._described(offer, promised, least)
        if query.text("account", "-") != "-":
            account = query.address("account")
            data |= {
                "from": query.address("sender", account),
                "data": self._desk.calldata(offer, min_out=least, recipient=account),
            }
        return json_reply({"code": 200, "data": data})

    async def _described(self, offer: Offer, promised: int, least: int) -> dict[str, Any]:
        ask, market = offer.ask, self._desk.market
        impact = (Decimal(offer.promised) / promised - 1) * 100 if promised else Decimal(0)
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
            "dexes": [{"dexIndex": 0, "dexCode": _dex(offer), "swapAmount": str(promised)}],
            "path": _path(offer),
            "save": 0,
        }

    async def _token(self, token: SandboxToken, amount: int) -> dict[str, Any]:
        usd = await self._desk.market.usd_price(token)
        return {
            "address": token.address,
            "decimals": token.decimals,
            "symbol": token.symbol,
            "name": token.symbol,
            "usd": f"{usd:.6f}",
            "volume": float(usd * amount / 10**token.decimals),
        }


def _dex(offer: Offer) -> str:
    return "UniswapV3" if offer.route.hops[0].pool.v3 else "UniswapV2"


def _path(offer: Offer) -> dict[str, Any]:
    steps = [
        {
            "from": hop.token_in,
            "to": hop.token_out,
            "parts": 100,
            "dexes": [{"dex": "UniswapV3" if hop.pool.v3 else "UniswapV2", "percentage": 100}],
        }
        for hop in offer.route.hops
    ]
    return {
        "from": offer.route.sell,
        "to": offer.route.buy,
        "parts": 1,
        "routes": [{"parts": 1, "percentage": 100, "subRoutes": steps}],
    }
