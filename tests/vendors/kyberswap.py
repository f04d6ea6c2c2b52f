"""KyberSwap as tests meet it: what it is asked, answers and refuses."""

from collections.abc import Callable, Sequence
from typing import Any

import httpx

from quietswap.rules.quotes.quote import NoRouteReason
from quietswap.rules.routers.method import Measure
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors.kyberswap import VENDOR
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.addresses import THIEF
from quietswap.sandbox.network import SandboxNetwork
from quietswap.sandbox.vendors.kyberswap import KYBERSWAP_SWAP
from quietswap.sandbox.vendors.router_calldata import FOREVER, pays, script
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
    Asked,
    Got,
    RouteSays,
    Terms,
    VendorCase,
    calldata,
)
from tests.vendors.router import EXECUTOR, NOBODY, StandInCase, Swap, Written, call, placed


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
        "data": terms.calldata(ROUTER),
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
    return Got(ROUTER, int(data["amountOut"]), router, router, value, calldata(data["data"]))


_DESCRIPTION = (
    "(address,address,address[],uint256[],address[],uint256[],"
    "address,uint256,uint256,uint256,bytes)"
)


def _description(swap: Swap) -> tuple[object, ...]:
    fees = ([EXECUTOR], [swap.fee_bps]) if swap.fee_bps else ([], [])
    parties: tuple[object, ...] = ([EXECUTOR], [swap.amount], *fees)
    terms = (swap.recipient, swap.amount, swap.minimum, swap.flags, swap.permit)
    return (swap.sell, swap.buy, *parties, *terms)


def _encoder(method: str) -> Callable[[Swap], bytes]:
    def encoded(swap: Swap) -> bytes:
        execution = (EXECUTOR, NOBODY, b"target data", _description(swap), b"client data")
        return call(method, (f"(address,address,bytes,{_DESCRIPTION},bytes)",), execution)

    return encoded


def _simple(swap: Swap) -> bytes:
    types = ("address", _DESCRIPTION, "bytes", "bytes")
    return call("swapSimpleMode", types, EXECUTOR, _description(swap), b"executor", b"client")


def called(target: Address, work: bytes, description: Sequence[Any]) -> bytes:
    """`swap`, in simple mode if the description's flags say so."""
    return abi.call(KYBERSWAP_SWAP, (target, target, work, description, b""))


def simple_work(sequences: Sequence[tuple[Address, int, bytes]], last: bytes) -> bytes:
    """The data of simple mode: (first pool, its amount, the caller's data) per part."""
    pools, amounts, works = zip(*sequences, strict=True) if sequences else ((), (), ())
    plan = (pools, amounts, works, FOREVER, last)
    return abi.encode("((address[],uint256[],bytes[],uint256,bytes))", (plan,))


def _drawn_description(draw: Draw, target: Address, flags: int) -> tuple[object, ...]:
    shares = draw.random.choice([(100,), (100,), (60, 40), (60, 50), ()])
    receivers = [target if draw.chance(0.7) else draw.name() for _ in shares]
    amounts = [draw.amount * share // 100 for share in shares]
    fees = draw.random.choice([()] * 5 + [(10,), (30, 200), (9000, 2000)])
    return (
        *(draw.sell, draw.buy, receivers, amounts, [THIEF] * len(fees), fees),
        *(draw.recipient(), draw.amount, draw.least, flags, b""),
    )


def _hostile(draw: Draw) -> bytes:
    """`swap`, often in simple mode, which is not offered."""
    if draw.chance(0.4):
        return _hostile_simple(draw)
    flags = 0x200 | draw.random.choice([0, 0, 0x40, 0x80, 0xC0, 0x1, 0x4, 0x100])
    target, work = draw.executor("kyberswap", [VENDOR.router, HOLDER])
    return called(target, work, _drawn_description(draw, target, flags))


def _hostile_simple(draw: Draw) -> bytes:
    flags = 0x220 | draw.random.choice([0, 0, 0x40, 0x80, 0xC0, 0x1])
    work = _simple_sequences(draw)
    if draw.chance(0.15):
        # draws a tenth and pays a tenth
        paid = script([pays(draw.buy, HOLDER, draw.least // 10 + 1)])
        work = simple_work([(THIEF, draw.amount // 10, paid)], b"")
        flags = draw.random.choice([0x220, 0x221])
    return called(THIEF, work, _drawn_description(draw, THIEF, flags))


def _simple_sequences(draw: Draw) -> bytes:
    payees = [VENDOR.router, HOLDER]
    shares = draw.random.choice([(100,)] * 4 + [(60, 40), (60, 50), (30, 30), (1000,)])
    sequences = [
        (THIEF if draw.chance(0.8) else draw.name(), draw.amount * share // 100, draw.work(payees))
        for share in shares
    ]
    return simple_work(sequences, draw.work(payees) if draw.chance(0.5) else b"")


def _row(to: Address, flags: int = 0x200, fees: tuple[int, ...] = ()) -> Callable[[int], bytes]:
    """The thief pays `to`, and takes `fees` of it before the check of the minimum."""
    description = (
        *(USDC, WETH, [THIEF], [ROW_AMOUNT], [THIEF] * len(fees), fees),
        *(NOBODY, ROW_AMOUNT, ROW_LEAST, flags, b""),
    )
    left = 10_000 - sum(fees)
    return lambda paid: called(THIEF, bought(to, paid * 10_000 // left), description)


_SHORT = abi.call("Error(string)", "Return amount is not enough")
ROUTER = StandInCase(
    method=Written(_encoder("swap"), Measure.RECIPIENT, flags=0x2C0, offset=0),
    refused={"swapGeneric": _encoder("swapGeneric"), "swapSimpleMode": _simple},
    places=placed(8, 6, 0, 3),
    short=lambda _swap, _received: _SHORT,
    expired=lambda _: abi.call("Error(string)", "Call failed"),
    refusals={
        "drain": "swapGeneric",
        "partial_fill": "sell only a part",
        "permit_inside": "permit",
    },
    makers={"swap": _hostile},
    rows={
        "swap": Row(_row(HOLDER)),
        "swap, fee on what is bought": Row(_row(VENDOR.router, 0x200 | 0x40 | 0x80, (1000,))),
    },
)


_ASKED = {
    "tokenIn": WETH,
    "tokenOut": USDC,
    "amountIn": AMOUNT,
    "gasInclude": "true",
    "excludeRFQSources": "true",
    "excludedSources": "fermi,fermi-prop,kipseli-prop,kipseli-pamm,metric-propamm,bop-amm"
    ",titan-prop",
}
CASE = VendorCase(
    calls=ROUTER,
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
        ("GET /ethereum/api/v1/routes", _ASKED | {"origin": WALLET}),
        ("POST /ethereum/api/v1/route/build", {}),
    ],
    price_asked=("/ethereum/api/v1/routes", _ASKED),
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
    slippage_name="slippageTolerance",
    client=ask,
    read=read,
)
