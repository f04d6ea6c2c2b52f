"""`aggregate3` of Multicall3: many view calls at one block (https://github.com/mds1/multicall3)."""

from collections.abc import Sequence
from typing import NamedTuple

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


class ViewCall(NamedTuple):
    target: Address
    data: bytes


def eth_balance(holder: Address) -> ViewCall:
    """Return the view that reads the ETH balance of `holder` in wei."""
    return ViewCall(MULTICALL3, _ETH_BALANCE + address_word(holder))


async def read_views(rpc: NodeReads, views: Sequence[ViewCall]) -> list[bytes | None]:
    """Return the result of each view at the latest block, as `answers`. Raises NodeUnavailable."""
    return answers((await rpc.batch([call(views)]))[0], len(views))


def call(views: Sequence[ViewCall], *, gas: int | None = None, at: str = "latest") -> RpcCall:
    """Return one eth_call for all views at block `at`, with at most `gas` for all.

    Each view may fail without the others.
    """
    heads, tuples, place = [], [], 32 * len(views)
    for target, data in views:
        size = len(data)
        padded = size.to_bytes(32) + data + bytes(-size % 32)
        tuples.append(bytes(12) + bytes.fromhex(target[2:]) + _MAY_FAIL + padded)
        heads.append(place.to_bytes(32))
        place += len(tuples[-1])
    calldata = b"".join((_AGGREGATE3, word(32), word(len(views)), *heads, *tuples))
    asked = {"to": MULTICALL3, "data": "0x" + calldata.hex()}
    if gas is not None:
        asked["gas"] = hex(gas)
    return RpcCall("eth_call", (asked, at))


def answers(result: Result, count: int) -> list[bytes | None]:
    """Return the bytes of each of `count` views, None for a view that reverted.

    b"" means that the target has no code. Raises NodeUnavailable.
    """
    answer = hex_bytes(value(result, str))
    start = int.from_bytes(answer[:32])
    first = start + 32
    if len(answer) < first:
        raise MalformedResult("the answer ends too early")
    if int.from_bytes(answer[start:first]) != count:
        raise MalformedResult("the number of results differs from the number of calls")
    found: list[bytes | None] = []
    for head in range(first, first + 32 * count, 32):
        at = first + int.from_bytes(answer[head : head + 32])
        offset = at + int.from_bytes(answer[at + 32 : at + 64])
        length = int.from_bytes(answer[offset : offset + 32])
        data = answer[offset + 32 : offset + 32 + length]
        if max(head, at + 32, offset) + 32 > len(answer):
            raise MalformedResult("the answer ends too early")
        if len(data) != length:
            raise MalformedResult("a result ends before its length")
        found.append(data if int.from_bytes(answer[at : at + 32]) else None)
    return found
