"""Multicall3's `aggregate3`: many views at one block (https://github.com/mds1/multicall3)."""

from collections.abc import Sequence
from dataclasses import dataclass

from quietswap.adapters import chain_wire
from quietswap.adapters.erc20 import address_word, word
from quietswap.adapters.jsonrpc import JsonRpc
from quietswap.adapters.rpc_wire import Call, Result, value
from quietswap.domain.address import Address
from quietswap.ports.outside import ChainDown

MULTICALL3 = Address("0xcA11bde05977b3631167028862bE2a173976CA11")
"""The same address on every chain."""

BLOCK_TIMESTAMP = bytes.fromhex("0f28c97d")
"""`getCurrentBlockTimestamp()` of Multicall3 itself."""

_AGGREGATE3 = bytes.fromhex("82ad56cb")
_ETH_BALANCE = bytes.fromhex("4d2301cc")
_TRUE = word(1)


class BadAnswer(ValueError):
    """The bytes are not an answer of `aggregate3` to this many calls."""


@dataclass(frozen=True, slots=True)
class View:
    """One read-only call."""

    target: Address
    data: bytes


def eth_balance(holder: Address) -> View:
    """Return the view that reads `holder`'s wei at the same block as the others."""
    return View(MULTICALL3, _ETH_BALANCE + address_word(holder))


async def look(rpc: JsonRpc, views: Sequence[View]) -> list[bytes | None]:
    """Return what each view answers at the latest block, as `decode` does. Raises ChainDown."""
    return answers((await rpc.batch([call(views)]))[0], len(views))


def call(views: Sequence[View]) -> Call:
    """Return the one call that asks all views at the latest block."""
    return Call("eth_call", ({"to": MULTICALL3, "data": "0x" + encode(views).hex()}, "latest"))


def answers(result: Result, count: int) -> list[bytes | None]:
    """Return what each of `count` views answered, as `decode` does. Raises ChainDown."""
    try:
        return decode(chain_wire.octets(value(result, str)), count)
    except (chain_wire.Malformed, BadAnswer) as error:
        raise ChainDown(f"Multicall3: {error}") from error


def encode(views: Sequence[View]) -> bytes:
    """Return the calldata of `aggregate3` in which each view may fail alone."""
    tuples = [_tuple(view) for view in views]
    heads, at = [], 32 * len(tuples)
    for encoded in tuples:
        heads.append(word(at))
        at += len(encoded)
    return b"".join((_AGGREGATE3, word(32), word(len(tuples)), *heads, *tuples))


def _tuple(view: View) -> bytes:
    padded = view.data.ljust(-(-len(view.data) // 32) * 32, b"\0")
    return address_word(view.target) + _TRUE + word(96) + word(len(view.data)) + padded


def decode(answer: bytes, count: int) -> list[bytes | None]:
    """Return the bytes of each of `count` views, None for one that reverted.

    b"" means that no code answered. Raises BadAnswer.
    """
    start = _number(answer, 0)
    if _number(answer, start) != count:
        raise BadAnswer("another number of results than of calls")
    first = start + 32
    return [_result(answer, first + _number(answer, first + 32 * i)) for i in range(count)]


def _result(answer: bytes, at: int) -> bytes | None:
    succeeded = _number(answer, at)
    offset = at + _number(answer, at + 32)
    length = _number(answer, offset)
    data = answer[offset + 32 : offset + 32 + length]
    if len(data) != length:
        raise BadAnswer("a result ends before its length")
    return data if succeeded else None


def _number(answer: bytes, at: int) -> int:
    if at + 32 > len(answer):
        raise BadAnswer("the answer ends too early")
    return int.from_bytes(answer[at : at + 32])
