"""Calldata of the mainnet routers, encoded by eth-abi from their signatures: the oracle."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eth_abi.abi import encode

from quietswap.chain.address import Address, keccak256, to_bytes
from quietswap.routers import known_pools
from quietswap.routers.swap_router02 import Leg, pays_wallet
from quietswap.vendors import VENDORS, uniswap

NOBODY = Address("0x" + "0" * 40)
DEADLINE = 1_800_000_000
ITSELF = Address("0x0000000000000000000000000000000000000002")
EXECUTOR = Address("0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB")


@dataclass(frozen=True)
class Swap:
    """The terms a test wants written; `recipient` as the router has it.

    Velora alone knows `quoted` (None: 7 above the minimum), `partner` (the packed word without its
    fee, None: some partner with bit 91) and `pools` (None: honest ones); Velora and KyberSwap
    `permit`; Curve's methods `curve`, 1inch's `unoswap` `dex` (None: the pair's first pool).
    """

    sell: Address
    buy: Address
    amount: int
    minimum: int
    recipient: Address
    flags: int = 0
    fee_bps: int = 0
    quoted: int | None = None
    partner: int | None = None
    pools: bytes | None = None
    permit: bytes = b""
    curve: int = 1
    dex: int | None = None

    @property
    def quote(self) -> int:
        """The amount Velora calls quoted."""
        return self.minimum + 7 if self.quoted is None else self.quoted


def call(name: str, types: tuple[str, ...], *values: object) -> bytes:
    """Return selector and arguments of one call."""
    signature = f"{name}({','.join(types)})"
    return keccak256(signature.encode())[:4] + encode(types, values)


_KYBER_DESC = (
    "(address,address,address[],uint256[],address[],uint256[],"
    "address,uint256,uint256,uint256,bytes)"
)
_CURVE_V2 = (
    "(uint256,uint256,uint256,address,address,address,uint256,uint256,uint256,bytes32,address)"
)


def _kyber_desc(swap: Swap) -> tuple[object, ...]:
    fees = ([EXECUTOR], [swap.fee_bps]) if swap.fee_bps else ([], [])
    parties: tuple[object, ...] = ([EXECUTOR], [swap.amount], *fees)
    terms = (swap.recipient, swap.amount, swap.minimum, swap.flags, swap.permit)
    return (swap.sell, swap.buy, *parties, *terms)


def _kyber(method: str) -> Callable[[Swap], bytes]:
    def encoded(swap: Swap) -> bytes:
        execution = (EXECUTOR, NOBODY, b"target data", _kyber_desc(swap), b"client data")
        return call(method, (f"(address,address,bytes,{_KYBER_DESC},bytes)",), execution)

    return encoded


def _kyber_simple(swap: Swap) -> bytes:
    types = ("address", _KYBER_DESC, "bytes", "bytes")
    return call("swapSimpleMode", types, EXECUTOR, _kyber_desc(swap), b"executor", b"client")


def _partner(swap: Swap) -> int:
    word = int(EXECUTOR, 16) << 96 | 1 << 91 if swap.partner is None else swap.partner
    return word | swap.fee_bps


def _velora(swap: Swap) -> bytes:
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
    """One pool of Velora's UniswapV3 form."""
    low, high = sorted((int(sold, 16), int(bought, 16)))
    direction = 1 << 255 if low == int(sold, 16) else 0
    return b"".join(word.to_bytes(32) for word in (low | direction, high, fee))


def _v2_group(sold: Address, bought: Address) -> bytes:
    low, high = sorted((int(sold, 16), int(bought, 16)))
    packed = low.to_bytes(20) + high.to_bytes(20)
    return packed + bytes(23) + bytes([low == int(sold, 16)])


def _pools(swap: Swap, version: int) -> bytes:
    if swap.pools is not None:
        return swap.pools
    return (_v2_group if version == 2 else v3_group)(swap.sell, swap.buy)


def _velora_uniswap(version: int) -> Callable[[Swap], bytes]:
    def encoded(swap: Swap) -> bytes:
        data = (swap.sell, swap.buy, swap.amount, swap.minimum, swap.quote, b"\1" * 32)
        return call(
            f"swapExactAmountInOnUniswapV{version}",
            (
                "(address,address,uint256,uint256,uint256,bytes32,address,bytes)",
                *("uint256", "bytes"),
            ),
            *((*data, swap.recipient, _pools(swap, version)), _partner(swap), swap.permit),
        )

    return encoded


def _velora_curve_v1(swap: Swap) -> bytes:
    data = (swap.curve, 2, swap.sell, swap.buy, swap.amount, swap.minimum, swap.quote, b"\1" * 32)
    return call(
        "swapExactAmountInOnCurveV1",
        (
            "(uint256,uint256,address,address,uint256,uint256,uint256,bytes32,address)",
            *("uint256", "bytes"),
        ),
        *((*data, swap.recipient), _partner(swap), swap.permit),
    )


def _velora_curve_v2(swap: Swap) -> bytes:
    data = (swap.curve, 2, 3, EXECUTOR, swap.sell, swap.buy, swap.amount, swap.minimum, swap.quote)
    return call(
        "swapExactAmountInOnCurveV2",
        (_CURVE_V2, "uint256", "bytes"),
        *((*data, b"\1" * 32, swap.recipient), _partner(swap), swap.permit),
    )


def _sushi(swap: Swap) -> bytes:
    return call(
        "snwap",
        ("address", "uint256", "address", "address", "uint256", "address", "bytes"),
        *(swap.sell, swap.amount, swap.recipient, swap.buy, swap.minimum, EXECUTOR, b"route"),
    )


def _openocean(swap: Swap) -> bytes:
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


def zeroex(swap: Swap, *, operator: Address = EXECUTOR, inner: bytes | None = None) -> bytes:
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


def _oneinch(swap: Swap) -> bytes:
    desc = (swap.sell, swap.buy, EXECUTOR, swap.recipient, swap.amount, swap.minimum, swap.flags)
    return call(
        "swap",
        ("address", "(address,address,address,address,uint256,uint256,uint256)", "bytes"),
        *(EXECUTOR, desc, b"executor data"),
    )


def dex_word(swap: Swap, *, version: int = 2, pool: Address | None = None) -> int:
    """1inch's word for one pool: the first derived one of the pair, or `pool`."""
    derive = known_pools.v2_pairs if version == 2 else known_pools.v3_pools
    at = pool or min(derive(swap.sell, swap.buy))
    direction = 1 << 247 if int(swap.sell, 16) < int(swap.buy, 16) else 0
    return int(at, 16) | direction | (1 << 253 if version == 3 else 0)


def unoswap(swap: Swap) -> bytes:
    """1inch over one pool: it neither names the bought token nor a recipient."""
    types = ("uint256",) * 4
    dex = dex_word(swap) if swap.dex is None else swap.dex
    return call("unoswap", types, int(swap.sell, 16), swap.amount, swap.minimum, dex)


def multicall(legs: Sequence[Leg], deadline: int, minimum: int, wallet: Address) -> bytes:
    """SwapRouter02's `multicall`: one leg that pays the wallet, or legs and `sweepToken`."""
    if pays_wallet(legs):
        calls = [uniswap_leg(legs[0], minimum, wallet)]
    else:
        calls = [uniswap_leg(leg, 0, ITSELF) for leg in legs]
        sweep = (
            "sweepToken",
            ("address", "uint256", "address"),
            legs[0].tokens[-1],
            minimum,
            wallet,
        )
        calls.append(call(*sweep))
    return call("multicall", ("uint256", "bytes[]"), deadline, calls)


def uniswap_leg(leg: Leg, minimum: int, to: Address) -> bytes:
    """One call within `multicall`."""
    if not leg.fees:
        types = ("uint256", "uint256", "address[]", "address")
        return call("swapExactTokensForTokens", types, leg.amount, minimum, leg.tokens, to)
    if len(leg.fees) == 1:
        words = (*leg.tokens, leg.fees[0], to, leg.amount, minimum, 0)
        single = "(address,address,uint24,address,uint256,uint256,uint160)"
        return call("exactInputSingle", (single,), words)
    path = to_bytes(leg.tokens[0])
    for fee, token in zip(leg.fees, leg.tokens[1:], strict=True):
        path += fee.to_bytes(3) + to_bytes(token)
    return call("exactInput", ("(bytes,address,uint256,uint256)",), (path, to, leg.amount, minimum))


def _uniswap(swap: Swap) -> bytes:
    legs = [Leg(swap.amount, (swap.sell, swap.buy), (500,))]
    return multicall(legs, DEADLINE, swap.minimum, swap.recipient)


def _uniswap_legs(swap: Swap) -> bytes:
    path = (swap.sell, EXECUTOR, swap.buy)
    part = swap.amount // 3
    legs = [Leg(swap.amount - part, path), *[Leg(part, path, (500, 3000))] * bool(part)]
    return multicall(legs, DEADLINE, swap.minimum, swap.recipient)


ENCODERS: dict[str, Callable[[Swap], bytes]] = {
    "kyberswap": _kyber("swap"),
    "velora": _velora,
    "sushi": _sushi,
    "openocean": _openocean,
    "zeroex": zeroex,
    "oneinch": _oneinch,
    "uniswap": _uniswap,
}
"""By source: the method its API answers with, as a rule."""

OTHER_METHODS: dict[str, Callable[[Swap], bytes]] = {
    "swapExactAmountInOnUniswapV2": _velora_uniswap(2),
    "swapExactAmountInOnUniswapV3": _velora_uniswap(3),
    "swapExactAmountInOnCurveV1": _velora_curve_v1,
    "swapExactAmountInOnCurveV2": _velora_curve_v2,
    "legs of uniswap": _uniswap_legs,
}
"""By method: what the same routers may be called with instead."""

REFUSED_METHODS: dict[str, Callable[[Swap], bytes]] = {
    "swapGeneric": _kyber("swapGeneric"),
    "swapSimpleMode": _kyber_simple,
}
"""By method: known, and refused by its row."""

ROUTER_OF = {
    "kyberswap": VENDORS["kyberswap"].router,
    "swapGeneric": VENDORS["kyberswap"].router,
    "swapSimpleMode": VENDORS["kyberswap"].router,
    "velora": VENDORS["velora"].router,
    "swapExactAmountInOnUniswapV2": VENDORS["velora"].router,
    "swapExactAmountInOnUniswapV3": VENDORS["velora"].router,
    "swapExactAmountInOnCurveV1": VENDORS["velora"].router,
    "swapExactAmountInOnCurveV2": VENDORS["velora"].router,
    "sushi": VENDORS["sushi"].router,
    "openocean": VENDORS["openocean"].router,
    "zeroex": VENDORS["zeroex"].router,
    "oneinch": VENDORS["oneinch"].router,
    "unoswap": VENDORS["oneinch"].router,
    "uniswap": uniswap.ROUTER,
    "legs of uniswap": uniswap.ROUTER,
}
"""By source or method: the mainnet router."""
