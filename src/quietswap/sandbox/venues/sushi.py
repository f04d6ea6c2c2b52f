"""Sushi Swap API v7, `GET /swap/v7/1`; https://docs.sushi.com/api/swagger.

This venue trades on the pair of the two tokens where there is one, and promises a little less
than it delivers.
"""

from typing import Any

from quietswap.sandbox.faults import FaultBoard
from quietswap.sandbox.tokens import SandboxToken
from quietswap.sandbox.venues.desk import BadParameter, Desk, Miss, Missed, Offer, Query, less
from quietswap.sandbox.venues.market import Market, direct_v2
from quietswap.sandbox.web import Answer, Reply, Request, json_reply

NAME = "sushi"
_CAUTION_BPS = 2


class Sushi:
    """`handle` serves the call."""

    def __init__(self, market: Market, board: FaultBoard) -> None:
        self._desk = Desk(NAME, market, board, direct_v2)

    async def handle(self, request: Request) -> Answer:
        """Answer one request."""
        if (request.method, request.path) != ("GET", "/swap/v7/1"):
            return json_reply({"code": "404", "detail": "Not found"}, 404)
        try:
            return json_reply(await self._swap(Query(request.query)))
        except Missed as error:
            return _missed(error.miss)
        except BadParameter as error:
            return json_reply({"code": "422-01", "detail": f"Invalid {error.name}"}, 422)

    async def _swap(self, query: Query) -> dict[str, Any]:
        sender = query.address("sender")
        recipient = query.address("recipient", sender)
        slippage = query.decimal("maxSlippage", "0", "0.999999", "0.005")
        sell, buy = query.address("tokenIn"), query.address("tokenOut")
        if self._desk.market.token(sell) is None or self._desk.market.token(buy) is None:
            raise Missed(Miss.NO_ROUTE)
        offer = await self._desk.offer(self._desk.ask(sell, buy, query.amount("amount")))
        promised = less(offer.promised, _CAUTION_BPS)
        data = self._desk.calldata(
            offer, min_out=less(promised, slippage * 10_000), recipient=recipient
        )
        transaction: dict[str, Any] = {
            "from": sender.lower(),
            "to": self._desk.router.lower(),
            "data": data,
            "gasPrice": await self._desk.market.gas_price(),
        }
        if self._desk.value:
            transaction["value"] = str(self._desk.value)
        return await self._answer(offer, promised) | {"tx": transaction}

    async def _answer(self, offer: Offer, promised: int) -> dict[str, Any]:
        untouched = await self._desk.market.before_impact(offer.route, offer.ask.amount)
        tokens = [self._desk.market.token(one) for one in offer.route.path]
        known = [token for token in tokens if token is not None]
        sell, buy = offer.ask.sell, offer.ask.buy
        whole_in = offer.ask.amount / 10**sell.decimals
        return {
            "status": "Success",
            "tokens": [_described(token) for token in known],
            "tokenFrom": 0,
            "tokenTo": len(known) - 1,
            "swapPrice": promised / 10**buy.decimals / whole_in,
            "priceImpact": 1 - offer.delivered / untouched if untouched else 0,
            "amountIn": str(offer.ask.amount),
            "assumedAmountOut": str(promised),
            "gasSpent": offer.route.gas - 20_000,
        }


def _described(token: SandboxToken) -> dict[str, Any]:
    return {
        "address": token.address,
        "symbol": token.symbol,
        "name": token.symbol,
        "decimals": token.decimals,
    }


def _missed(miss: Miss) -> Reply:
    match miss:
        case Miss.NO_ROUTE:
            return json_reply({"status": "NoWay"})
        case Miss.UNKNOWN_TOKEN:
            return json_reply({"code": "422-01", "detail": "Invalid tokenOut"}, 422)
        case Miss.RATE_LIMITED:
            body = {"code": "429", "detail": "Too many requests"}
            return json_reply(body, 429, {"Retry-After": "2"})
        case Miss.REFUSED:
            return json_reply({"code": "401-01", "detail": "invalid-api-key"}, 401)
