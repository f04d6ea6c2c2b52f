"""KyberSwap Aggregator, `GET /ethereum/api/v1/routes` and `POST /ethereum/api/v1/route/build`.

https://docs.kyberswap.com/kyberswap-solutions/kyberswap-aggregator/aggregator-api-specification/evm-swaps
This stand-in prefers V3 pools.
"""

import hmac
import json
import secrets
import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, ClassVar

from quietswap.rules.tx.address import Address, from_any_case
from quietswap.rules.vendors.kyberswap import VENDOR
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.contracts.abi import Call, entry, set_storage
from quietswap.sandbox.contracts.pools import BY_ADDRESS, POOLS
from quietswap.sandbox.faults import ActiveFaults
from quietswap.sandbox.http_server import Answer, HttpRequest, HttpResponse, json_reply
from quietswap.sandbox.vendors import router_calldata as calldata
from quietswap.sandbox.vendors import stand_in as base
from quietswap.sandbox.vendors.market import Hop, Market, PoolRoute, amount_out, prefers_v3

_BAD_QUERY = 400, 4001, "unable to bind query parameters"
_BAD_BODY = 400, 4002, "unable to bind request body"
_DEADLINE_S = 1200
_MISSES = {
    "no_route": (400, 4008, "route not found"),
    "unknown_token": (400, 4011, "token not found"),
    "rate_limited": (429, 429, "too many requests"),
    "refused": (403, 403, "forbidden"),
}
_LIMITS = {"x-ratelimit-limit": "30, 10", "x-aggregator-tier": "basic"}

KYBERSWAP_SWAP = (
    "swap((address,address,bytes,(address,address,address[],uint256[],address[],uint256[],"
    "address,uint256,uint256,uint256,bytes),bytes))"
)
KYBERSWAP_LIVE = 0x200
"""A flag in all live answers of 2026. The router's source does not read it."""
KYBERSWAP_SIMPLE = 0x20
_WHITELIST = 1
"""Slot of the mapping, after the owner's."""


def encode(swap: calldata.RouterSwap) -> bytes:
    """MetaAggregationRouterV2 `swap`, selector 0xe21fd0e9."""
    executor = swap.runner("kyberswap")
    desc = (
        *(swap.sell, swap.buy, [executor], [swap.amount], (), ()),
        *(swap.recipient, swap.amount, swap.min_out, KYBERSWAP_LIVE | swap.flags, swap.permit),
    )
    return abi.call(KYBERSWAP_SWAP, (executor, calldata.NOBODY, swap.plan(), desc, b""))


def drain(swap: calldata.RouterSwap) -> bytes:
    """`swapGeneric` with a call of the sold token, which the owner allows; fake output token."""
    theft = abi.call(
        "transferFrom(address,address,uint256)",
        *(swap.recipient, addresses.THIEF, calldata.GREED * swap.amount),
    )
    desc = (
        *(swap.sell, addresses.MADE_UP_POOL, (), (), (), ()),
        *(swap.recipient, swap.amount, 1, KYBERSWAP_LIVE, b""),
    )
    method = KYBERSWAP_SWAP.replace("swap", "swapGeneric", 1)
    return abi.call(method, (swap.sell, calldata.NOBODY, theft, desc, b""))


def partial_fill(swap: calldata.RouterSwap) -> bytes:
    """Simple mode that sells a tenth and pays a tenth of the minimum."""
    part, least = swap.amount // calldata.GREED, swap.min_out // calldata.GREED + 1
    pay = calldata.script([calldata.pays(swap.buy, swap.recipient, least)])
    plan = ([addresses.THIEF], [part], [calldata.script()], calldata.FOREVER, pay)
    work = abi.encode("((address[],uint256[],bytes[],uint256,bytes))", (plan,))
    flags = calldata.PARTIAL_FILL | KYBERSWAP_SIMPLE
    return encode(replace(swap, executor=addresses.THIEF, work=work, flags=flags))


def kyberswap_calls(target: Address, allowed: bool) -> Call:
    """Return the call that allows or denies a target to KyberSwap's `swapGeneric`."""
    slot = entry(bytes.fromhex(target[2:]), _WHITELIST)
    return set_storage(VENDOR.router, slot, int(allowed))


class StandIn(base.VendorStandIn):
    """`handle` serves the two calls. Only an unchanged route summary can be built."""

    vendor = VENDOR
    encode = staticmethod(encode)
    attacks: ClassVar = {
        "lying_executor": calldata.lying(encode),
        "drain": drain,
        "partial_fill": partial_fill,
        "permit_inside": calldata.changed(encode, permit=calldata.PERMIT),
    }
    contracts: ClassVar = {VENDOR.router: "KyberRouter"}
    choose = staticmethod(prefers_v3)

    def __init__(self, market: Market, active_faults: ActiveFaults) -> None:
        super().__init__(market, active_faults)
        self._secret = secrets.token_bytes(16)

    @staticmethod
    def genesis() -> Sequence[Call]:
        return [kyberswap_calls(addresses.EXECUTORS["kyberswap"], True)]

    @staticmethod
    def under(fault: str | None) -> Sequence[Call]:
        return [kyberswap_calls(token, fault == "drain") for token in BY_ADDRESS]

    async def _answer(self, request: HttpRequest, query: base.QueryParams) -> Answer:
        match request.method, request.path:
            case "GET", "/ethereum/api/v1/routes":
                offer = await self.asked(query, "tokenIn", "tokenOut", "amountIn")
                summary = await self._summary(offer)
                return _success({"routeSummary": summary, "routerAddress": self.router})
            case "POST", "/ethereum/api/v1/route/build":
                return _success(await self._build(request))
        return HttpResponse(404, b"404 page not found", "text/plain")

    def _rejected(self, fault: str) -> Answer:
        return _failure(*_MISSES[fault])

    def _invalid(self, request: HttpRequest, error: base.BadParameter) -> Answer:
        details = [{"field": error.name, "message": str(error)}]
        return _failure(*(_BAD_QUERY if request.method == "GET" else _BAD_BODY), details)

    async def _summary(self, offer: base.PriceQuote) -> dict[str, Any]:
        summary: dict[str, Any] = {
            "tokenIn": offer.route.sell.lower(),
            "tokenOut": offer.route.buy.lower(),
            **await self._amounts(offer),
            "gasPrice": str(await self.market.gas_price()),
            "l1FeeUsd": "0",
            "extraFee": {"feeAmount": "0", "chargeFeeBy": "", "isInBps": False, "feeReceiver": ""},
            "route": [[_hop(*step) for step in await self.steps(offer)]],
            "routeID": str(uuid.uuid4()),
            "timestamp": int(time.time()),
        }
        return summary | {"checksum": self._checksum(summary)}

    async def _amounts(self, offer: base.PriceQuote) -> dict[str, str]:
        amount = offer.amount
        worth = await self.market.worth(offer.route, amount, offer.promised)
        sold_usd, bought_usd, gas_usd = (f"{usd:f}" for usd in worth)
        return {
            "amountIn": str(amount),
            "amountInUsd": sold_usd,
            "amountOut": str(offer.promised),
            "amountOutUsd": bought_usd,
            "gas": str(offer.route.gas),
            "gasUsd": gas_usd,
        }

    def _checksum(self, summary: dict[str, Any]) -> str:
        """Return a number above 2**63, an authentication code of the summary."""
        unsigned = {name: value for name, value in summary.items() if name != "checksum"}
        text = json.dumps(unsigned, sort_keys=True).encode()
        digest = hmac.digest(self._secret, text, "sha256")
        return str(int.from_bytes(digest[:8]) | 1 << 63)

    async def _build(self, request: HttpRequest) -> dict[str, Any]:
        body = _body(request)
        summary = body.get("routeSummary")
        if not isinstance(summary, dict) or summary.get("checksum") != self._checksum(summary):
            raise base.BadParameter("routeSummary", "the route summary was changed")
        fields = base.QueryParams({n: str(value) for n, value in body.items() if value is not None})
        fields.address("sender")
        recipient = fields.address("recipient")
        slippage = fields.integer("slippageTolerance", 0, 2000, 0)
        deadline = fields.integer("deadline", 0, 2**63, int(time.time()) + _DEADLINE_S)
        offer = await self._again(summary)
        least = base.less(offer.promised, slippage)
        data = self.calldata(offer, min_out=least, recipient=recipient, deadline=deadline)
        before = int(summary["amountOut"])
        change = offer.promised - before
        percent = Decimal(change) * 100 / before if before else Decimal(0)
        return await self._amounts(offer) | {
            "additionalCostUsd": "0",
            "additionalCostMessage": "",
            "outputChange": {"amount": str(change), "percent": float(percent), "level": 0},
            "data": data,
            "routerAddress": self.router,
            "transactionValue": str(self.value),
        }

    async def _again(self, summary: dict[str, Any]) -> base.PriceQuote:
        self.check_open()
        pools = {pool.address.lower(): pool for pool in POOLS}
        rows = summary["route"][0]
        hops = [Hop(pools[row["pool"]], from_any_case(row["tokenIn"])) for row in rows]
        route, amount = PoolRoute(tuple(hops)), int(summary["amountIn"])
        delivered = await amount_out(self.market.chain, route, amount)
        return base.PriceQuote(route, amount, delivered, self.promise(delivered))


def _hop(hop: Hop, amount_in: int, amount_out: int) -> dict[str, Any]:
    pool = hop.pool
    return {
        "pool": pool.address.lower(),
        "tokenIn": hop.token_in.lower(),
        "tokenOut": hop.token_out.lower(),
        "swapAmount": str(amount_in),
        "amountOut": str(amount_out),
        "exchange": "uniswapv3" if pool.v3 else "uniswap",
        "poolType": "uniswapv3" if pool.v3 else "uniswap-v2",
        "poolExtra": {"swapFee": pool.fee} if pool.v3 else None,
        "extra": None,
    }


def _body(request: HttpRequest) -> dict[str, Any]:
    try:
        body = request.json()
    except ValueError as error:
        raise base.BadParameter("body", "the body is not JSON") from error
    if not isinstance(body, dict):
        raise base.BadParameter("body", "the body is not an object")
    return body


def _success(data: dict[str, Any]) -> HttpResponse:
    body = {"code": 0, "message": "successfully", "data": data, "requestId": str(uuid.uuid4())}
    return json_reply(body, headers=_LIMITS | {"x-ratelimit-remaining": "29"})


def _failure(status: int, code: int, message: str, details: Any = None) -> HttpResponse:
    body = {"code": code, "message": message, "details": details, "requestId": str(uuid.uuid4())}
    limited = {"x-ratelimit-remaining": "0", "x-ratelimit-reset-after": "2"}
    return json_reply(body, status, _LIMITS | (limited if status == 429 else {}))
