"""Sushi Swap API v7, `GET /swap/v7/1` and `GET /quote/v7/1`; https://docs.sushi.com/api/swagger.

It uses the direct pair of the two tokens if there is one, and quotes slightly less than it
delivers.
"""

from typing import Any, ClassVar

from quietswap.chain.address import from_any_case
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.http_server import Answer, HttpRequest, json_reply
from quietswap.sandbox.vendors import hostile_calldata as hostile
from quietswap.sandbox.vendors import quote_engine
from quietswap.sandbox.vendors.market import direct_v2
from quietswap.sandbox.vendors.quote_engine import (
    BadParameter,
    PriceQuote,
    QueryParams,
    QuoteRejected,
    RejectReason,
    VendorStandIn,
    less,
)
from quietswap.sandbox.vendors.router_calldata import RouterSwap
from quietswap.vendors.sushi import VENDOR

_SWAP, _QUOTE = "/swap/v7/1", "/quote/v7/1"
_CAUTION_BPS = 2
_MISSES: dict[RejectReason, tuple[dict[str, str], int, dict[str, str]]] = {
    RejectReason.NO_ROUTE: ({"status": "NoWay"}, 200, {}),
    RejectReason.UNKNOWN_TOKEN: ({"code": "422-01", "detail": "Invalid tokenOut"}, 422, {}),
    RejectReason.RATE_LIMITED: (
        {"code": "429", "detail": "Too many requests"},
        429,
        {"Retry-After": "2"},
    ),
    RejectReason.REFUSED: ({"code": "401-01", "detail": "invalid-api-key"}, 401, {}),
}

SAFE_EXECUTOR = from_any_case("0x5afe0000000000000000000000000000000e8ec1")
"""The contract through which the router calls executors; on mainnet the router creates it."""
SUSHI_SNWAP = "snwap(address,uint256,address,address,uint256,address,bytes)"


def encode(swap: RouterSwap) -> bytes:
    """RedSnwapper `snwap`, selector 0x5f3bd1c8."""
    work = abi.call("callBytes(bytes)", swap.plan(swap.recipient))
    return abi.call(
        SUSHI_SNWAP,
        *(swap.sell, swap.amount, swap.recipient, swap.buy, swap.min_out),
        *(swap.runner("sushi"), work),
    )


def drain(swap: RouterSwap) -> bytes:
    """`snwapMultiple`, which pulls any list of tokens; it pays the quoted output."""
    pay = hostile.script([hostile.pays(swap.buy, swap.recipient, swap.quote)])
    return abi.call(
        "snwapMultiple((address,uint256,address)[],(address,address,uint256)[],"
        "(address,uint256,bytes)[])",
        [(swap.sell, hostile.GREED * swap.amount, addresses.THIEF)],
        [(swap.buy, swap.recipient, swap.min_out)],
        [(addresses.THIEF, 0, abi.call("callBytes(bytes)", pay))],
    )


class StandIn(VendorStandIn):
    """`handle` serves `/swap`, and `/quote` without a wallet and a transaction."""

    vendor = VENDOR
    encode = staticmethod(encode)
    attacks: ClassVar = {
        "lying_executor": hostile.lying(encode),
        "drain": drain,
    }
    contracts: ClassVar = {
        VENDOR.router: "SushiSnwapper",
        SAFE_EXECUTOR: "SushiSafeExecutor",
    }
    choose = staticmethod(direct_v2)

    async def _answer(self, request: HttpRequest, query: QueryParams) -> Answer:
        if request.method != "GET" or request.path not in {_SWAP, _QUOTE}:
            return json_reply({"code": "404", "detail": "Not found"}, 404)
        slippage = query.decimal("maxSlippage", "0", "0.999999", "0.005")
        market = self._engine.market
        if not all(market.token(query.address(name)) for name in ("tokenIn", "tokenOut")):
            raise QuoteRejected(RejectReason.NO_ROUTE)
        offer = await self._engine.asked(query, "tokenIn", "tokenOut", "amount")
        promised = less(offer.promised, _CAUTION_BPS)
        quoted = await self._quoted(offer, promised)
        if request.path == _QUOTE:
            return json_reply({name: one for name, one in quoted.items() if name != "gasSpent"})
        sender = query.address("sender")
        recipient = query.address("recipient", sender)
        least = less(promised, slippage * 10_000)
        data = self._engine.calldata(offer, min_out=least, recipient=recipient)
        transaction: dict[str, Any] = {
            "from": sender.lower(),
            "to": self._engine.router.lower(),
            "data": data,
            "gasPrice": await market.gas_price(),
        }
        if self._engine.value:
            transaction["value"] = str(self._engine.value)
        return json_reply(quoted | {"tx": transaction})

    def _missed(self, miss: RejectReason) -> Answer:
        return json_reply(*_MISSES[miss])

    def _invalid(self, request: HttpRequest, error: BadParameter) -> Answer:
        return json_reply({"code": "422-01", "detail": f"Invalid {error.name}"}, 422)

    async def _quoted(self, offer: PriceQuote, promised: int) -> dict[str, Any]:
        market, ask = self._engine.market, offer.ask
        untouched = await market.before_impact(offer.route, ask.amount)
        tokens = [
            quote_engine.described(token)
            for one in offer.route.path
            if (token := market.token(one))
        ]
        whole_in = ask.amount / 10**ask.sell.decimals
        return {
            "status": "Success",
            "tokens": tokens,
            "tokenFrom": 0,
            "tokenTo": len(tokens) - 1,
            "swapPrice": promised / 10**ask.buy.decimals / whole_in,
            "priceImpact": 1 - offer.delivered / untouched if untouched else 0,
            "amountIn": str(ask.amount),
            "assumedAmountOut": str(promised),
            "gasSpent": offer.route.gas - 20_000,
        }
