"""Velora as tests meet it: what it is asked, answers and refuses."""

from collections.abc import Callable, Sequence
from typing import Any

from quietswap.rules.quotes.quote import NoRouteReason
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx.address import Address, from_bytes
from quietswap.rules.vendors.velora import VENDOR
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.addresses import PARTNER, THIEF
from quietswap.sandbox.contracts.pools import ALL_TOKENS, V3_WETH_USDC
from quietswap.sandbox.vendors.market import Hop
from quietswap.sandbox.vendors.router_calldata import script
from quietswap.sandbox.vendors.velora import VELORA_SWAP, VELORA_UNISWAP
from tests.hostile.draw import Draw, Step
from tests.hostile.trial import ROW_AMOUNT, ROW_LEAST, Row, Trade, bought
from tests.hostile.trial import WALLET as HOLDER
from tests.vendors.case import (
    AMOUNT,
    DAI,
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
from tests.vendors.router import (
    EXECUTOR,
    NOBODY,
    TRANSFER,
    StandInCase,
    Swap,
    Written,
    call,
    placed,
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
        "data": terms.calldata(ROUTER),
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


def read(body: Any) -> Got:
    route, tx = body["priceRoute"], body["txParams"]
    spender = route["tokenTransferProxy"]
    return Got(
        ROUTER, int(route["destAmount"]), tx["to"], spender, int(tx["value"]), calldata(tx["data"])
    )


_CURVE_V2 = (
    "(uint256,uint256,uint256,address,address,address,uint256,uint256,uint256,bytes32,address)"
)
_TAIL = "uint256,uint256,uint256,bytes32,address"


def _partner(swap: Swap) -> int:
    word = int(EXECUTOR, 16) << 96 | 1 << 91 if swap.partner is None else swap.partner
    return word | swap.fee_bps


def _generic(swap: Swap) -> bytes:
    data = (swap.sell, swap.buy, swap.amount, swap.minimum, swap.quote, b"\1" * 32)
    return call(
        "swapExactAmountIn",
        (
            "address",
            "(address,address,uint256,uint256,uint256,bytes32,address)",
            *("uint256", "bytes", "bytes"),
        ),
        *(EXECUTOR, (*data, swap.recipient), _partner(swap), swap.permit, b"executor data"),
    )


def v3_group(sold: Address, bought: Address, fee: int = 500) -> bytes:
    """One pool of the UniswapV3 form."""
    low, high = sorted((int(sold, 16), int(bought, 16)))
    direction = 1 << 255 if low == int(sold, 16) else 0
    return b"".join(word.to_bytes(32) for word in (low | direction, high, fee))


def v2_group(sold: Address, bought: Address) -> bytes:
    """One pool of the UniswapV2 form."""
    low, high = sorted((int(sold, 16), int(bought, 16)))
    packed = low.to_bytes(20) + high.to_bytes(20)
    return packed + bytes(23) + bytes([low == int(sold, 16)])


def _uniswap(version: int) -> Callable[[Swap], bytes]:
    def encoded(swap: Swap) -> bytes:
        data = (swap.sell, swap.buy, swap.amount, swap.minimum, swap.quote, b"\1" * 32)
        pools = (v2_group if version == 2 else v3_group)(swap.sell, swap.buy)
        pools = pools if swap.pools is None else swap.pools
        return call(
            f"swapExactAmountInOnUniswapV{version}",
            (
                "(address,address,uint256,uint256,uint256,bytes32,address,bytes)",
                *("uint256", "bytes"),
            ),
            *((*data, swap.recipient, pools), _partner(swap), swap.permit),
        )

    return encoded


def _curve_v1(swap: Swap) -> bytes:
    data = (swap.curve, 2, swap.sell, swap.buy, swap.amount, swap.minimum, swap.quote, b"\1" * 32)
    return call(
        "swapExactAmountInOnCurveV1",
        (
            "(uint256,uint256,address,address,uint256,uint256,uint256,bytes32,address)",
            *("uint256", "bytes"),
        ),
        *((*data, swap.recipient), _partner(swap), swap.permit),
    )


def _curve_v2(swap: Swap) -> bytes:
    data = (swap.curve, 2, 3, EXECUTOR, swap.sell, swap.buy, swap.amount, swap.minimum, swap.quote)
    return call(
        "swapExactAmountInOnCurveV2",
        (_CURVE_V2, "uint256", "bytes"),
        *((*data, b"\1" * 32, swap.recipient), _partner(swap), swap.permit),
    )


def called(terms: Sequence[Any], executor: Address, fees: int, work: bytes) -> bytes:
    """`swapExactAmountIn`; `terms` are the fields of a GenericData."""
    return abi.call(VELORA_SWAP, executor, terms, fees, b"", work)


def direct(version: int, terms: Sequence[Any], fees: int, hops: Sequence[Hop]) -> bytes:
    """`swapExactAmountInOnUniswapV2` or `…V3` over these pools."""
    if version == 2:
        pools = b"".join(v2_group(hop.token_in, hop.token_out) for hop in hops)
    else:
        pools = b"".join(v3_group(hop.token_in, hop.token_out, hop.pool.fee) for hop in hops)
    method = f"swapExactAmountInOnUniswapV{version}{VELORA_UNISWAP}"
    return abi.call(method, (*terms, pools), fees, b"")


def _curve(version: int, terms: Sequence[Any], fees: int, exchange: int) -> bytes:
    """`swapExactAmountInOnCurveV1` or `…V2`; `exchange` is the word of flags and address."""
    if version == 1:
        method = (
            f"swapExactAmountInOnCurveV1((uint256,uint256,address,address,{_TAIL}),uint256,bytes)"
        )
        return abi.call(method, (exchange, 1, *terms), fees, b"")
    method = (
        "swapExactAmountInOnCurveV2"
        f"((uint256,uint256,uint256,address,address,address,{_TAIL}),uint256,bytes)"
    )
    pool = from_bytes((exchange % 2**160).to_bytes(20))
    return abi.call(method, (exchange, 0, 1, pool, *terms), fees, b"")


def _drawn_terms(draw: Draw) -> tuple[object, ...]:
    quotes = [draw.promise] * 4 + [draw.least, draw.least - 1, 0, 1, 2 * draw.promise]
    quoted = draw.random.choice(quotes)
    return (draw.sell, draw.buy, draw.amount, draw.least, quoted, b"", draw.recipient())


def _drawn_fees(draw: Draw) -> int:
    partner = draw.random.choice([NOBODY, THIEF, PARTNER, HOLDER])
    flags = sum(1 << bit for bit in range(90, 96) if draw.chance(0.4))
    fee = draw.random.choice([0, 0, 1, 10, 200, 201, 10_000, 0x3FFF])
    return int(partner, 16) << 96 | flags | fee


def _hostile(draw: Draw) -> bytes:
    executor, work = draw.executor("velora", [VENDOR.router, VENDOR.router, HOLDER])
    return called(_drawn_terms(draw), executor, _drawn_fees(draw), work)


def _hostile_v2(draw: Draw) -> bytes:
    """Over V2 pairs: those of the route, or any."""
    hops = draw.hops(v3=False)
    return direct(2, _drawn_terms(draw), _drawn_fees(draw), hops)


def _hostile_v3(draw: Draw) -> bytes:
    """Over V3 pools; the pair is mostly the one that has a pool, or reversed."""
    if draw.chance(0.8):
        ends = [V3_WETH_USDC.first, V3_WETH_USDC.second]
        draw.random.shuffle(ends)
        draw.ask(*ends, 300)
    hops = draw.hops(v3=True)
    if draw.chance(0.25):
        # pays well for the named token, and takes another approved token
        sold = draw.random.choice([ALL_TOKENS[name] for name in ("DAI", "VYP", "SLDY")])
        draw.ask(sold, ALL_TOKENS["USDC"], 3)
        hops = [Hop(V3_WETH_USDC, WETH)]
    return direct(3, _drawn_terms(draw), _drawn_fees(draw), hops)


def _hostile_curve(version: int, method: str) -> Callable[[Draw], bytes]:
    """Over a Curve pool that is the thief."""

    def maker(draw: Draw) -> bytes:
        take = abi.call(TRANSFER, VENDOR.router, THIEF, draw.amount)
        pay = abi.call("transfer(address,uint256)", VENDOR.router, draw.least_paid())
        steps: list[Step] = [(draw.sell, take, False), draw.mischief()]
        if draw.chance(0.8):
            steps.append((draw.buy, pay, False))
        draw.teach(method, script(steps))
        flags = draw.random.choice([1 << 160] * 4 + [0, 1 << 161, 1 << 163])
        return _curve(version, _drawn_terms(draw), _drawn_fees(draw), int(THIEF, 16) | flags)

    return maker


def _terms(quoted: int = ROW_LEAST) -> tuple[object, ...]:
    return (USDC, WETH, ROW_AMOUNT, ROW_LEAST, quoted, b"", NOBODY)


def _row(flags: int, quoted: int = ROW_LEAST) -> Callable[[int], bytes]:
    """The router holds a unit of dust and keeps one, so it is paid what arrives before the fee."""
    fees = int(THIEF, 16) << 96 | flags
    return lambda paid: called(_terms(quoted), THIEF, fees, bought(VENDOR.router, paid - 1))


def _curve_row(version: int, method: str, swap_type: int = 0) -> Row:
    take = abi.call(TRANSFER, VENDOR.router, THIEF, ROW_AMOUNT)

    def made(paid: int) -> Trade:
        pay = abi.call("transfer(address,uint256)", VENDOR.router, paid - 1)
        steps = [(USDC, take, True), (WETH, pay, True)]
        lesson = abi.call("teach(bytes4,bytes)", abi.selector(method), script(steps))
        word = int(THIEF, 16) | 1 << 160 | swap_type << 163
        return Trade(VENDOR.router, _curve(version, _terms(), 0, word), (lesson,))

    return Row(made)


_FEE_BPS, _TAKE_SURPLUS, _REFERRAL = 200, 1 << 95, 1 << 94
_V1, _V2 = "int128,int128,uint256,uint256", "uint256,uint256,uint256,uint256"
_SWAP = "swapExactAmountIn"
ROUTER = StandInCase(
    method=Written(_generic, dust=1, offset=9),
    others={
        f"{_SWAP}OnUniswapV2": Written(_uniswap(2), dust=1, offset=0),
        f"{_SWAP}OnUniswapV3": Written(_uniswap(3), offset=0),
        f"{_SWAP}OnCurveV1": Written(_curve_v1, dust=1, offset=10),
        f"{_SWAP}OnCurveV2": Written(_curve_v2, dust=1, offset=12),
    },
    places=placed(4, 7),
    short=lambda _swap, _received: abi.call("InsufficientReturnAmount()"),
    refusals={
        "partner_takes": "quotedAmount lies below its minimum",
        "other_token": "its pools sell",
        "drain": "not a known one",
        "permit_inside": "permit",
    },
    makers={
        _SWAP: _hostile,
        f"{_SWAP}OnUniswapV2": _hostile_v2,
        f"{_SWAP}OnUniswapV3": _hostile_v3,
        f"{_SWAP}OnCurveV1": _hostile_curve(1, f"exchange({_V1})"),
        f"{_SWAP}OnCurveV2": _hostile_curve(2, f"exchange({_V2})"),
    },
    rows={
        _SWAP: Row(_row(0)),
        "partner's fee": Row(_row(_FEE_BPS)),
        "largest fee there is": Row(_row(0x3FFF)),
        "surplus taken": Row(_row(_TAKE_SURPLUS), extra=10**18),
        "surplus to the referrer": Row(_row(_REFERRAL | 1 << 91), extra=10**18),
        "quoted as high as can be": Row(_row(_FEE_BPS, 2**255)),
        "CurveV1": _curve_row(1, f"exchange({_V1})"),
        "CurveV1, underlying": _curve_row(1, f"exchange_underlying({_V1})", 1),
        "CurveV2": _curve_row(2, f"exchange({_V2})"),
        "CurveV2, underlying": _curve_row(2, f"exchange_underlying({_V2})", 1),
        "CurveV2, zap": _curve_row(2, f"exchange(address,{_V2})", 2),
    },
)


_ASKED = {
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
}
CASE = VendorCase(
    calls=ROUTER,
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
    asked=[("GET /swap", _ASKED | {"userAddress": WALLET, "slippage": "50"})],
    price_asked=("/prices", _ASKED | {"excludeRFQ": "true"}),
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
    read=read,
)
