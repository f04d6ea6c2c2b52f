"""KyberSwap Aggregator, `GET /ethereum/api/v1/routes` and `POST /ethereum/api/v1/route/build`.

https://docs.kyberswap.com/kyberswap-solutions/kyberswap-aggregator/aggregator-api-specification/evm-swaps
Of all venues this one likes V3 pools best.
"""

import hmac
import json
import secrets
import time
import uuid
from decimal import Decimal
from typing import Any

from quietswap.domain import address as addresses
from quietswap.sandbox.faults import FaultBoard
from quietswap.sandbox.pools import POOLS
from quietswap.sandbox.routes import Hop, PoolRoute
from quietswap.sandbox.venues.desk import BadParameter, Desk, Miss, Missed, Offer, Query, Step, less
from quietswap.sandbox.venues.market import Market, Worth, prefers_v3
from quietswap.sandbox.web import Answer, Reply, Request, json_reply

NAME = "kyberswap"
_ROUTES, _BUILD = "/ethereum/api/v1/routes", "/ethereum/api/v1/route/build"
_QUERY_FAULT, _BODY_FAULT = "unable to bind query parameters", "unable to bind request body"
_DEADLINE_S = 1200
_MISSES = {
    Miss.NO_ROUTE: (400, 4008, "route not found"),
    Miss.UNKNOWN_TOKEN: (400, 4011, "token not found"),
    Miss.RATE_LIMITED: (429, 429, "too many requests"),
    Miss.REFUSED: (403, 403, "forbidden"),
}
_LIMITS = {"x-ratelimit-limit": "30, 10", "x-aggregator-tier": "basic"}


class KyberSwap:
    """`handle` serves the two calls; a summary is built only as it was given out."""

    def __init__(self, market: Market, board: FaultBoard) -> None:
        self._desk = Desk(NAME, market, board, prefers_v3)
        self._secret = secrets.token_bytes(16)

    async def handle(self, request: Request) -> Answer:
        """Answer one request."""
        try:
            if (request.method, request.path) == ("GET", _ROUTES):
                return _success(await self._routes(Query(request.query)))
            if (request.method, request.path) == ("POST", _BUILD):
                return _success(await self._build(request))
        except Missed as error:
            return _failure(*_MISSES[error.miss])
        except BadParameter as error:
            is_query = request.method == "GET"
            return _failure(
                400,
                4001 if is_query else 4002,
                _QUERY_FAULT if is_query else _BODY_FAULT,
                [{"field": error.name, "message": str(error)}],
            )
        return Reply(404, b"404 page not found", "text/plain")

    async def _routes(self, query: Query) -> dict[str, Any]:
        sell, buy = query.address("tokenIn"), query.address("tokenOut")
        offer = await self._desk.offer(self._desk.ask(sell, buy, query.amount("amountIn")))
        return {
            "routeSummary": await self._summary(offer),
            "routerAddress": self._desk.router,
        }

    async def _summary(self, offer: Offer) -> dict[str, Any]:
        worth = await self._worth(offer)
        summary: dict[str, Any] = {
            "tokenIn": offer.route.sell.lower(),
            "amountIn": str(offer.ask.amount),
            "amountInUsd": f"{worth.in_usd:f}",
            "tokenOut": offer.route.buy.lower(),
            "amountOut": str(offer.promised),
            "amountOutUsd": f"{worth.out_usd:f}",
            "gas": str(offer.route.gas),
            "gasPrice": str(await self._desk.market.gas_price()),
            "gasUsd": f"{worth.gas_usd:f}",
            "l1FeeUsd": "0",
            "extraFee": {"feeAmount": "0", "chargeFeeBy": "", "isInBps": False, "feeReceiver": ""},
            "route": [[_hop(step) for step in await self._desk.steps(offer)]],
            "routeID": str(uuid.uuid4()),
            "timestamp": int(time.time()),
        }
        return summary | {"checksum": self._checksum(summary)}

    async def _worth(self, offer: Offer) -> Worth:
        return await self._desk.market.worth(offer.route, offer.ask.amount, offer.promised)

    def _checksum(self, summary: dict[str, Any]) -> str:
        """Return a number above 2**63 that only this venue can give to exactly this summary."""
        unsigned = {name: value for name, value in summary.items() if name != "checksum"}
        text = json.dumps(unsigned, sort_keys=True).encode()
        digest = hmac.digest(self._secret, text, "sha256")
        return str(int.from_bytes(digest[:8]) | 1 << 63)

    async def _build(self, request: Request) -> dict[str, Any]:
        body = _body(request)
        summary = body.get("routeSummary")
        if not isinstance(summary, dict) or summary.get("checksum") != self._checksum(summary):
            raise BadParameter("routeSummary", "the route summary was not given out like this")
        fields = Query({name: str(value) for name, value in body.items() if value is not None})
        fields.address("sender")
        recipient = fields.address("recipient")
        slippage = fields.integer("slippageTolerance", 0, 2000, 0)
        deadline = fields.integer("deadline", 0, 2**63, int(time.time()) + _DEADLINE_S)
        offer = await self._again(summary)
        worth = await self._worth(offer)
        least = less(offer.promised, slippage)
        return {
            "amountIn": summary["amountIn"],
            "amountInUsd": f"{worth.in_usd:f}",
            "amountOut": str(offer.promised),
            "amountOutUsd": f"{worth.out_usd:f}",
            "gas": str(offer.route.gas),
            "gasUsd": f"{worth.gas_usd:f}",
            "additionalCostUsd": "0",
            "additionalCostMessage": "",
            "outputChange": _change(int(summary["amountOut"]), offer.promised),
            "data": self._desk.calldata(
                offer, min_out=least, recipient=recipient, deadline=deadline
            ),
            "routerAddress": self._desk.router,
            "transactionValue": str(self._desk.value),
        }

    async def _again(self, summary: dict[str, Any]) -> Offer:
        """Return the offer of a summary at today's prices."""
        self._desk.check_open()
        pools = {pool.address.lower(): pool for pool in POOLS}
        hops = [
            Hop(pools[row["pool"]], addresses.from_any_case(row["tokenIn"]))
            for row in summary["route"][0]
        ]
        route, amount = PoolRoute(tuple(hops)), int(summary["amountIn"])
        delivered = await self._desk.market.delivers(route, amount)
        ask = self._desk.ask(route.sell, route.buy, amount)
        return Offer(ask, route, delivered, self._desk.promise(delivered))


def _hop(step: Step) -> dict[str, Any]:
    pool = step.hop.pool
    return {
        "pool": pool.address.lower(),
        "tokenIn": step.hop.token_in.lower(),
        "tokenOut": step.hop.token_out.lower(),
        "swapAmount": str(step.amount_in),
        "amountOut": str(step.amount_out),
        "exchange": "uniswapv3" if pool.v3 else "uniswap",
        "poolType": "uniswapv3" if pool.v3 else "uniswap-v2",
        "poolExtra": {"swapFee": pool.fee} if pool.v3 else None,
        "extra": None,
    }


def _body(request: Request) -> dict[str, Any]:
    try:
        body = request.json()
    except ValueError as error:
        raise BadParameter("body", "the body is not JSON") from error
    if not isinstance(body, dict):
        raise BadParameter("body", "the body is not an object")
    return body


def _change(before: int, after: int) -> dict[str, Any]:
    percent = Decimal(after - before) * 100 / before if before else Decimal(0)
    return {"amount": str(after - before), "percent": float(percent), "level": 0}


def _success(data: dict[str, Any]) -> Reply:
    body = {"code": 0, "message": "successfully", "data": data, "requestId": str(uuid.uuid4())}
    return json_reply(body, headers=_LIMITS | {"x-ratelimit-remaining": "29"})


def _failure(status: int, code: int, message: str, details: Any = None) -> Reply:
    body = {"code": code, "message": message, "details": details, "requestId": str(uuid.uuid4())}
    limited = {"x-ratelimit-remaining": "0", "x-ratelimit-reset-after": "2"}
    return json_reply(body, status, _LIMITS | (limited if status == 429 else {}))
