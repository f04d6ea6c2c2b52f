"""Sushi Swap API v7, `GET /swap/v7/1` and `GET /quote/v7/1`; https://docs.sushi.com/api/swagger.

It uses the direct pair of the two tokens if there is one, and quotes slightly less than it
delivers.
"""

from typing import Any, ClassVar

from quietswap.rules.tx.address import from_any_case
from quietswap.rules.vendors.sushi import VENDOR
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.contracts.pools import BY_ADDRESS
from quietswap.sandbox.http_server import Answer, HttpRequest, json_reply
from quietswap.sandbox.vendors import router_calldata as calldata
from quietswap.sandbox.vendors import stand_in as base
from quietswap.sandbox.vendors.market import direct_v2

_SWAP, _QUOTE = "/swap/v7/1", "/quote/v7/1"
_CAUTION_BPS = 2
_MISSES: dict[str, tuple[dict[str, str], int, dict[str, str]]] = {
    "no_route": ({"status": "NoWay"}, 200, {}),
    "unknown_token": ({"code": "422-01", "detail": "Invalid tokenOut"}, 422, {}),
    "rate_limited": ({"code": "429", "detail": "Too many requests"}, 429, {"Retry-After": "2"}),
    "refused": ({"code": "401-01", "detail": "invalid-api-key"}, 401, {}),
}

SAFE_EXECUTOR = from_any_case("0x5afe0000000000000000000000000000000e8ec1")
"""The contract through which the router calls executors; on mainnet the router creates it."""
SUSHI_SNWAP = "snwap(address,uint256,address,address,uint256,address,bytes)"


def encode(swap: calldata.RouterSwap) -> bytes:
    """RedSnwapper `snwap`, selector 0x5f3bd1c8."""
    work = abi.call("callBytes(bytes)", swap.plan(swap.recipient))
    return abi.call(
        SUSHI_SNWAP,
        *(swap.sell, swap.amount, swap.recipient, swap.buy, swap.min_out),
        *(swap.runner("sushi"), work),
    )


def drain(swap: calldata.RouterSwap) -> bytes:
    """`snwapMultiple`, which pulls any list of tokens; it pays the quoted output."""
    pay = calldata.script([calldata.pays(swap.buy, swap.recipient, swap.quote)])
    return abi.call(
        "snwapMultiple((address,uint256,address)[],(address,address,uint256)[],"
        "(address,uint256,bytes)[])",
        [(swap.sell, calldata.GREED * swap.amount, addresses.THIEF)],
        [(swap.buy, swap.recipient, swap.min_out)],
        [(addresses.THIEF, 0, abi.call("callBytes(bytes)", pay))],
    )


class StandIn(base.VendorStandIn):
    vendor = VENDOR
    encode = staticmethod(encode)
    attacks: ClassVar = {"lying_executor": calldata.lying(encode), "drain": drain}
    contracts: ClassVar = {VENDOR.router: "SushiSnwapper", SAFE_EXECUTOR: "SushiSafeExecutor"}
    choose = staticmethod(direct_v2)

    async def _answer(self, request: HttpRequest, query: base.QueryParams) -> Answer:
        if request.method != "GET" or request.path not in {_SWAP, _QUOTE}:
            return json_reply({"code": "404", "detail": "Not found"}, 404)
        slippage = query.decimal("maxSlippage", "0", "0.999999", "0.005")
        if not all(query.address(name) in BY_ADDRESS for name in ("tokenIn", "tokenOut")):
            raise base.QuoteRejected("no_route")
        offer = await self.asked(query, "tokenIn", "tokenOut", "amount")
        promised = base.less(offer.promised, _CAUTION_BPS)
        quoted = await self._quoted(offer, promised)
        if request.path == _QUOTE:
            return json_reply({name: one for name, one in quoted.items() if name != "gasSpent"})
        sender = query.address("sender")
        recipient = query.address("recipient", sender)
        least = base.less(promised, slippage * 10_000)
        data = self.calldata(offer, min_out=least, recipient=recipient)
        tx: dict[str, Any] = {"from": sender.lower(), "to": self.router.lower(), "data": data}
        tx |= {"gasPrice": await self.market.gas_price()}
        tx |= {"value": str(self.value)} if self.value else {}
        return json_reply(quoted | {"tx": tx})

    def _rejected(self, fault: str) -> Answer:
        return json_reply(*_MISSES[fault])

    def _invalid(self, request: HttpRequest, error: base.BadParameter) -> Answer:
        return json_reply({"code": "422-01", "detail": f"Invalid {error.name}"}, 422)

    async def _quoted(self, offer: base.PriceQuote, promised: int) -> dict[str, Any]:
        untouched = await self.market.before_impact(offer.route, offer.amount)
        tokens = [base.described(BY_ADDRESS[one]) for one in offer.route.path]
        whole_in = offer.amount / 10**offer.sell.decimals
        return {
            "status": "Success",
            "tokens": tokens,
            "tokenFrom": 0,
            "tokenTo": len(tokens) - 1,
            "swapPrice": promised / 10**offer.buy.decimals / whole_in,
            "priceImpact": 1 - offer.delivered / untouched if untouched else 0,
            "amountIn": str(offer.amount),
            "assumedAmountOut": str(promised),
            "gasSpent": offer.route.gas - 20_000,
        }
