"""Velora (ParaSwap) Market API, `GET /swap` and `GET /prices`; https://velora.xyz/docs/api-reference/market/swap.

As in the real API, an answer without `version=6.2` is for the old router, which has another
spender, and an answer without `partner` pays a fee of one basis point. This stand-in uses V2 pairs.
"""

import hashlib
import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, ClassVar

from quietswap.rules.tx.address import from_any_case
from quietswap.rules.vendors.velora import VENDOR
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.contracts.abi import Call, entry, set_storage
from quietswap.sandbox.contracts.pools import BY_ADDRESS, V3_WETH_USDC
from quietswap.sandbox.http_server import Answer, HttpRequest, HttpResponse, json_reply
from quietswap.sandbox.vendors import router_calldata as calldata
from quietswap.sandbox.vendors import stand_in as base
from quietswap.sandbox.vendors.market import Hop, only_v2

V5_ROUTER = "0xDEF171Fe48CF0115B1d80b88dc8eAB59176FEe57"
V5_SPENDER = "0x216b4b4ba9f3e719726886d34a177484278bfcae"
_V5_SELECTOR = "0xa94e78ef"
_ANONYMOUS_FEE_BPS = 1
_MISSES = {
    "no_route": (400, "No routes found with enough liquidity"),
    "unknown_token": (400, "Invalid destToken"),
    "rate_limited": (429, "Rate limited"),
    "refused": (403, "Forbidden"),
}

VELORA_SWAP = (
    "swapExactAmountIn(address,(address,address,uint256,uint256,uint256,bytes32,address),"
    "uint256,bytes,bytes)"
)
VELORA_CAP_SURPLUS = 1 << 92
_TAKE_SURPLUS = 1 << 95
VELORA_UNISWAP = "((address,address,uint256,uint256,uint256,bytes32,address,bytes),uint256,bytes)"
VELORA_FACET = "swapAndTake(address,address,bytes)"
"""The method that the fault `drain` adds to Velora's router."""
_FACETS = 0
THIEF = from_any_case("0xbad0000000000000000000000000000000000004")
"""The facet of that method."""


def fees(swap: calldata.RouterSwap) -> int:
    """Return the word with partner, flags and fee."""
    partner = addresses.PARTNER if swap.fee_bps else swap.partner
    return int(partner, 16) << 96 | VELORA_CAP_SURPLUS ^ swap.flags | swap.fee_bps


def encode(swap: calldata.RouterSwap) -> bytes:
    """Augustus v6.2 `swapExactAmountIn`, selector 0xe3ead59e."""
    data = (swap.sell, swap.buy, swap.amount, swap.min_out, swap.quote, b"", swap.recipient)
    executor = swap.runner("velora")
    return abi.call(VELORA_SWAP, executor, data, fees(swap), swap.permit, swap.plan())


def drain(swap: calldata.RouterSwap) -> bytes:
    """A facet that swaps correctly and then takes all that is approved."""
    return abi.call(VELORA_FACET, swap.sell, addresses.THIEF, encode(swap))


def other_token(swap: calldata.RouterSwap) -> bytes:
    """`swapExactAmountInOnUniswapV3` whose pools sell another token than `srcToken`."""
    _, forward = calldata.other_than(swap.sell)
    pool = V3_WETH_USDC
    head = int(pool.first.address, 16) | (calldata.REVERSED if forward else 0)
    pools = (
        calldata.word(head) + calldata.word(int(pool.second.address, 16)) + calldata.word(pool.fee)
    )
    data = (swap.sell, swap.buy, swap.amount, swap.min_out, swap.quote, b"", swap.recipient, pools)
    method = "swapExactAmountInOnUniswapV3" + VELORA_UNISWAP
    return abi.call(method, data, fees(swap), swap.permit)


class StandIn(base.VendorStandIn):
    vendor = VENDOR
    encode = staticmethod(encode)
    attacks: ClassVar = {
        "lying_executor": calldata.lying(encode),
        "drain": drain,
        "partner_takes": calldata.changed(
            encode, quoted_out=1, partner=addresses.THIEF, flags=VELORA_CAP_SURPLUS | _TAKE_SURPLUS
        ),
        "other_token": other_token,
        "permit_inside": calldata.changed(encode, permit=calldata.PERMIT),
    }
    contracts: ClassVar = {VENDOR.router: "VeloraAugustus", THIEF: "VeloraThief"}
    choose = staticmethod(only_v2)

    @staticmethod
    def under(fault: str | None) -> Sequence[Call]:
        facet = THIEF if fault == "drain" else calldata.NOBODY
        slot = entry(abi.selector(VELORA_FACET).ljust(32, b"\0"), _FACETS)
        return [set_storage(VENDOR.router, slot, int(facet, 16))]

    async def _answer(self, request: HttpRequest, query: base.QueryParams) -> Answer:
        if request.method != "GET" or request.path not in {"/swap", "/prices"}:
            return HttpResponse(404, b"Not Found", "text/plain")
        if query.text("network", "1") != "1":
            unsupported = {"errorType": "UnsupportedChain", "details": "Unsupported chain"}
            return json_reply(unsupported, 422)
        if query.text("side", "SELL") != "SELL":
            raise base.BadParameter("side", "only SELL is supported")
        wallet = query.address("userAddress", base.STRANGER if request.path == "/prices" else None)
        offer = await self.asked(query, "srcToken", "destToken", "amount")
        is_v6 = query.text("version", "5") == "6.2"
        route = await self._price_route(offer, query, is_v6=is_v6)
        most = query.decimal("maxImpact", "0", "100", "15")
        impact = _impact_percent(route)
        if impact > most:
            text = "ESTIMATED_LOSS_GREATER_THAN_MAX_IMPACT"
            return json_reply({"error": text, "value": f"{impact:.2f}%", "priceRoute": route}, 400)
        if request.path == "/prices":
            return json_reply({"priceRoute": route})
        data = self.calldata(
            offer,
            min_out=base.less(offer.promised, query.integer("slippage", 0, 10_000, 0)),
            recipient=query.address("receiver", wallet),
            fee_bps=_fee_bps(query),
        )
        transaction = await self.transaction(data) | {"from": wallet, "chainId": 1}
        if not is_v6:
            transaction |= {"to": V5_ROUTER, "data": _V5_SELECTOR + data[10:]}
        return json_reply({"priceRoute": route, "txParams": transaction})

    def _rejected(self, fault: str) -> Answer:
        status, text = _MISSES[fault]
        return json_reply({"error": text}, status)

    def _invalid(self, request: HttpRequest, error: base.BadParameter) -> Answer:
        if error.name in {"srcToken", "destToken"}:
            return json_reply({"error": f"Invalid {error.name}"}, 400)
        return json_reply({"errorType": "InvalidInput", "details": str(error)}, 400)

    async def _price_route(
        self, offer: base.PriceQuote, query: base.QueryParams, *, is_v6: bool
    ) -> dict[str, Any]:
        market = self.market
        sold, bought, gas = await market.worth(offer.route, offer.amount, offer.promised)
        fee = _fee_bps(query)
        legs = [_leg(*step) for step in await self.steps(offer)]
        route: dict[str, Any] = {
            "blockNumber": await market.block_number(),
            "network": 1,
            "srcToken": offer.route.sell.lower(),
            "srcDecimals": query.integer("srcDecimals", 0, 255, 18),
            "srcAmount": str(offer.amount),
            "destToken": offer.route.buy.lower(),
            "destDecimals": query.integer("destDecimals", 0, 255, 18),
            "destAmount": str(offer.promised),
            "bestRoute": [{"percent": 100, "swaps": legs}],
            "side": "SELL",
            "version": "6.2" if is_v6 else "5",
            "contractAddress": self.router.lower() if is_v6 else V5_ROUTER,
            "tokenTransferProxy": self.spender.lower() if is_v6 else V5_SPENDER,
            "contractMethod": "swapExactAmountIn" if is_v6 else "multiSwap",
            "partnerFee": fee / 100,
            "partner": query.text("partner", "anon"),
            "maxImpactReached": False,
            "gasCost": str(offer.route.gas),
            "gasCostUSD": f"{gas:.6f}",
            "srcUSD": f"{sold:.10f}",
            "destUSD": f"{bought:.10f}",
        }
        if fee:
            route["destAmountAfterFee"] = str(base.less(offer.promised, fee))
        text = json.dumps(route, sort_keys=True).encode()
        return route | {"hmac": hashlib.sha1(text, usedforsecurity=False).hexdigest()}


def _leg(hop: Hop, amount_in: int, amount_out: int) -> dict[str, Any]:
    sell, buy = BY_ADDRESS[hop.token_in], BY_ADDRESS[hop.token_out]
    pool = hop.pool.address.lower()
    exchange = {
        "exchange": "UniswapV2",
        "srcAmount": str(amount_in),
        "destAmount": str(amount_out),
        "percent": 100,
        "poolAddresses": [pool],
        "poolIdentifiers": [f"UniswapV2_{pool}"],
        "data": {"gasUSD": "0"},
    }
    return {
        "srcToken": sell.address.lower(),
        "srcDecimals": sell.decimals,
        "destToken": buy.address.lower(),
        "destDecimals": buy.decimals,
        "swapExchanges": [exchange],
    }


def _impact_percent(route: dict[str, Any]) -> Decimal:
    before, after = Decimal(route["srcUSD"]), Decimal(route["destUSD"])
    return (1 - after / before) * 100 if before else Decimal(0)


def _fee_bps(query: base.QueryParams) -> int:
    return _ANONYMOUS_FEE_BPS if query.text("partner", "anon") == "anon" else 0
