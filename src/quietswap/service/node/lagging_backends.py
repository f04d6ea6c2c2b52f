"""Several backends behind one URL: one that lags answers from an older block than another did.

Such an answer is late, not false. A read is repeated until a backend answers that has the newest
block which was seen; `eth_blockNumber` in the same batch tells it.
"""

import asyncio
from collections.abc import Sequence

from quietswap.rules.chain.node_reads import HEIGHT
from quietswap.rules.chain.records import NodeBehind, NodeUnavailable
from quietswap.rules.chain.rpc_wire import (
    Result,
    RpcCall,
)
from quietswap.rules.trial.next_block import SLOT_S
from quietswap.service.base.clock import Clock
from quietswap.service.node.rpc import NodeReads

BACKENDS = 6
"""Requests until a read gives up: with 30 % of them late, 1 of 1 400 reads does."""
_PAUSE_S = 0.02
_NEWEST_S = float(SLOT_S)
"""A slot: then a node that is still behind counts as the chain, for example after a failover."""


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
        height, *results = await rpc.batch([HEIGHT, *calls])
        if HEIGHT.value(height) >= number:
            return results
    raise late(number)


def late(number: int) -> NodeBehind:
    """Return the error of a node whose backends are all behind block `number`."""
    return NodeBehind(f"the node answers from blocks before {number}, which it had shown")


async def newest_number(rpc: NodeReads) -> int:
    """Return the highest block of several backends, asked at once. Raises NodeUnavailable."""
    reads = (rpc.batch([HEIGHT]) for _ in range(BACKENDS))
    replies = await asyncio.gather(*reads, return_exceptions=True)
    heights = [HEIGHT.value(reply[0]) for reply in replies if not isinstance(reply, BaseException)]
    if not heights:
        raise NodeUnavailable("the node does not tell its newest block")
    return max(heights)
