"""The error of a read whose node or database does not answer."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from quietswap import observe
from quietswap.chain.chain import ChainReader, NodeUnavailable
from quietswap.chain.fees import FORK_MARGIN_S
from quietswap.clock import Clock
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


async def require_no_fork(chain: ChainReader, clock: Clock) -> None:
    """Raise ServiceUnavailable shortly before a fork: gas limits would follow the old rules."""
    fork_s, now_s = await chain.next_fork(), clock.now_ms() // 1000
    if fork_s is not None and now_s < fork_s <= now_s + FORK_MARGIN_S:
        text = "the rules of Ethereum change within minutes, and with them what gas is needed"
        raise ServiceUnavailable(
            text, {"forkAt": fork_s}, "Try again after the fork. Cancels work at any time."
        )


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
