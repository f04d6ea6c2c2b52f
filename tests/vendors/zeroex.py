"""0x as tests meet it: what it is asked, answers and refuses."""

from typing import Any

import httpx

from quietswap.quoting.quote import NoRouteReason
from quietswap.sandbox.network import SandboxNetwork
from quietswap.tokens.token import WETH
from tests.vendors.case import (
    AMOUNT,
    DAI,
    KEY,
    MINIMUM,
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
    answer = {
        "liquidityAvailable": True,
        "allowanceTarget": terms.allowed,
        "sellToken": terms.sold,
        "buyToken": terms.bought,
        "sellAmount": terms.amount,
        "buyAmount": str(terms.out),
        "minBuyAmount": str(terms.minimum),
        "route": {
            "fills": [{"source": "uniswapv3"}],
            "tokens": [{"address": address} for address in (terms.sold, DAI, terms.bought)],
        },
        "transaction": {
            "to": terms.target.lower(),
            "data": terms.calldata("zeroex"),
            "gas": "253000",
            "value": terms.value,
        },
    }
    return [answer]


def price(sell: str, buy: str, amount: str, out: str) -> dict[str, Any]:
    return {
        "liquidityAvailable": True,
        "sellToken": sell,
        "buyToken": buy,
        "sellAmount": amount,
        "buyAmount": out,
        "gas": "1000",
    }


async def ask(http: httpx.AsyncClient, sandbox: SandboxNetwork, asked: Asked) -> httpx.Response:
    query = {
        "chainId": "1",
        "sellToken": asked.sell,
        "buyToken": asked.buy,
        "sellAmount": str(asked.amount),
        "taker": asked.wallet,
        "slippageBps": str(asked.slippage_bps),
    }
    headers = {"0x-api-key": "key", "0x-version": "v2"}
    url = sandbox.venues["zeroex"] + "/swap/allowance-holder/quote"
    return await http.get(url, params=query, headers=headers)


def read(body: Any) -> Got:
    tx = body["transaction"]
    spender = body["allowanceTarget"]
    return Got(int(body["buyAmount"]), tx["to"], spender, int(tx["value"]), calldata(tx["data"]))


CASE = VendorCase(
    name="zeroex",
    spenders=True,
    minimum="minBuyAmount",
    says={
        "no_route": (200, {"liquidityAvailable": False}),
        "unknown_token": (400, {"name": "TOKEN_NOT_SUPPORTED"}),
        "refused": (403, {}),
    },
    body=body,
    route_says=RouteSays(dex="uniswapv3"),
    price=price,
    asked=[
        (
            "GET /swap/allowance-holder/quote",
            {
                "chainId": "1",
                "sellToken": WETH,
                "buyToken": USDC,
                "sellAmount": AMOUNT,
                "taker": WALLET,
                "slippageBps": "50",
                "gasPrice": "2000000000",
            },
        )
    ],
    price_asked=(
        "/swap/allowance-holder/price",
        {
            "chainId": "1",
            "sellToken": WETH,
            "buyToken": USDC,
            "sellAmount": AMOUNT,
            "gasPrice": "2000000000",
        },
    ),
    headers={"0x-version": "v2", "0x-api-key": KEY},
    said={
        NoRouteReason.NO_ROUTE: [(200, {"liquidityAvailable": False, "zid": "0x1"})],
        NoRouteReason.TOKEN_UNKNOWN: [
            (400, {"name": "TOKEN_NOT_SUPPORTED"}),
            (422, {"name": "BUY_TOKEN_NOT_AUTHORIZED_FOR_TRADE"}),
            (422, {"name": "SELL_TOKEN_NOT_AUTHORIZED_FOR_TRADE"}),
        ],
        NoRouteReason.RATE_LIMITED: [(429, {})],
        NoRouteReason.REFUSED: [
            (400, {"name": "USER_NOT_AUTHORIZED"}),
            (401, {}),
            (403, {"name": "TAKER_NOT_AUTHORIZED_FOR_TRADE"}),
            (403, {"name": "SOMETHING_NEW"}),
            (400, {"name": "INPUT_INVALID", "data": {"details": [{"field": "taker"}]}}),
            (400, {"name": "SWAP_VALIDATION_FAILED", "message": "validation failed"}),
            (451, {}),
        ],
        NoRouteReason.UNAVAILABLE: [
            (500, {"name": "INTERNAL_SERVER_ERROR"}),
            (500, {"name": "UNCATEGORIZED"}),
        ],
        NoRouteReason.BAD_REPLY: [
            (400, {"name": ["TOKEN_NOT_SUPPORTED"]}),
            (200, {"liquidityAvailable": True}),
            (200, {"liquidityAvailable": "false"}),
        ],
    },
    sentence=(400, lambda text: {"name": "SWAP_VALIDATION_FAILED", "message": text}),
    amounts={"sellAmount": SOLD, "buyAmount": PROMISED, "minBuyAmount": MINIMUM},
    gas=["transaction.gas"],
    addresses=["transaction.to", "allowanceTarget"],
    tokens=["sellToken", "buyToken"],
    calldata=["transaction.data"],
    ask=ask,
    read=read,
)
