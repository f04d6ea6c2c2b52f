"""1inch as tests meet it: what it is asked, answers and refuses."""

from typing import Any

from quietswap.rules.quotes.quote import NoRouteReason
from quietswap.rules.routers import known_pools
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors.oneinch import VENDOR
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.addresses import THIEF
from quietswap.sandbox.contracts.pools import BY_ADDRESS
from quietswap.sandbox.vendors.market import Hop
from quietswap.sandbox.vendors.oneinch import ONEINCH_SWAP
from quietswap.sandbox.vendors.router_calldata import made_up_pool_word, pays, script, word
from tests.hostile.draw import Draw
from tests.hostile.trial import ROW_AMOUNT, ROW_LEAST, Row, bought
from tests.hostile.trial import WALLET as HOLDER
from tests.vendors.case import (
    AMOUNT,
    KEY,
    PROMISED,
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
        "srcToken": {"address": terms.sold},
        "dstToken": {"address": terms.bought},
        "dstAmount": str(terms.out),
        "tx": {
            "from": WALLET,
            "to": terms.target.lower(),
            "data": terms.calldata(ROUTER),
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


def read(body: Any) -> Got:
    tx = body["tx"]
    return Got(
        ROUTER, int(body["dstAmount"]), tx["to"], tx["to"], int(tx["value"]), calldata(tx["data"])
    )


def _encoded(swap: Swap) -> bytes:
    desc = (swap.sell, swap.buy, EXECUTOR, swap.recipient, swap.amount, swap.minimum, swap.flags)
    return call(
        "swap",
        ("address", "(address,address,address,address,uint256,uint256,uint256)", "bytes"),
        *(EXECUTOR, desc, b"executor data"),
    )


def dex_word(swap: Swap, *, version: int = 2, pool: Address | None = None) -> int:
    """The word for one pool: the first derived one of the pair, or `pool`."""
    derive = known_pools.v2_pairs if version == 2 else known_pools.v3_pools
    at = pool or min(derive(swap.sell, swap.buy))
    direction = 1 << 247 if int(swap.sell, 16) < int(swap.buy, 16) else 0
    return int(at, 16) | direction | (1 << 253 if version == 3 else 0)


def unoswap(swap: Swap) -> bytes:
    """Over one pool: it neither names the bought token nor a recipient."""
    types = ("uint256",) * 4
    dex = dex_word(swap) if swap.dex is None else swap.dex
    return call("unoswap", types, int(swap.sell, 16), swap.amount, swap.minimum, dex)


def pool_word(hop: Hop) -> int:
    """The word that names a genuine pool and the direction."""
    forward = hop.token_in == hop.pool.first.address
    return hop.pool.v3 << 253 | forward << 247 | int(hop.pool.address, 16)


def _hostile(draw: Draw) -> bytes:
    executor, work = draw.executor("oneinch", [VENDOR.router, VENDOR.router, HOLDER])
    receiver = executor if draw.chance(0.8) else draw.name()
    flags = draw.random.choice([0] * 8 + [1, 2, 4])
    if draw.chance(0.15):
        # returns most of it and pays for the rest
        part, least = draw.amount // 10, draw.least // 10 + 1
        returned = pays(draw.sell, VENDOR.router, draw.amount - part)
        work = script([returned, pays(draw.buy, VENDOR.router, least)], word(least))
        executor, flags = THIEF, draw.random.choice([0, 1])
    terms = (draw.sell, draw.buy, receiver, draw.recipient(), draw.amount, draw.least, flags)
    return abi.call(ONEINCH_SWAP, executor, terms, work)


def _hostile_unoswap(draw: Draw) -> bytes:
    """`unoswap` on a genuine pool, a fake one, or the thief as a pool."""
    v3 = draw.chance(0.5)
    (hop, *_) = draw.hops(v3=v3)
    if draw.chance(0.8):
        draw.ask(BY_ADDRESS[hop.token_in], BY_ADDRESS[hop.token_out], 300)
    dex = pool_word(hop)
    if draw.chance(0.2):
        dex = draw.random.choice([made_up_pool_word(), made_up_pool_word(1 << 253 | 1 << 247)])
    if draw.chance(0.15):
        draw.teach("getReserves()", script(answer=word(1) + word(2**111) + word(0)))
        draw.teach("swap(uint256,uint256,address,bytes)", draw.work([HOLDER]))
        dex = 1 << 247 | int(THIEF, 16)
    dex |= draw.random.choice([0] * 5 + [1 << 247, 1 << 250, 1 << 251, 998_000_000 << 160])
    return abi.call(
        "unoswap(uint256,uint256,uint256,uint256)",
        *(int(draw.sell, 16), draw.amount, draw.least, dex),
    )


def _row(paid: int) -> bytes:
    terms = (USDC, WETH, THIEF, NOBODY, ROW_AMOUNT, ROW_LEAST, 0)
    return abi.call(ONEINCH_SWAP, THIEF, terms, bought(VENDOR.router, paid, word(paid)))


ROUTER = StandInCase(
    method=Written(_encoded, flags=0),
    apart={"unoswap": unoswap},
    places=placed(6, 4),
    short=lambda swap, received: abi.call(
        "ReturnAmountIsNotEnough(uint256,uint256)", received, swap.min_out
    ),
    refusals={
        "made_up_pool": "not derived from a known factory",
        "drain": "clipperSwap: the named exchange",
        "partial_fill": "sell only a part",
        "permit_inside": "flag 0x4",
        "other_token": "asked to sell the token bought",
    },
    makers={"swap": _hostile, "unoswap": _hostile_unoswap},
    rows={"swap": Row(_row)},
)


_ASKED = {
    "src": WETH,
    "dst": USDC,
    "amount": AMOUNT,
    "includeTokensInfo": "true",
}
CASE = VendorCase(
    calls=ROUTER,
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
            _ASKED
            | {
                "from": WALLET,
                "origin": WALLET,
                "slippage": "0.5",
                "disableEstimate": "true",
                "allowPartialFill": "false",
                "compatibility": "true",
            },
        )
    ],
    price_asked=("/swap/v6.1/1/quote", _ASKED | {"includeGas": "true"}),
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
    read=read,
)
