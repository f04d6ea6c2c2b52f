"""What every use case refuses alike: no node or database, a fork within minutes, a limit."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from quietswap.rules.chain.records import ChainReader, NodeUnavailable
from quietswap.rules.clients import ApiKey, day_of
from quietswap.rules.errors.base import ServiceUnavailable
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.fees import FORK_MARGIN_S
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.storage.client_usage import UsageStore


@contextmanager
def service_unavailable() -> Iterator[None]:
    """Turn NodeUnavailable and StoreUnavailable into ServiceUnavailable: nothing has been sent."""
    try:
        yield
    except (NodeUnavailable, StoreUnavailable) as error:
        raise ServiceUnavailable(error.for_caller) from error


async def require_no_fork(chain: ChainReader, now_s: int) -> None:
    """Raise ServiceUnavailable shortly before a fork: gas limits would follow the old rules.

    `now_s` is the time of the newest block: blocks follow new rules by their own time.
    """
    fork_s = await chain.next_fork(now_s)
    if fork_s is not None and fork_s <= now_s + FORK_MARGIN_S:
        text = "the rules of Ethereum change within minutes, and with them what gas is needed"
        raise ServiceUnavailable(
            text, "Try again after the fork. Cancels work at any time.", fork_at=fork_s
        )


async def require_within_limits(
    usage: UsageStore, clock: Clock, key: ApiKey, wallet: Address, *tokens: Address
) -> None:
    """Refuse a quote that the limits of its client do not allow, before any source is asked.

    The store checks the same limits once more when it counts the quote: only there is the count
    exact.
    """
    limits = key.limits
    if limits is None:
        return
    limits.check_trade(wallet, tokens)
    if limits.quotes_per_day is not None:
        now = clock.now_ms()
        used = await usage.day(key.client_id, day_of(now))
        limits.check_quotes(used.quotes + 1, now)


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
