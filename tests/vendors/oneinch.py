"""1inch as tests meet it: what it is asked, answers and refuses."""

from typing import Any

import httpx

from quietswap.quoting.quote import NoRouteReason
from quietswap.sandbox.network import SandboxNetwork
from quietswap.tokens.token import WETH
from tests.vendors.case import (
    AMOUNT,
    KEY,
    PROMISED,
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
    answer = {
        "srcToken": {"address": terms.sold},
        "dstToken": {"address": terms.bought},
        "dstAmount": str(terms.out),
        "tx": {
            "from": WALLET,
            "to": terms.target.lower(),
            "data": terms.calldata("oneinch"),
            "value": terms.value,
            "gas": 0,
        },
    }
    return [answer]


def price(sell: str, buy: str, amount: str, out: str) -> dict[str, Any]:
    return {
        "dstAmount": out,
        "gas": 1000,
        "srcToken": {"address": sell},
        "dstToken": {"address": buy},
    }


async def ask(http: httpx.AsyncClient, sandbox: SandboxNetwork, asked: Asked) -> httpx.Response:
    query = {
        "src": asked.sell,
        "dst": asked.buy,
        "amount": str(asked.amount),
        "from": asked.wallet,
        "origin": asked.wallet,
        "slippage": f"{asked.slippage_bps / 100:.2f}",
        "disableEstimate": "true",
    }
    headers = {"Authorization": "Bearer key"}
    url = sandbox.venues["oneinch"] + "/swap/v6.1/1/swap"
    return await http.get(url, params=query, headers=headers)


def read(body: Any) -> Got:
    tx = body["tx"]
    return Got(int(body["dstAmount"]), tx["to"], tx["to"], int(tx["value"]), calldata(tx["data"]))


CASE = VendorCase(
    name="oneinch",
    says={
        "no_route": (400, {"description": "insufficient liquidity", "statusCode": 400}),
        "unknown_token": (400, {"description": "cannot sync token"}),
        "refused": (403, {}),
    },
    body=body,
    route_says=RouteSays(gas=None, path=(WETH, USDC)),
    price=price,
    asked=[
        (
            "GET /swap/v6.1/1/swap",
            {
                "src": WETH,
                "dst": USDC,
                "amount": AMOUNT,
                "from": WALLET,
                "origin": WALLET,
                "slippage": "0.5",
                "disableEstimate": "true",
                "allowPartialFill": "false",
                "compatibility": "true",
                "includeTokensInfo": "true",
            },
        )
    ],
    price_asked=(
        "/swap/v6.1/1/quote",
        {
            "src": WETH,
            "dst": USDC,
            "amount": AMOUNT,
            "includeTokensInfo": "true",
            "includeGas": "true",
        },
    ),
    headers={"authorization": f"Bearer {KEY}"},
    slippage="percent",
    said={
        NoRouteReason.NO_ROUTE: [
            (400, {"error": "Bad Request", "description": "insufficient liquidity"})
        ],
        NoRouteReason.TOKEN_UNKNOWN: [(400, {"description": "cannot sync token"})],
        NoRouteReason.RATE_LIMITED: [
            (429, {"error": "The limit of requests per second has been exceeded"})
        ],
        NoRouteReason.REFUSED: [
            (401, {"message": "Unauthorized"}),
            (403, {"description": "blocked"}),
            (400, {"description": "cannot estimate"}),
            (400, {"description": "Not enough allowance. Amount: 1. Allowance: 0."}),
            (400, {"description": "Not enough 0x balance. Amount: 1. Balance: 0."}),
        ],
        NoRouteReason.UNAVAILABLE: [(500, {"description": "insufficient liquidity"}), (503, {})],
        NoRouteReason.BAD_REPLY: [
            (400, {"error": ["insufficient liquidity"]}),
            (200, {"error": "insufficient liquidity"}),
        ],
    },
    sentence=(400, lambda text: {"description": text}),
    amounts={"dstAmount": PROMISED},
    gas=["tx.gas"],
    addresses=["tx.to"],
    tokens=["srcToken.address", "dstToken.address"],
    calldata=["tx.data"],
    ask=ask,
    read=read,
)
