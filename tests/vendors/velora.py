"""Velora as tests meet it: what it is asked, answers and refuses."""

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
    def swap(bought: str, exchange: str) -> dict[str, Any]:
        return {"destToken": bought, "swapExchanges": [{"exchange": exchange, "percent": 100}]}

    price = {
        "srcToken": terms.sold,
        "srcAmount": terms.amount,
        "destToken": terms.bought,
        "destAmount": str(terms.out),
        "gasCost": "253000",
        "version": "6.2",
        "partnerFee": 0,
        "contractAddress": terms.target.lower(),
        "tokenTransferProxy": terms.allowed,
        "bestRoute": [
            {"percent": 10, "swaps": [swap(terms.bought, "Curve")]},
            {"percent": 90, "swaps": [swap(DAI.lower(), "uniswapv3"), swap(terms.bought, "Frax")]},
        ],
    }
    tx = {
        "from": WALLET,
        "to": terms.target.lower(),
        "value": terms.value,
        "data": terms.calldata("velora"),
        "chainId": 1,
    }
    return [{"priceRoute": price, "txParams": tx}]


def price(sell: str, buy: str, amount: str, out: str) -> dict[str, Any]:
    return {
        "priceRoute": {
            "srcToken": sell,
            "destToken": buy,
            "srcAmount": amount,
            "destAmount": out,
            "gasCost": "1000",
            "partnerFee": 0,
        }
    }


async def ask(http: httpx.AsyncClient, sandbox: SandboxNetwork, asked: Asked) -> httpx.Response:
    return await http.get(
        sandbox.venues["velora"] + "/swap",
        params={
            "srcToken": asked.sell,
            "destToken": asked.buy,
            "srcDecimals": 18,
            "destDecimals": 6,
            "amount": str(asked.amount),
            "side": "SELL",
            "network": 1,
            "userAddress": asked.wallet,
            "slippage": asked.slippage_bps,
            "version": "6.2",
            "partner": "test",
        },
    )


def read(body: Any) -> Got:
    route, tx = body["priceRoute"], body["txParams"]
    spender = route["tokenTransferProxy"]
    return Got(int(route["destAmount"]), tx["to"], spender, int(tx["value"]), calldata(tx["data"]))


CASE = VendorCase(
    name="velora",
    spenders=True,
    says={
        "no_route": (400, {"error": "No routes found with enough liquidity"}),
        "unknown_token": (400, {"error": "Invalid destToken"}),
        "refused": (403, {}),
    },
    body=body,
    route_says=RouteSays(dex="uniswapv3"),
    price=price,
    asked=[
        (
            "GET /swap",
            {
                "srcToken": WETH,
                "srcDecimals": "18",
                "destToken": USDC,
                "destDecimals": "6",
                "amount": AMOUNT,
                "side": "SELL",
                "network": "1",
                "userAddress": WALLET,
                "slippage": "50",
                "version": "6.2",
                "partner": "house",
                "maxImpact": "100",
                "ignoreBadUsdPrice": "true",
                "includeContractMethods": (
                    "swapExactAmountIn,swapExactAmountInOnUniswapV2,swapExactAmountInOnUniswapV3,"
                    "swapExactAmountInOnCurveV1,swapExactAmountInOnCurveV2"
                ),
            },
        )
    ],
    price_asked=(
        "/prices",
        {
            "srcToken": WETH,
            "srcDecimals": "18",
            "destToken": USDC,
            "destDecimals": "6",
            "amount": AMOUNT,
            "side": "SELL",
            "network": "1",
            "version": "6.2",
            "partner": "house",
            "maxImpact": "100",
            "ignoreBadUsdPrice": "true",
            "includeContractMethods": (
                "swapExactAmountIn,swapExactAmountInOnUniswapV2,swapExactAmountInOnUniswapV3,"
                "swapExactAmountInOnCurveV1,swapExactAmountInOnCurveV2"
            ),
            "excludeRFQ": "true",
        },
    ),
    optional_key="x-api-key",
    said={
        NoRouteReason.NO_ROUTE: [
            (400, {"error": "No routes found with enough liquidity"}),
            (400, {"errorType": "PricingError", "details": "something"}),
            (400, {"error": "ESTIMATED_LOSS_GREATER_THAN_MAX_IMPACT", "value": "99%"}),
            (400, {"error": "the rate has changed, please re-query the latest price"}),
            (400, {"error": "Too much slippage on quote, please try again"}),
            (400, {"errorType": "StalePriceRoute", "details": "Stale priceRoute"}),
            (400, {"error": "Bad USD Price"}),
        ],
        NoRouteReason.TOKEN_UNKNOWN: [
            (400, {"error": "Invalid srcToken"}),
            (400, {"errorType": "InvalidInput", "details": "Invalid destToken"}),
            (404, {"error": "Token not found"}),
        ],
        NoRouteReason.RATE_LIMITED: [
            (400, {"error": "Rate limited"}),
            (400, {"error": "Rate limit reached"}),
        ],
        NoRouteReason.REFUSED: [
            (403, {"error": "Forbidden"}),
            (422, {"error": "Partner not allowed"}),
            (422, {"errorType": "UnsupportedChain", "details": "Unsupported chain"}),
            (400, {"error": "Not enough WETH balance"}),
        ],
        NoRouteReason.TIMED_OUT: [(408, {}), (400, {"error": "Price Timeout"})],
        NoRouteReason.UNAVAILABLE: [(500, {"error": "No routes found with enough liquidity"})],
        NoRouteReason.BAD_REPLY: [
            (400, {"error": {"text": "No routes found with enough liquidity"}}),
            (400, {}),
        ],
    },
    sentence=(400, lambda text: {"error": text}),
    amounts={"priceRoute.srcAmount": SOLD, "priceRoute.destAmount": PROMISED},
    gas=["priceRoute.gasCost"],
    addresses=["txParams.to", "priceRoute.tokenTransferProxy"],
    tokens=["priceRoute.srcToken", "priceRoute.destToken"],
    calldata=["txParams.data"],
    ask=ask,
    read=read,
)
