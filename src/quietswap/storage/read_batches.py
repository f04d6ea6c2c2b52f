"""Concurrent calls of a short read share one statement, on either database."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from quietswap.concurrency import CallBatcher
from quietswap.orders.stores import StoreUnavailable
from quietswap.storage.database import BatchedRead, Row, Value

Calls = Sequence[Sequence[Value]]
"""The arguments of each call."""


class ReadBatches:
    """One CallBatcher for each read.

    `answer` gets a read, its calls, and the loop's time (s) at the oldest one; it returns the rows
    of each call. With `limit` calls waiting, a further one fails with the message `too_many`.
    """

    def __init__(
        self,
        answer: Callable[[BatchedRead, Calls, float], Awaitable[Sequence[Sequence[Row]]]],
        limit: int,
        too_many: str,
    ) -> None:
        self._answer = answer
        self._limit = limit
        self._too_many = too_many
        self._batchers: dict[BatchedRead, CallBatcher[Sequence[Value], Sequence[Row]]] = {}
        self._calls = 0

    async def look_up(self, read: BatchedRead, args: Sequence[Value]) -> Sequence[Row]:
        """Return the rows of one call. Raises StoreUnavailable, and what `answer` raises."""
        if self._calls >= self._limit:
            raise StoreUnavailable(self._too_many)
        batcher = self._batchers.get(read)
        if batcher is None:
            answer = partial(self._answer, read)
            batcher = self._batchers[read] = CallBatcher(answer, read.at_once)
        self._calls += 1
        try:
            return await batcher(args)
        finally:
            self._calls -= 1
