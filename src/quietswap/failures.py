"""The error of a read whose node or database does not answer."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from quietswap import observe
from quietswap.chain.chain import NodeUnavailable
from quietswap.errors.base import ServiceUnavailable
from quietswap.orders.stores import StoreUnavailable


@contextmanager
def service_unavailable() -> Iterator[None]:
    """Turn NodeUnavailable and StoreUnavailable into ServiceUnavailable: nothing has been sent."""
    try:
        yield
    except NodeUnavailable as error:
        raise ServiceUnavailable("the Ethereum node does not answer") from error
    except StoreUnavailable as error:
        raise ServiceUnavailable("the database does not answer") from error


# Run a turn of a background task so that its failure does not end the task.


Result = TypeVar("Result")


async def guarded(
    task: str, turn: Callable[[], Awaitable[Result]], unavailable: Callable[[str], None]
) -> Result | None:
    """Return the result of one turn, None if it failed.

    `unavailable` is called with the reason if the store does not answer. Any other failure is
    logged under the name `task`.
    """
    try:
        return await turn()
    except StoreUnavailable as error:
        unavailable(str(error))
    except Exception as fault:  # noqa: BLE001  logged; the next turn begins anew
        observe.background_task_failed(task, fault)
    return None
