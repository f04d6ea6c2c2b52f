"""Background tasks of a process: the order tracker, the retention job, webhooks and watches."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace

from quietswap.rules.orders.tracking import TrackingRules
from quietswap.rules.time_units import DAY_MS
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.clients.failures import guarded
from quietswap.service.clients.keys import Authenticate
from quietswap.service.orders.retention import RetentionJob
from quietswap.service.orders.tracking.tracker import OrderTracker
from quietswap.service.orders.tracking.worker import TrackerWorker
from quietswap.service.relays.shared_health import SharedRelayHealth
from quietswap.service.server import factories
from quietswap.service.server.container import Container
from quietswap.service.server.shutdown import run_until_end
from quietswap.service.server.web import make_sessions
from quietswap.service.server.webhooks import make_delivery
from quietswap.service.settings import TrackingConfig
from quietswap.service.watches.follow import FollowWatches

_STOP_S = 3.0
"""Time for a running tracking cycle at shutdown. After it, the next leader reads the database."""
_RETENTION_EVERY_S = 60.0
_NEXT_BATCH_S = 0.1
_HEALTH_EVERY_S = 1.0
_KEY_USES_EVERY_S = 60.0
_USUAL_WAIT_EVERY_S = 60.0


def start_tracking(
    parts: Container, clock: Clock, stack: AsyncExitStack
) -> Callable[[], Awaitable[None]]:
    """Start the tracker, the retention job, webhooks and watches. Return what stops them.

    `stack` also stops them at its end. Nothing starts if `tracking.enabled` is false: another
    process then tracks the orders.
    """
    tracking = parts.settings.tracking
    observe.tracker_standing_by(is_enabled=tracking.enabled)
    if not tracking.enabled:
        return _nothing
    outside = parts.outside
    rules = replace(
        tracking_rules(tracking),
        backup_after=parts.settings.relay.backup_after_blocks,
        backup_endpoints=factories.backup_endpoints(outside.relays),
    )
    tracker = OrderTracker(
        parts.storage.orders, outside.chain, outside.relays, clock, rules, prices=outside.pools
    )
    worker = TrackerWorker(tracker, parts.storage.leadership, clock, poll_s=tracking.poll_s)
    following = asyncio.create_task(worker.run())
    keeping = asyncio.create_task(_delete_old_data(parts, clock))
    caller = parts.outside.webhooks.delivering
    webhooks = make_delivery(parts.settings, parts.storage, caller, clock)
    delivering = asyncio.create_task(webhooks.run())
    watching = asyncio.create_task(_watches(parts, clock).run())

    async def stop() -> None:
        for task in (keeping, delivering, watching):
            task.cancel()
        worker.stop()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(following, _STOP_S)
        await asyncio.gather(keeping, delivering, watching, return_exceptions=True)

    stack.push_async_callback(stop)
    return stop


def _watches(parts: Container, clock: Clock) -> FollowWatches:
    return FollowWatches(
        watches=parts.storage.watches,
        own_amount=parts.use.watches.price.own_amount,
        leadership=parts.storage.leadership,
        clock=clock,
        chain_clock=parts.outside.chain.time,
    )


def tracking_rules(settings: TrackingConfig) -> TrackingRules:
    """Return the tracker's rules under the settings."""
    return TrackingRules(
        confirmations=settings.confirmations,
        resend_every=settings.resend_every_blocks,
        backstop_every=settings.backstop_every_blocks,
    )


def start_relay_health(parts: Container, clock: Clock, stack: AsyncExitStack) -> None:
    """Share the health of relays with other processes until the end of `stack`, if there may be
    any: only with a shared rate store.
    """
    if parts.storage.shared_rates is None:
        return
    relays = parts.outside.relays.values()
    health = SharedRelayHealth(parts.storage.relay_health, relays, clock)

    async def keep() -> None:
        while True:
            await guarded("relay_health", health.exchange, lambda _: None)
            await clock.sleep(_HEALTH_EVERY_S)

    run_until_end(stack, keep())


def start_key_uses(parts: Container, clock: Clock, stack: AsyncExitStack) -> None:
    """Store the last use of API keys once a minute, and once more at the end of `stack`."""
    authenticate = parts.use.authenticate
    assert isinstance(authenticate, Authenticate)

    async def store() -> None:
        await guarded("key_uses", authenticate.store_uses, observe.key_uses_kept)

    async def keep() -> None:
        while True:
            await clock.sleep(_KEY_USES_EVERY_S)
            await store()

    run_until_end(stack, keep(), store)


def start_usual_wait(parts: Container, clock: Clock, stack: AsyncExitStack) -> None:
    """Read once a minute how long orders wait, so that the answer to an order reads nothing."""
    inclusion = parts.use.inclusion

    async def keep() -> None:
        while True:
            await guarded("usual_wait", inclusion.refresh, lambda _: None)
            await clock.sleep(_USUAL_WAIT_EVERY_S)

    run_until_end(stack, keep())


async def _nothing() -> None:
    pass


async def _delete_old_data(parts: Container, clock: Clock) -> None:
    """Delete expired quotes and old signed bytes, in the process that is the tracking leader."""
    days = parts.settings.storage.orders_kept_days
    keep = RetentionJob(
        quotes=parts.storage.quotes,
        orders=parts.storage.orders,
        events=parts.storage.events,
        watches=parts.storage.watches,
        clock=clock,
        orders_kept_ms=None if days is None else days * DAY_MS,
        events_kept_ms=parts.settings.storage.events_kept_days * DAY_MS,
    )
    sessions = make_sessions(parts.settings, parts.storage, clock)

    async def batch() -> bool:
        return parts.storage.leadership.is_held and any([await keep(), await sessions.purge()])

    def waiting(reason: str) -> None:
        observe.tracker_waiting(f"StoreDown: {reason}")

    while True:
        more = await guarded("retention", batch, waiting)
        await clock.sleep(_NEXT_BATCH_S if more else _RETENTION_EVERY_S)
