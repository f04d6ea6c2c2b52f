"""OpenOcean as tests meet it: what it is asked, answers and refuses."""

from decimal import Decimal
from typing import Any

from quietswap.rules.quotes.quote import NoRouteReason
from quietswap.rules.routers.method import Measure
from quietswap.rules.tokens.token import WETH
from quietswap.sandbox.contracts import abi
from tests.vendors.case import (
    AMOUNT,
    DAI,
    MINIMUM,
    PROMISED,
    SOLD,
    USDC,
    WALLET,
    Got,
    PriceSays,
    RouteSays,
    Terms,
    VendorCase,
    calldata,
)
from tests.vendors.router import EXECUTOR, NOBODY, StandInCase, Swap, Written, call, placed


def body(terms: Terms) -> list[Any]:
    data = {
        "inToken": {"address": terms.sold},
        "outToken": {"address": terms.bought},
        "inAmount": terms.amount,
        "outAmount": str(terms.out),
        "minOutAmount": str(terms.minimum),
        "estimatedGas": 253000,
        "to": terms.target,
        "value": terms.value,
        "data": terms.calldata(ROUTER),
        "price_impact": "0%",
        "dexes": [{"dexIndex": 0, "dexCode": "uniswapv3"}],
        "path": {"routes": [{"subRoutes": [{"to": DAI.lower()}, {"to": terms.bought}]}]},
    }
    return [{"code": 200, "data": data}]


def price(sell: str, buy: str, amount: str, out: str) -> dict[str, Any]:
    return {
        "code": 200,
        "data": {
            "inToken": {"address": sell},
            "outToken": {"address": buy},
            "inAmount": amount,
            "outAmount": out,
            "estimatedGas": "1000",
            "price_impact": "-0.10%",
        },
    }


def read(body: Any) -> Got:
    data = body["data"]
    return Got(
        ROUTER,
        int(data["outAmount"]),
        data["to"],
        data["to"],
        int(data["value"]),
        calldata(data["data"]),
    )


def _encoded(swap: Swap) -> bytes:
    desc = (swap.sell, swap.buy, EXECUTOR, swap.recipient, swap.amount, swap.minimum)
    return call(
        "swap",
        (
            "address",
            "(address,address,address,address,uint256,uint256,uint256,uint256,address,bytes)",
            "(uint256,uint256,uint256,bytes)[]",
        ),
        *(EXECUTOR, (*desc, swap.minimum + 7, swap.flags, NOBODY, b""), [(0, 0, 0, b"call")]),
    )


_SHORT = abi.call("Error(string)", "Return amount is not enough")
ROUTER = StandInCase(
    method=Written(
        _encoded,
        Measure.RECIPIENT,
        flags=2**256 - 2,
        offset=1,
        reads=lambda _: {"bound": False},
    ),
    places=placed(5, 3, 1),
    short=lambda _swap, _received: _SHORT,
    refusals={
        "drain": "callUniswap: any address can be the pair",
        "new_implementation": "upgradeable proxy",
    },
    makers={},
    rows={},
)


_ASKED = {
    "inTokenAddress": WETH,
    "outTokenAddress": USDC,
    "amountDecimals": AMOUNT,
    "gasPriceDecimals": "2000000000",
    "disableRfq": "true",
}
CASE = VendorCase(
    calls=ROUTER,
    name="openocean",
    minimum="data.minOutAmount",
    says={
        "no_route": (200, {"code": 200, "data": None}),
        "unknown_token": (400, {"code": 400, "error": "token not found"}),
        "refused": (403, {}),
    },
    body=body,
    route_says=RouteSays(dex="uniswapv3"),
    price=price,
    asked=[("GET /v4/1/swap", _ASKED | {"slippage": "0.5", "account": WALLET, "sender": WALLET})],
    price_asked=("/v4/1/quote", _ASKED | {"slippage": "1"}),
    optional_key="apikey",
    slippage="percent",
    price_says=PriceSays(out=2_997_000_000, impact=Decimal("0.10")),
    said={
        NoRouteReason.NO_ROUTE: [
            (200, {"code": 200}),
            (200, {"code": 200, "data": None}),
            (200, {"code": 200, "data": {"outAmount": "0"}}),
            (200, {"code": 200, "data": {"inAmount": "1"}}),
            (400, {"code": 400, "error": "No route"}),
            (200, {"code": 400, "errorMsg": "Insufficient liquidity"}),
        ],
        NoRouteReason.TOKEN_UNKNOWN: [(200, {"code": 400, "error": "Token not found"})],
        NoRouteReason.RATE_LIMITED: [(200, {"code": 429}), (429, {"code": 429})],
        NoRouteReason.REFUSED: [
            (401, {}),
            (403, {"code": 403}),
            (200, {"code": 400, "error": "gasPrice is missing"}),
        ],
        NoRouteReason.UNAVAILABLE: [(200, {"code": 500, "error": "oops"}), (502, {})],
        NoRouteReason.BAD_REPLY: [(400, {"code": 0})],
    },
    sentence=(200, lambda text: {"code": 400, "error": text}),
    amounts={"data.inAmount": SOLD, "data.outAmount": PROMISED, "data.minOutAmount": MINIMUM},
    gas=["data.estimatedGas"],
    addresses=["data.to"],
    tokens=["data.inToken.address", "data.outToken.address"],
    calldata=["data.data"],
    read=read,
)
