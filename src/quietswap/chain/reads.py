"""JSON-RPC results as domain values. An error or a malformed result raises NodeUnavailable."""

import asyncio
from collections.abc import Mapping, Sequence

from quietswap import observe
from quietswap.chain import erc20, multicall, rpc_wire
from quietswap.chain.address import Address
from quietswap.chain.chain import Block, Head, NodeUnavailable, Receipt
from quietswap.chain.rpc import NodeReads, NodeRpcClient
from quietswap.chain.rpc_wire import (
    BlockWire,
    ForksWire,
    HeaderWire,
    Result,
    RpcCall,
    RpcErrorObject,
    value,
    value_or_none,
)
from quietswap.clock import Clock


def count(wallet: Address, block: str) -> RpcCall:
    """Return the call that reads the transaction count of a wallet at `block`."""
    return RpcCall("eth_getTransactionCount", (wallet, block))


def hex_bytes(result: Result) -> bytes:
    return rpc_wire.hex_bytes(value(result, str))


def quantity(result: Result) -> int:
    """Return a number."""
    return rpc_wire.quantity(value(result, str))


def is_quantity(result: Result) -> bool:
    """Return whether a result is a number."""
    try:
        quantity(result)
    except NodeUnavailable:
        return False
    return True


def amounts(result: Result, count: int) -> list[int]:
    """Return the numbers that `count` views of one multicall returned."""
    answers = [erc20.read_uint(answer) for answer in multicall.answers(result, count)]
    known = [amount for amount in answers if amount is not None]
    if len(known) != count:
        raise NodeUnavailable("the token does not tell a balance or an allowance")
    return known


def head(result: Result) -> Head:
    """Return a block header."""
    return rpc_wire.head(value(result, HeaderWire))


def next_fork(result: Result) -> int | None:
    """Return the Unix time of the next fork; None if none is planned."""
    found = value(result, ForksWire).next
    return None if found is None else found.activation_time


def block(result: Result) -> Block | None:
    """Return a block with its transactions; None if the node does not know it."""
    wire = value_or_none(result, BlockWire)
    return None if wire is None else rpc_wire.block(wire)


def receipt(result: Result, tx_hash: str) -> Receipt | None:
    """Return a complete receipt; None if there is none."""
    if isinstance(result, RpcErrorObject):
        raise NodeUnavailable(f"the node answered error {result.code}: {result.message}")
    return rpc_wire.receipt(result, tx_hash)


def known(number: int | None) -> int:
    """Return a number that every node can tell. Raises NodeUnavailable."""
    if number is None:
        raise NodeUnavailable("the node does not tell the block or the ETH balance")
    return number


# Several backends behind one URL: one that lags answers from an older block than another before.
#
# Such an answer is late, not false. A read is repeated until a backend answers that has the newest
# block which was seen; `eth_blockNumber` in the same batch tells it.


BACKENDS = 6
"""Requests until a read gives up: with 30 % of them late, 1 of 1 400 reads does."""
_PAUSE_S = 0.02
_NEWEST_S = 12.0
"""A slot: then a node that is still behind counts as the chain, for example after a failover."""
_HEIGHT = RpcCall("eth_blockNumber")


class NewestBlock:
    """The highest block number that any answer has shown in the last slot; 0 without one."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._number, self._seen_at = 0, 0.0

    @property
    def number(self) -> int:
        return self._number if self.clock.monotonic() - self._seen_at < _NEWEST_S else 0

    def has(self, number: int) -> bool:
        """Return whether an answer from block `number` is not late, and record the number."""
        if number < self.number:
            return False
        self._number, self._seen_at = number, self.clock.monotonic()
        return True


async def pause(clock: Clock, attempt: int) -> None:
    """Wait before request `attempt`, from 0: the second follows at once, later pauses double."""
    if attempt > 1:
        await clock.sleep(_PAUSE_S * 2 ** (attempt - 2))


async def from_block(
    rpc: NodeReads, clock: Clock, number: int, calls: Sequence[RpcCall]
) -> list[Result]:
    """Return the results of a backend that has block `number`. Raises NodeUnavailable."""
    for attempt in range(BACKENDS):
        await pause(clock, attempt)
        height, *results = await rpc.batch([_HEIGHT, *calls])
        if quantity(height) >= number:
            return results
    raise late(number)


def late(number: int) -> NodeUnavailable:
    """Return the error of a node whose backends are all behind block `number`."""
    return NodeUnavailable(f"the node answers from blocks before {number}, which it had shown")


async def newest_number(rpc: NodeReads) -> int:
    """Return the highest block of several backends, asked at once. Raises NodeUnavailable."""
    asked = (rpc.batch([_HEIGHT]) for _ in range(BACKENDS))
    replies = await asyncio.gather(*asked, return_exceptions=True)
    heights = [quantity(reply[0]) for reply in replies if not isinstance(reply, BaseException)]
    if not heights:
        raise NodeUnavailable("the node does not tell its newest block")
    return max(heights)


# Receipts in batches that shrink, because the sender of a transaction decides how large one is.
#
# A transaction of 2**24 gas can write about 2 MB of logs, which is 4 MB of JSON. A few of them
# exceed the largest body that is read, or the largest batch that a node answers.


async def read_receipts(
    rpc: NodeRpcClient, tx_hashes: Sequence[str], batch_size: int, newest: NewestBlock
) -> Mapping[str, Receipt | None]:
    """Return receipts by hash, None where there is none; unreadable ones are left out.

    After a failed batch the node must answer a small call; then the batches that follow have half
    the size. So at most log2(`batch_size`) batches fail, and one more for each unreadable receipt.
    Each other batch has at least one receipt. Raises NodeUnavailable if the small call fails, too,
    and if receipts are missing in all backends' answers because these are late.
    """
    found: dict[str, Receipt | None] = {}
    unread: dict[str, str] = {}
    waiting, size, tries = list(tx_hashes), batch_size, 0
    while waiting:
        piece, waiting = waiting[:size], waiting[size:]
        try:
            height, *results = await rpc.batch([_HEIGHT, *(_call(tx_hash) for tx_hash in piece)])
            is_late = not newest.has(quantity(height))
        except NodeUnavailable as error:
            await _probe(rpc)
            if len(piece) > 1:
                waiting = piece + waiting
                size = len(piece) // 2
            else:
                unread[piece[0]] = str(error)
            continue
        refused = _keep(piece, results, found)
        missing = [one for one in piece if is_late and found.get(one, ...) is None]
        if missing:
            tries += 1
            if tries == BACKENDS:
                raise late(newest.number)
            await pause(newest.clock, tries)
            waiting = [*missing, *waiting]
        if len(refused) < len(piece):
            waiting = [*refused, *waiting]
        else:
            await _probe(rpc)
            unread |= refused
    if unread:
        observe.receipts_unread(unread)
    return found


def _call(tx_hash: str) -> RpcCall:
    return RpcCall("eth_getTransactionReceipt", (tx_hash,))


async def _probe(rpc: NodeRpcClient) -> None:
    quantity(await rpc.call("eth_blockNumber"))


def _keep(
    piece: Sequence[str], results: Sequence[Result], found: dict[str, Receipt | None]
) -> dict[str, str]:
    """Add the receipts to `found`. Return the refused hashes with the reason, to be asked again.

    A node that limits the bytes of a batch answers its first calls, and the others with errors
    (`rpc.batch-response-max-size` of geth).
    """
    refused: dict[str, str] = {}
    for tx_hash, result in zip(piece, results, strict=True):
        if isinstance(result, RpcErrorObject):
            refused[tx_hash] = f"the node answered error {result.code}: {result.message}"
        else:
            found[tx_hash] = receipt(result, tx_hash)
    return refused
