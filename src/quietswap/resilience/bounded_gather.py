"""Bounded gather: run one coroutine per item, a limited number at the same time."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import TypeVar

T = TypeVar("T")


async def bounded_gather(
    items: Collection[T], work: Callable[[T], Awaitable[None]], *, limit: int
) -> None:
    """Run `work` for each item, at most `limit` at a time, in the order of the items.

    An exception stops no other item. The first one is raised after all items have ended.
    """
    waiting = iter(items)
    errors: list[Exception] = []

    async def worker() -> None:
        for item in waiting:
            try:
                await work(item)
            except Exception as error:  # noqa: BLE001  raised below
                errors.append(error)

    await asyncio.gather(*(worker() for _ in range(min(limit, len(items)))))
    if errors:
        raise errors[0]
