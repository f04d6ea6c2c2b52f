"""Calldata of the mainnet routers, encoded by eth-abi from their signatures: the oracle."""

from collections.abc import Callable
from dataclasses import dataclass

from eth_abi.abi import encode

from quietswap.domain.address import Address
from quietswap.domain.crypto import keccak256

NOBODY = Address("0x" + "0" * 40)
EXECUTOR = Address("0xbBBBBbbBBBBbbbBbBbbbbBBbBbbbbBbBbbBBbBBB")


@dataclass(frozen=True)
class Swap:
    """The terms a test wants written; `recipient` as the router has it."""

    sell: Address
    buy: Address
    amount: int
    minimum: int
    recipient: Address
    flags: int = 0
    fee_bps: int = 0


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
    parties: tuple[object, ...] = ([EXECUTOR], [swap.amount], [], [])
    terms = (swap.recipient, swap.amount, swap.minimum, swap.flags, b"")
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
    return int(EXECUTOR, 16) << 96 | 1 << 91 | swap.fee_bps


def _velora(swap: Swap) -> bytes:
    data = (swap.sell, swap.buy, swap.amount, swap.minimum, swap.minimum + 7, b"\1" * 32)
    return call(
        "swapExactAmountIn",
        (
            "address",
            "(address,address,uint256,uint256,uint256,bytes32,address)",
            *("uint256", "bytes", "bytes"),
        ),
        *(EXECUTOR, (*data, swap.recipient), _partner(swap), b"", b"executor data"),
    )


def _velora_uniswap(version: int) -> Callable[[Swap], bytes]:
    def encoded(swap: Swap) -> bytes:
        data = (swap.sell, swap.buy, swap.amount, swap.minimum, swap.minimum + 7, b"\1" * 32)
        return call(
            f"swapExactAmountInOnUniswapV{version}",
            (
                "(address,address,uint256,uint256,uint256,bytes32,address,bytes)",
                *("uint256", "bytes"),
            ),
            *((*data, swap.recipient, b"pools"), _partner(swap), b""),
        )

    return encoded


def _velora_curve_v1(swap: Swap) -> bytes:
    data = (1, 2, swap.sell, swap.buy, swap.amount, swap.minimum, swap.minimum + 7, b"\1" * 32)
    return call(
        "swapExactAmountInOnCurveV1",
        (
            "(uint256,uint256,address,address,uint256,uint256,uint256,bytes32,address)",
            *("uint256", "bytes"),
        ),
        *((*data, swap.recipient), _partner(swap), b""),
    )


def _velora_curve_v2(swap: Swap) -> bytes:
    data = (1, 2, 3, EXECUTOR, swap.sell, swap.buy, swap.amount, swap.minimum, swap.minimum + 7)
    return call(
        "swapExactAmountInOnCurveV2",
        (_CURVE_V2, "uint256", "bytes"),
        *((*data, b"\1" * 32, swap.recipient), _partner(swap), b""),
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


def unoswap(swap: Swap) -> bytes:
    """1inch over one pool: it neither names the bought token nor a recipient."""
    types = ("uint256",) * 4
    sell = 1 << 255 | int(swap.sell, 16)
    return call("unoswap", types, sell, swap.amount, swap.minimum, 1 << 253)


ENCODERS: dict[str, Callable[[Swap], bytes]] = {
    "kyberswap": _kyber("swap"),
    "velora": _velora,
    "sushi": _sushi,
    "openocean": _openocean,
    "zeroex": zeroex,
    "oneinch": _oneinch,
}
"""By source: the method its API answers with, as a rule."""

OTHER_METHODS: dict[str, Callable[[Swap], bytes]] = {
    "swapGeneric": _kyber("swapGeneric"),
    "swapSimpleMode": _kyber_simple,
    "swapExactAmountInOnUniswapV2": _velora_uniswap(2),
    "swapExactAmountInOnUniswapV3": _velora_uniswap(3),
    "swapExactAmountInOnCurveV1": _velora_curve_v1,
    "swapExactAmountInOnCurveV2": _velora_curve_v2,
}
"""By method: what the same routers may be called with instead."""
