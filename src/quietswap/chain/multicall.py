"""`aggregate3` of Multicall3: many view calls at one block (https://github.com/mds1/multicall3)."""

from collections.abc import Sequence
from dataclasses import dataclass

from quietswap.chain.address import Address
from quietswap.chain.erc20 import address_word, word
from quietswap.chain.rpc import NodeReads
from quietswap.chain.rpc_wire import MalformedResult, Result, RpcCall, hex_bytes, value

MULTICALL3 = Address("0xcA11bde05977b3631167028862bE2a173976CA11")
"""The same address on every chain."""

BLOCK_TIMESTAMP = bytes.fromhex("0f28c97d")
"""`getCurrentBlockTimestamp()` of Multicall3 itself."""

BLOCK_NUMBER = bytes.fromhex("42cbb15c")
"""`getBlockNumber()` of Multicall3 itself."""

_AGGREGATE3 = bytes.fromhex("82ad56cb")
_ETH_BALANCE = bytes.fromhex("4d2301cc")
_MAY_FAIL = word(1) + word(96)
"""`allowFailure`, and the place of the calldata."""


class MulticallDecodeError(MalformedResult):
    """The bytes are not a response of `aggregate3` to this number of calls."""


@dataclass(frozen=True, slots=True)
class ViewCall:
    target: Address
    data: bytes


def eth_balance(holder: Address) -> ViewCall:
    """Return the view that reads the ETH balance of `holder` in wei."""
    return ViewCall(MULTICALL3, _ETH_BALANCE + address_word(holder))


async def read_views(rpc: NodeReads, views: Sequence[ViewCall]) -> list[bytes | None]:
    """Return the result of each view at the latest block, as `decode`. Raises NodeUnavailable."""
    return answers((await rpc.batch([call(views)]))[0], len(views))


def call(views: Sequence[ViewCall], *, gas: int | None = None, at: str = "latest") -> RpcCall:
    """Return one eth_call for all views at block `at`, with at most `gas` for all."""
    asked = {"to": MULTICALL3, "data": "0x" + encode(views).hex()}
    if gas is not None:
        asked["gas"] = hex(gas)
    return RpcCall("eth_call", (asked, at))


def answers(result: Result, count: int) -> list[bytes | None]:
    """Return the result of each of `count` views, as `decode`. Raises NodeUnavailable."""
    return decode(hex_bytes(value(result, str)), count)


def encode(views: Sequence[ViewCall]) -> bytes:
    """Return the calldata of `aggregate3`. Each view may fail without the others."""
    tuples = [_tuple(view) for view in views]
    heads, at = [], 32 * len(tuples)
    for encoded in tuples:
        heads.append(word(at))
        at += len(encoded)
    return b"".join((_AGGREGATE3, word(32), word(len(tuples)), *heads, *tuples))


def _tuple(view: ViewCall) -> bytes:
    padded = view.data.ljust(-(-len(view.data) // 32) * 32, b"\0")
    return address_word(view.target) + _MAY_FAIL + word(len(view.data)) + padded


def decode(answer: bytes, count: int) -> list[bytes | None]:
    """Return the bytes of each of `count` views, None for a view that reverted.

    b"" means that the target has no code. Raises MulticallDecodeError.
    """
    start = _number(answer, 0)
    if _number(answer, start) != count:
        raise MulticallDecodeError("the number of results differs from the number of calls")
    first = start + 32
    return [_result(answer, first + _number(answer, first + 32 * i)) for i in range(count)]


def _result(answer: bytes, at: int) -> bytes | None:
    succeeded = _number(answer, at)
    offset = at + _number(answer, at + 32)
    length = _number(answer, offset)
    data = answer[offset + 32 : offset + 32 + length]
    if len(data) != length:
        raise MulticallDecodeError("a result ends before its length")
    return data if succeeded else None


def _number(answer: bytes, at: int) -> int:
    if at + 32 > len(answer):
        raise MulticallDecodeError("the answer ends too early")
    return int.from_bytes(answer[at : at + 32])
