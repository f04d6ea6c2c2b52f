"""Many calls at one block, in one `eth_call`.

`aggregate3` of Multicall3 gives each view all gas that is left
(https://github.com/mds1/multicall3). Uniswap's own multicall gives each call its limit, and returns
what it used, so one that burns all it gets leaves the others theirs
(https://github.com/Uniswap/v3-periphery/blob/main/contracts/lens/UniswapInterfaceMulticall.sol).
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.chain.rpc_wire import Json, MalformedResult, NodeCall, octets
from quietswap.rules.tokens import erc20
from quietswap.rules.tokens.erc20 import address_word, word
from quietswap.rules.tx.address import Address
from quietswap.service.node.rpc import NodeReads, ask

MULTICALL3 = Address("0xcA11bde05977b3631167028862bE2a173976CA11")
"""The same address on every chain."""
BLOCK_TIMESTAMP = bytes.fromhex("0f28c97d")
"""`getCurrentBlockTimestamp()` of Multicall3 itself."""
BLOCK_NUMBER = bytes.fromhex("42cbb15c")
"""`getBlockNumber()` of Multicall3 itself."""
LIMITED = Address("0x1F98415757620B543A52E61c46B32eB19261F984")
"""UniswapInterfaceMulticall (https://docs.uniswap.org/contracts/v3/reference/deployments)."""
_LIMITED = bytes.fromhex("1749e1e3")
_LIMITED_BASE, _LIMITED_EACH = 100_000, 20_000
"""Gas of the multicall itself, and for each call, which keeps a 64th of what is left."""
_AGGREGATE3 = bytes.fromhex("82ad56cb")
_ETH_BALANCE = bytes.fromhex("4d2301cc")
_OWN_GAS = 1_000_000
_MAY_FAIL = word(1) + word(96)
"""`allowFailure`, and the place of the calldata."""


Answers = list[bytes | None]
"""The bytes of each view: None if it reverted, b"" where the target has no code."""


class ViewCall(NamedTuple):
    target: Address
    data: bytes


class LimitedCall(NamedTuple):
    target: Address
    gas: int
    data: bytes


class LimitedAnswer(NamedTuple):
    """What a call returned, None if it reverted or ran out of gas, and the gas that it used."""

    data: bytes | None
    gas: int


def eth_balance(holder: Address) -> ViewCall:
    """Return the view that reads the ETH balance of `holder` in wei."""
    return ViewCall(MULTICALL3, _ETH_BALANCE + address_word(holder))


async def read_views(
    rpc: NodeReads, views: Sequence[ViewCall], *, gas: int | None = None
) -> Answers:
    """Return the result of each view at the latest block. Raises NodeUnavailable."""
    return await ask(rpc, call(views, gas=gas))


async def require_runs(rpc: NodeReads) -> None:
    """Raise NodeUnavailable if the node cannot run Multicall3 itself: no token is to blame then."""
    try:
        await ask(rpc, call([ViewCall(MULTICALL3, BLOCK_NUMBER)], gas=_OWN_GAS))
    except NodeUnavailable as error:
        raise NodeUnavailable(f"the node cannot run Multicall3: {error}") from error


def call(
    views: Sequence[ViewCall], *, gas: int | None = None, at: str = "latest"
) -> NodeCall[Answers]:
    """Return one eth_call for all views at block `at`, with at most `gas` for all.

    Each view may fail without the others.
    """
    tuples = [
        bytes(12) + bytes.fromhex(target[2:]) + _MAY_FAIL + _padded(data) for target, data in views
    ]
    params = {"to": MULTICALL3, "data": _calldata(_AGGREGATE3, tuples)}
    if gas is not None:
        params["gas"] = hex(gas)
    return NodeCall("eth_call", (params, at), partial(_answers, len(views)))


def limited_call(calls: Sequence[LimitedCall]) -> NodeCall[list[LimitedAnswer]]:
    """Return one eth_call, at the latest block, for calls with a gas limit each."""
    tuples = [
        bytes(12) + bytes.fromhex(target[2:]) + word(gas) + word(96) + _padded(data)
        for target, gas, data in calls
    ]
    gas_limits = sum(each.gas for each in calls) * 65 // 64
    params = {
        "to": LIMITED,
        "data": _calldata(_LIMITED, tuples),
        "gas": hex(_LIMITED_BASE + _LIMITED_EACH * len(calls) + gas_limits),
    }
    return NodeCall("eth_call", (params, "latest"), partial(_limited_answers, len(calls)))


def _padded(data: bytes) -> bytes:
    return len(data).to_bytes(32) + data + bytes(-len(data) % 32)


def _calldata(selector: bytes, tuples: Sequence[bytes]) -> str:
    """Return the calldata of a method whose only argument is an array of dynamic tuples."""
    heads, place = [], 32 * len(tuples)
    for each in tuples:
        heads.append(place.to_bytes(32))
        place += len(each)
    return "0x" + b"".join((selector, word(32), word(len(tuples)), *heads, *tuples)).hex()


def _answers(count: int, raw: Json) -> Answers:
    answer = octets(raw)
    rows = _rows(answer, int.from_bytes(answer[:32]), count, data_at=1)
    return [data if succeeded else None for succeeded, _, data in rows]


def amounts(answers: Answers) -> list[int]:
    """Return the numbers that views returned. Raises NodeUnavailable unless each has one."""
    numbers = [amount for amount in map(erc20.read_uint, answers) if amount is not None]
    if len(numbers) != len(answers):
        raise NodeUnavailable("the token does not tell a balance or an allowance")
    return numbers


def _limited_answers(count: int, raw: Json) -> list[LimitedAnswer]:
    answer = octets(raw)
    rows = _rows(answer, int.from_bytes(answer[32:64]), count, data_at=2)
    return [LimitedAnswer(data if succeeded else None, gas) for succeeded, gas, data in rows]


def _rows(
    answer: bytes, start: int, count: int, *, data_at: int
) -> Iterator[tuple[bool, int, bytes]]:
    """Yield the first two words of each tuple of the array at `start`, and its bytes.

    The offset of the bytes is the tuple's word number `data_at`. Raises MalformedResult.
    """
    first = start + 32
    if len(answer) < first:
        raise MalformedResult("the answer ends too early")
    if int.from_bytes(answer[start:first]) != count:
        raise MalformedResult("the number of results differs from the number of calls")
    for head in range(first, first + 32 * count, 32):
        at = first + int.from_bytes(answer[head : head + 32])
        place = at + 32 * data_at
        offset = at + int.from_bytes(answer[place : place + 32])
        length = int.from_bytes(answer[offset : offset + 32])
        data = answer[offset + 32 : offset + 32 + length]
        if max(head, place, offset) + 32 > len(answer):
            raise MalformedResult("the answer ends too early")
        if len(data) != length:
            raise MalformedResult("a result ends before its length")
        yield (
            bool(int.from_bytes(answer[at : at + 32])),
            int.from_bytes(answer[at + 32 : at + 64]),
            data,
        )
