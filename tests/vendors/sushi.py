"""Sushi as tests meet it: what it is asked, answers and refuses."""

from decimal import Decimal
from typing import Any

from quietswap.rules.quotes.quote import NoRouteReason
from quietswap.rules.routers.method import Measure
from quietswap.rules.tokens.token import WETH
from quietswap.rules.vendors.sushi import VENDOR
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.addresses import THIEF
from quietswap.sandbox.vendors.sushi import SUSHI_SNWAP
from tests.hostile.draw import Draw
from tests.hostile.trial import ROW_AMOUNT, ROW_LEAST, Row, bought
from tests.hostile.trial import WALLET as HOLDER
from tests.vendors.case import (
    AMOUNT,
    DAI,
    PROMISED,
    SOLD,
    USDC,
    WALLET,
    Got,
    PriceSays,
    Terms,
    VendorCase,
    calldata,
)
from tests.vendors.router import EXECUTOR, StandInCase, Swap, Written, call, placed


def body(terms: Terms) -> list[Any]:
    tx = {"from": WALLET, "to": terms.target.lower(), "data": terms.calldata(ROUTER)}
    if terms.value != "0":
        tx["value"] = terms.value  # absent when a token is sold
    answer = {
        "status": "Success",
        "tokens": [{"address": address} for address in (DAI, terms.bought, terms.sold)],
        "tokenFrom": 2,
        "tokenTo": 1,
        "priceImpact": 0.0012,
        "amountIn": terms.amount,
        "assumedAmountOut": str(terms.out),
        "gasSpent": 253000,
        "tx": tx,
    }
    return [answer]


def price(sell: str, buy: str, amount: str, out: str) -> dict[str, Any]:
    return {
        "status": "Success",
        "tokens": [{"address": sell}, {"address": buy}],
        "tokenFrom": 0,
        "tokenTo": 1,
        "amountIn": amount,
        "assumedAmountOut": out,
        "priceImpact": 0.001,
    }


def read(body: Any) -> Got:
    tx = body["tx"]
    value = int(tx.get("value", "0"))
    return Got(
        ROUTER, int(body["assumedAmountOut"]), tx["to"], tx["to"], value, calldata(tx["data"])
    )


def _encoded(swap: Swap) -> bytes:
    return call(
        "snwap",
        ("address", "uint256", "address", "address", "uint256", "address", "bytes"),
        *(swap.sell, swap.amount, swap.recipient, swap.buy, swap.minimum, EXECUTOR, b"route"),
    )


def _hostile(draw: Draw) -> bytes:
    """`snwap`, any executor."""
    executor, plan = draw.executor("sushi", [HOLDER, HOLDER, VENDOR.router])
    work = abi.call("callBytes(bytes)", plan)
    if draw.chance(0.1):
        executor, work, _ = draw.mischief()
    terms = (draw.sell, draw.amount, draw.recipient(), draw.buy, draw.least)
    return abi.call(SUSHI_SNWAP, *terms, executor, work)


def _row(paid: int) -> bytes:
    work = abi.call("callBytes(bytes)", bought(HOLDER, paid))
    return abi.call(SUSHI_SNWAP, USDC, ROW_AMOUNT, HOLDER, WETH, ROW_LEAST, THIEF, work)


ROUTER = StandInCase(
    method=Written(_encoded, Measure.RECIPIENT, zero_is_sender=False),
    places=placed(4, 2),
    short=lambda swap, received: abi.call(
        "MinimalOutputBalanceViolation(address,uint256)", swap.buy, received
    ),
    refusals={"drain": "snwapMultiple: it pulls any list of tokens"},
    makers={"snwap": _hostile},
    rows={"snwap": Row(_row)},
)


_ASKED = {
    "tokenIn": WETH,
    "tokenOut": USDC,
    "amount": AMOUNT,
    "maxSlippage": "0.005",
    "referrer": "house",
}
CASE = VendorCase(
    calls=ROUTER,
    name="sushi",
    says={
        "no_route": (200, {"status": "NoWay"}),
        "unknown_token": (422, {"code": "422-01", "detail": "Invalid tokenOut"}),
        "refused": (401, {"detail": "invalid-api-key"}),
    },
    body=body,
    price=price,
    asked=[("GET /swap/v7/1", _ASKED | {"sender": WALLET, "recipient": WALLET})],
    price_asked=("/quote/v7/1", _ASKED),
    optional_key="?apiKey",
    slippage="fraction",
    price_says=PriceSays(gas=None, impact=Decimal("0.1")),
    said={
        NoRouteReason.NO_ROUTE: [
            (200, {"status": "NoWay"}),
            (200, {"status": "Partial", "amountIn": "1"}),
        ],
        NoRouteReason.TOKEN_UNKNOWN: [
            (404, {"detail": "Token not found"}),
            (422, {"detail": "bad tokenIn"}),
        ],
        NoRouteReason.RATE_LIMITED: [(429, {}), (529, {})],
        NoRouteReason.REFUSED: [
            (401, {"code": "invalid-api-key"}),
            (403, {}),
            (422, {"code": "422-04", "detail": "Insufficient allowance"}),
        ],
        NoRouteReason.UNAVAILABLE: [(500, {"detail": "Token not found"}), (503, {})],
        NoRouteReason.BAD_REPLY: [
            (422, {"code": "422-04"}),
            (200, {"status": "Success"}),
            (200, {"status": "noway"}),
            (200, {}),
        ],
    },
    sentence=(422, lambda text: {"code": "422-04", "detail": text}),
    amounts={"amountIn": SOLD, "assumedAmountOut": PROMISED},
    gas=["gasSpent"],
    addresses=["tx.to"],
    calldata=["tx.data"],
    slippage_name="maxSlippage",
    read=read,
)
