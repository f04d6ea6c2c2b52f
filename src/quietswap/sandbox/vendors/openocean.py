"""OpenOcean API v4, `GET /v4/1/swap` and `GET /v4/1/quote`; https://docs.openocean.finance/docs/swap-api.

Like the real one, this stand-in quotes the output without price impact and chooses its route by it.
The quote is too high, the more so the larger the swap. Its minimum is correct.
"""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, ClassVar

from quietswap.rules.tx.address import Address, from_any_case
from quietswap.rules.vendors.openocean import VENDOR
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.abi import Call, set_storage
from quietswap.sandbox.contracts.pools import V3_WETH_USDC, SandboxToken
from quietswap.sandbox.http_server import Answer, HttpRequest, json_reply
from quietswap.sandbox.vendors import router_calldata as calldata
from quietswap.sandbox.vendors import stand_in as base
from quietswap.sandbox.vendors.market import PricedRoute

_CHAINS = ("1", "eth", "ethereum")
_SWAPS = frozenset(f"/v4/{chain}/swap" for chain in _CHAINS)
_QUOTES = frozenset(f"/v4/{chain}/quote" for chain in _CHAINS)
_QUOTED = (
    "inToken", "outToken", "inAmount", "outAmount", "dexes", "path", "save", "price_impact",
)  # fmt: skip
"""What `/quote` has of the members of `/swap`."""
_UNKNOWN = {"code": 400, "error": "token not found", "errorMsg": "outToken is not supported"}
_MISSES: dict[str, tuple[dict[str, Any], int]] = {
    "no_route": ({"code": 200, "data": None}, 200),
    "unknown_token": (_UNKNOWN, 400),
    "rate_limited": ({"code": 429, "error": "Too Many Requests"}, 429),
    "refused": ({"code": 403, "error": "Forbidden"}, 403),
}


def _cheapest(routes: Sequence[PricedRoute]) -> PricedRoute | None:
    """Return the route with the lowest fees, for any size of the swap."""
    return min(routes, key=lambda one: sum(hop.pool.fee for hop in one.route.hops), default=None)


OPENOCEAN_SWAP = (
    "swap(address,(address,address,address,address,uint256,uint256,uint256,uint256,address,bytes),"
    "(uint256,uint256,uint256,bytes)[])"
)
OPENOCEAN_CLAIM = 2
EXCHANGE = from_any_case("0x0e8c000000000000000000000000000000000001")
"""The implementation behind the proxy."""
THIEF = from_any_case("0xbad0000000000000000000000000000000000005")
"""Another implementation."""
_IMPLEMENTATION = 0x360894A13BA1A3210667C828492DB98DCA3E2076CC3735A920A3CA505D382BBC


def encode(swap: calldata.RouterSwap) -> bytes:
    """ExchangeV2 `swap`, selector 0x90411a32."""
    executor = swap.runner("openocean")
    desc = (
        *(swap.sell, swap.buy, executor, swap.recipient, swap.amount, swap.min_out),
        *(swap.quote, OPENOCEAN_CLAIM | swap.flags, calldata.NOBODY, swap.permit),
    )
    return abi.call(OPENOCEAN_SWAP, executor, desc, [(0, 0, 0, swap.plan(swap.recipient))])


def drain(swap: calldata.RouterSwap) -> bytes:
    """`callUniswap` on a fake pool, for more than the requested amount."""
    return made_up_pool(replace(swap, amount=calldata.GREED * swap.amount))


def made_up_pool(swap: calldata.RouterSwap) -> bytes:
    """OpenOcean's `callUniswap` on a fake pool."""
    pool = calldata.word(calldata.made_up_pool_word(997_000_000 << 160))
    return abi.call(
        "callUniswap(address,uint256,uint256,bytes32[])",
        *(swap.sell, swap.amount, swap.min_out, [pool]),
    )


def other_token(swap: calldata.RouterSwap) -> bytes:
    """`uniswapV3SwapTo`, whose first pool determines the sold token."""
    _, forward = calldata.other_than(swap.sell)
    pool = int(V3_WETH_USDC.address, 16) | (0 if forward else calldata.REVERSED)
    return abi.call(
        "uniswapV3SwapTo(address,uint256,uint256,uint256[])",
        *(swap.recipient, swap.amount, swap.min_out, [pool]),
    )


def partial_fill(swap: calldata.RouterSwap) -> bytes:
    """An executor that returns nine tenths and pays a tenth of the minimum."""
    return calldata.part(swap, encode, swap.recipient)


def openocean_runs(implementation: Address) -> Call:
    """Return the call that sets the implementation of OpenOcean's proxy (EIP-1967)."""
    return set_storage(VENDOR.router, _IMPLEMENTATION, int(implementation, 16))


class StandIn(base.VendorStandIn):
    vendor = VENDOR
    encode = staticmethod(encode)
    attacks: ClassVar = {
        "made_up_pool": made_up_pool,
        "lying_executor": calldata.lying(encode),
        "drain": drain,
        "other_token": other_token,
        "partial_fill": partial_fill,
        "permit_inside": calldata.changed(encode, permit=calldata.PERMIT),
    }
    contracts: ClassVar = {
        VENDOR.router: "OpenOceanProxy",
        EXCHANGE: "OpenOceanExchange",
        THIEF: "OpenOceanThief",
    }
    choose = staticmethod(_cheapest)

    @staticmethod
    def genesis() -> Sequence[Call]:
        return [openocean_runs(EXCHANGE)]

    @staticmethod
    def under(fault: str | None) -> Sequence[Call]:
        return [openocean_runs(THIEF if fault == "new_implementation" else EXCHANGE)]

    async def _answer(self, request: HttpRequest, query: base.QueryParams) -> Answer:
        if request.method != "GET" or request.path not in _SWAPS | _QUOTES:
            return json_reply({"code": 404, "error": "Not Found"}, 404)
        if not request.query.keys() & {"gasPriceDecimals", "gasPrice"}:
            return json_reply({"code": 200})
        slippage = query.decimal("slippage", "0.05", "50", "1")
        offer = await self.asked(query, "inTokenAddress", "outTokenAddress", "amountDecimals")
        least = base.less(offer.promised, slippage * 100)
        data = await self._quoted(offer, least)
        if request.path in _QUOTES:
            own = {"estimatedGas": str(offer.route.gas), "exchange": self.router}
            data = {name: data[name] for name in _QUOTED} | own
        elif query.text("account", "-") != "-":
            account = query.address("account")
            call = self.calldata(offer, min_out=least, recipient=account)
            data |= {"from": query.address("sender", account), "data": call}
        return json_reply({"code": 200, "data": data})

    def _rejected(self, fault: str) -> Answer:
        return json_reply(*_MISSES[fault])

    def _invalid(self, request: HttpRequest, error: base.BadParameter) -> Answer:
        return json_reply({"code": 400, "error": str(error), "errorMsg": str(error)}, 400)

    async def _quoted(self, offer: base.PriceQuote, least: int) -> dict[str, Any]:
        market = self.market
        promised = self.promise(await market.before_impact(offer.route, offer.amount))
        impact = (Decimal(offer.promised) / promised - 1) * 100 if promised else Decimal(0)
        first = _dex(offer.route.hops[0].pool.v3)
        return {
            "inToken": await self._token(offer.sell, offer.amount),
            "outToken": await self._token(offer.buy, promised),
            "inAmount": str(offer.amount),
            "outAmount": str(promised),
            "minOutAmount": str(least),
            "estimatedGas": offer.route.gas,
            "to": self.router,
            "value": str(self.value),
            "gasPrice": str(await market.gas_price()),
            "chainId": 1,
            "price_impact": f"{impact:.2f}%",
            "dexes": [{"dexIndex": 0, "dexCode": first, "swapAmount": str(promised)}],
            "path": _path(offer),
            "save": 0,
        }

    async def _token(self, token: SandboxToken, amount: int) -> dict[str, Any]:
        usd = await self.market.usd_price(token)
        volume = float(usd * amount / 10**token.decimals)
        return base.described(token) | {"usd": f"{usd:.6f}", "volume": volume}


def _dex(v3: bool) -> str:
    return "UniswapV3" if v3 else "UniswapV2"


def _path(offer: base.PriceQuote) -> dict[str, Any]:
    steps = []
    for hop in offer.route.hops:
        dexes = [{"dex": _dex(hop.pool.v3), "percentage": 100}]
        ends = {"from": hop.token_in, "to": hop.token_out}
        steps.append(ends | {"parts": 100, "dexes": dexes})
    routes = [{"parts": 1, "percentage": 100, "subRoutes": steps}]
    return {"from": offer.route.sell, "to": offer.route.buy, "parts": 1, "routes": routes}
