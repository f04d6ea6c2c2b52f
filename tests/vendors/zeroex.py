"""0x as tests meet it: what it is asked, answers and refuses."""

from collections.abc import Callable
from typing import Any

from quietswap.rules.quotes.quote import NoRouteReason
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx.address import Address
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.addresses import SETTLER, SHY_SETTLER, THIEF
from quietswap.sandbox.vendors import zeroex as stand_in
from quietswap.sandbox.vendors.router_calldata import FOREVER
from quietswap.sandbox.vendors.zeroex import ZEROEX_BASIC, ZEROEX_EXEC, ZEROEX_EXECUTE, ZEROEX_TAKE
from tests.hostile.draw import Draw
from tests.hostile.trial import ROW_AMOUNT, ROW_LEAST, Row, bought
from tests.hostile.trial import WALLET as HOLDER
from tests.vendors.case import (
    AMOUNT,
    DAI,
    KEY,
    MINIMUM,
    PROMISED,
    SOLD,
    USDC,
    WALLET,
    Got,
    RouteSays,
    Terms,
    VendorCase,
    calldata,
)
from tests.vendors.router import EXECUTOR, NOBODY, StandInCase, Swap, Written, call, placed


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
            "data": terms.calldata(ROUTER),
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


def read(body: Any) -> Got:
    tx = body["transaction"]
    spender = body["allowanceTarget"]
    return Got(
        ROUTER, int(body["buyAmount"]), tx["to"], spender, int(tx["value"]), calldata(tx["data"])
    )


_POSITIVE = "POSITIVE_SLIPPAGE(address,address,uint256,uint256)"


def encoded(swap: Swap, *, operator: Address = EXECUTOR, inner: bytes | None = None) -> bytes:
    """AllowanceHolder.exec; `inner` replaces the Settler's call."""
    execute = call(
        "execute",
        ("(address,address,uint256)", "bytes[]", "bytes32"),
        *((swap.recipient, swap.buy, swap.minimum), [b"action"], b"\2" * 32),
    )
    return call(
        "exec",
        ("address", "address", "uint256", "address", "bytes"),
        *(operator, swap.sell, swap.amount, EXECUTOR, execute if inner is None else inner),
    )


def _places(data: bytes) -> tuple[int, str]:
    """Read both inside the bytes for Settler."""
    inner = data[4 + abi.word(data[4:], 4) + 32 :]
    assert inner[:4].hex() == "1fff991f"
    return placed(2, 0)(inner)


def _action(draw: Draw) -> bytes:
    work = abi.call("callBytes(bytes)", draw.work([SETTLER, SETTLER, HOLDER]))
    target, data, _ = draw.mischief()
    return draw.random.choice(
        [
            abi.call(ZEROEX_BASIC, NOBODY, 0, THIEF, 0, work),
            abi.call(ZEROEX_BASIC, draw.sell, 10_000, THIEF, 4, work),
            abi.call(ZEROEX_BASIC, NOBODY, 0, target, 0, data),
            abi.call("CHECK_SLIPPAGE(bool)", draw.chance(0.5)),
            abi.call(_POSITIVE, THIEF, draw.buy, draw.number(), draw.random.randint(0, 10_000)),
        ]
    )


def _hostile(draw: Draw) -> bytes:
    """`exec` around `execute` of any actions, the last a payment."""
    settler = draw.random.choice([SETTLER] * 5 + [SHY_SETTLER, THIEF])
    if draw.chance(0.2):
        return stand_in.encode(draw.honest())
    to = draw.random.choice([THIEF, SETTLER])
    taken = draw.random.choice([draw.amount] * 4 + [10 * draw.amount, draw.amount // 2])
    permit = ((draw.sell, taken), 0, FOREVER)
    actions = [abi.call(ZEROEX_TAKE, to, permit, b"")]
    actions += [_action(draw) for _ in range(draw.random.randint(0, 3))]
    pay = abi.call("callBytes(bytes)", draw.work([settler]))
    actions.append(abi.call(ZEROEX_BASIC, NOBODY, 0, THIEF, 0, pay))
    if draw.chance(0.4):
        actions += [_action(draw)]
    slippage = (draw.recipient() if draw.stranger else HOLDER, draw.buy, draw.least)
    execute = abi.call(ZEROEX_EXECUTE, slippage, actions, b"")
    return abi.call(ZEROEX_EXEC, settler, draw.sell, draw.amount, settler, execute)


def _row(*then: bytes) -> Callable[[int], bytes]:
    """All is taken to the thief, who pays Settler; `then` are the actions after that."""

    def made(paid: int) -> bytes:
        permit = ((USDC, ROW_AMOUNT), 0, FOREVER)
        pay = abi.call("callBytes(bytes)", bought(SETTLER, paid))
        actions = [
            abi.call(ZEROEX_TAKE, THIEF, permit, b""),
            abi.call(ZEROEX_BASIC, NOBODY, 0, THIEF, 0, pay),
            *then,
        ]
        execute = abi.call(ZEROEX_EXECUTE, (HOLDER, WETH, ROW_LEAST), actions, b"")
        return abi.call(ZEROEX_EXEC, SETTLER, USDC, ROW_AMOUNT, SETTLER, execute)

    return made


_SURPLUS_LEFT = abi.call(_POSITIVE, THIEF, WETH, ROW_LEAST, 10_000)
_SWEEP = abi.call(
    ZEROEX_BASIC, *(WETH, 10_000, WETH, 36), abi.call("transfer(address,uint256)", THIEF, 0)
)
ROUTER = StandInCase(
    method=Written(encoded, zero_is_sender=False, offset=4, reads=lambda _: {"settler": EXECUTOR}),
    places=_places,
    short=lambda swap, received: abi.call(
        "TooMuchSlippage(address,uint256,uint256)", swap.buy, swap.min_out, received
    ),
    expired=lambda deadline: abi.call("SignatureExpired(uint256)", deadline),
    refusals={
        "shy_settler": "cannot be proven genuine",
        "drain": "something else than Settler.execute",
    },
    makers={"exec": _hostile},
    rows={
        "exec": Row(_row()),
        "exact payment and a sweep": Row(
            _row(abi.call("CHECK_SLIPPAGE(bool)", True), _SWEEP), extra=10**18
        ),
        "positive slippage": Row(_row(_SURPLUS_LEFT), extra=10**18),
    },
)


_ASKED = {
    "chainId": "1",
    "sellToken": WETH,
    "buyToken": USDC,
    "sellAmount": AMOUNT,
    "gasPrice": "2000000000",
}
CASE = VendorCase(
    calls=ROUTER,
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
    asked=[("GET /swap/allowance-holder/quote", _ASKED | {"taker": WALLET, "slippageBps": "50"})],
    price_asked=("/swap/allowance-holder/price", _ASKED),
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
    slippage_name="slippageBps",
    read=read,
)
