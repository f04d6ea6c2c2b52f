"""Run a turn of a background task so that its failure does not end the task."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from quietswap import observe
from quietswap.ports.stores import StoreUnavailable

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
