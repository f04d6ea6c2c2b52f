"""The tasks behind the requests: the tracker, and retention beside it."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from quietswap import observe
from quietswap.app.parts import Parts
from quietswap.domain.tracking import TrackingRules
from quietswap.ports.outside import Clock
from quietswap.ports.stores import StoreDown
from quietswap.services.keep_house import KeepHouse
from quietswap.services.track_orders import TrackOrders
from quietswap.worker import Worker

_STOP_S = 3.0
"""How long a turn under way may go on: cut short, the next process begins from the database."""
_HOUSEKEEPING_S = 60.0
_NEXT_BATCH_S = 0.1


def start_tracking(
    parts: Parts, clock: Clock, stack: AsyncExitStack
) -> Callable[[], Awaitable[None]]:
    """Start the tracker and retention; return what ends them, which `stack` does at the latest.

    Nothing starts where `tracking.enabled` is off: another process follows the orders.
    """
    tracking = parts.settings.tracking
    observe.tracker_standing_by(is_enabled=tracking.enabled)
    if not tracking.enabled:
        return _nothing
    rules = TrackingRules(
        confirmations=tracking.confirmations,
        resend_every=tracking.resend_every_blocks,
        backstop_every=tracking.backstop_every_blocks,
    )
    tracker = TrackOrders(
        parts.storage.orders, parts.outside.chain, parts.outside.relays, clock, rules
    )
    worker = Worker(tracker, parts.storage.leadership, clock, poll_s=tracking.poll_s)
    following = asyncio.create_task(worker.run())
    keeping = asyncio.create_task(_keep_house(parts, clock))

    async def stop() -> None:
        keeping.cancel()
        worker.stop()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(following, _STOP_S)
        await asyncio.gather(keeping, return_exceptions=True)

    stack.push_async_callback(stop)
    return stop


async def _nothing() -> None:
    pass


async def _keep_house(parts: Parts, clock: Clock) -> None:
    """Clear old quotes and bytes, only where the tracker leads: one process is enough."""
    keep = KeepHouse(parts.storage.quotes, parts.storage.orders, clock)
    while True:
        more = False
        try:
            more = parts.storage.leadership.is_held and await keep()
        except StoreDown as error:
            observe.tracker_waiting(f"StoreDown: {error}")
        await clock.sleep(_NEXT_BATCH_S if more else _HOUSEKEEPING_S)
