"""KyberSwap as tests meet it: what it is asked, answers and refuses."""

from typing import Any

import httpx

from quietswap.quoting.quote import NoRouteReason
from quietswap.sandbox.network import SandboxNetwork
from quietswap.tokens.token import WETH
from tests.vendors.case import (
    AMOUNT,
    DAI,
    PROMISED,
    SOLD,
    USDC,
    WALLET,
    Asked,
    Got,
    RouteSays,
    Terms,
    VendorCase,
    calldata,
)


def body(terms: Terms) -> list[Any]:
    large = terms.request.sell_amount * 9 // 10
    small = [_hop(terms.bought, "curve", terms.request.sell_amount - large)]
    summary = {
        "tokenIn": terms.sold,
        "amountIn": terms.amount,
        "tokenOut": terms.bought,
        "amountOut": str(terms.out + 5),
        "gas": "1",
        "route": [small, [_hop(DAI.lower(), "uniswapv3", large), _hop(terms.bought, "frax", 1)]],
        "checksum": "17691095414726979128",
        "timestamp": 1749652698,
        "odd": 1e-7,
    }
    built = {
        "amountIn": terms.amount,
        "amountOut": str(terms.out),
        "gas": "253000",
        "data": terms.calldata("kyberswap"),
        "routerAddress": terms.target.lower(),
        "transactionValue": terms.value,
    }
    return [
        {"code": 0, "data": {"routeSummary": summary, "routerAddress": terms.allowed}},
        {"code": 0, "data": built},
    ]


def _hop(bought: str, exchange: str, share: int) -> dict[str, Any]:
    return {"pool": "0x", "tokenOut": bought, "exchange": exchange, "swapAmount": str(share)}


def price(sell: str, buy: str, amount: str, out: str) -> dict[str, Any]:
    return {
        "code": 0,
        "data": {
            "routeSummary": {
                "tokenIn": sell,
                "tokenOut": buy,
                "amountIn": amount,
                "amountOut": out,
                "gas": "1000",
            }
        },
    }


async def ask(http: httpx.AsyncClient, sandbox: SandboxNetwork, asked: Asked) -> httpx.Response:
    base = sandbox.venues["kyberswap"] + "/ethereum/api/v1"
    query = {"tokenIn": asked.sell, "tokenOut": asked.buy, "amountIn": str(asked.amount)}
    routes = await http.get(f"{base}/routes", params=query, headers={"x-client-id": "test"})
    if routes.status_code != 200:
        return routes
    body = {
        "routeSummary": routes.json()["data"]["routeSummary"],
        "sender": asked.wallet,
        "recipient": asked.wallet,
        "slippageTolerance": asked.slippage_bps,
    }
    return await http.post(f"{base}/route/build", json=body)


def read(body: Any) -> Got:
    data = body["data"]
    router, value = data["routerAddress"], int(data["transactionValue"])
    return Got(int(data["amountOut"]), router, router, value, calldata(data["data"]))


CASE = VendorCase(
    name="kyberswap",
    spenders=True,
    says={
        "no_route": (400, {"code": 4008, "message": "route not found"}),
        "unknown_token": (400, {"code": 4011, "message": "token not found"}),
        "refused": (403, {}),
    },
    body=body,
    route_says=RouteSays(dex="uniswapv3"),
    price=price,
    asked=[
        (
            "GET /ethereum/api/v1/routes",
            {
                "tokenIn": WETH,
                "tokenOut": USDC,
                "amountIn": AMOUNT,
                "gasInclude": "true",
                "excludeRFQSources": "true",
                "origin": WALLET,
            },
        ),
        ("POST /ethereum/api/v1/route/build", {}),
    ],
    price_asked=(
        "/ethereum/api/v1/routes",
        {
            "tokenIn": WETH,
            "tokenOut": USDC,
            "amountIn": AMOUNT,
            "gasInclude": "true",
            "excludeRFQSources": "true",
        },
    ),
    headers={"x-client-id": "house"},
    optional_key="x-api-key",
    said={
        NoRouteReason.NO_ROUTE: [
            (400, {"code": 4008}),
            (422, {"code": 4009}),
            (200, {"code": 4010}),
            (422, {"code": 4222, "message": "quoted amount is smaller than estimated"}),
            (422, {"code": 4227, "message": "estimate gas failed: return amount is not enough"}),
        ],
        NoRouteReason.TOKEN_UNKNOWN: [(400, {"code": 4011, "message": "token not found"})],
        NoRouteReason.REFUSED: [
            *((401, {}), (403, {"code": 4008}), (451, {})),
            *[(400, {"code": code}) for code in (4000, 4001, 4002, 4003, 4005, 4007, 40010)],
            (422, {"code": 4221, "message": "weth not found"}),
            (400, {"message": "token not found"}),
        ],
        NoRouteReason.UNAVAILABLE: [
            (200, {"code": 500}),
            (400, {"code": 4990, "message": "request was cancelled"}),
            (500, {"code": 4008}),
        ],
        NoRouteReason.BAD_REPLY: [
            (400, {"code": "4008"}),
            (400, {}),
            (200, {"code": 0, "data": None}),
        ],
    },
    sentence=(422, lambda text: {"code": 4227, "message": text}),
    amounts={"data.amountIn": SOLD, "data.amountOut": PROMISED},
    gas=["data.gas"],
    addresses=["data.routerAddress"],
    tokens=["data.routeSummary.tokenIn", "data.routeSummary.tokenOut"],
    calldata=["data.data"],
    ask=ask,
    read=read,
)
