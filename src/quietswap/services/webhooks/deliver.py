"""Delivery of the events of one webhook: at least once, in their order.

The cursor moves only after the receiver has confirmed an event, in the transaction that stores the
delivery. A process that is killed between the two sends the event again, with the same id.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from quietswap import observe
from quietswap.domain.webhook.retries import GONE, RETRY_AFTER_S
from quietswap.domain.webhook.state import PRUNED, DisabledReason, WebhookState
from quietswap.ports.clock import Clock
from quietswap.ports.events import EventStore, StoredEvent
from quietswap.ports.webhooks import Delivery, Webhook, WebhookStore
from quietswap.services.webhooks.attempt import Message, NotTried, WebhookCaller, new_delivery_id

_BATCH = 50
"""Events that are read at once."""


class DeliverEvents:
    """`encode` returns the JSON of an event, as the event stream has it.

    `retry_after_s` are the pauses after failed tries; after one more failure the webhook is
    disabled.
    """

    def __init__(
        self,
        webhooks: WebhookStore,
        events: EventStore,
        caller: WebhookCaller,
        clock: Clock,
        encode: Callable[[StoredEvent], bytes],
        *,
        retry_after_s: Sequence[float] = RETRY_AFTER_S,
    ) -> None:
        self._webhooks = webhooks
        self._events = events
        self._caller = caller
        self._clock = clock
        self._encode = encode
        self._retry_after_s = retry_after_s

    async def __call__(self, webhook: Webhook, most: int, seconds: float) -> None:
        """Deliver up to `most` events, until none is left or one fails. Raises StoreUnavailable.

        After `seconds` no further event is begun.
        """
        ends_at = self._clock.monotonic() + seconds
        current: Webhook | None = webhook
        while current is not None and most > 0:
            batch = await self._events.after(current.client_id, current.cursor, _BATCH)
            current = await self._without_pruned(current, batch)
            if current is None or not batch:
                return
            done = batch[0]
            for event in batch[:most]:
                current, done = await self._handle(current, event), event
                if current is None:
                    return
                if self._clock.monotonic() >= ends_at:
                    most = 0
                    break
            current = await self._passed(current, done.sequence)
            most -= len(batch)

    async def _handle(self, webhook: Webhook, event: StoredEvent) -> Webhook | None:
        """Return the webhook after an event; None if the next one must wait."""
        if webhook.events and event.type.value not in webhook.events:
            return webhook  # the cursor follows with the next delivery, or after the batch
        message = Message(event.event_id, event.type.value, event.sequence, self._encode(event))
        try:
            delivery = await self._caller.call(webhook, message, webhook.failures + 1)
        except NotTried as reason:
            next_try_ms = self._clock.now_ms() + round(reason.pause_s * 1000)
            await self._webhooks.postpone(webhook, next_try_ms)
            return None
        after = self._after(webhook, delivery)
        if not await self._webhooks.record(webhook, after, delivery):
            return None  # deleted, or another process delivers
        if after.state is WebhookState.DISABLED:
            assert after.disabled_reason
            observe.webhook_disabled(webhook.webhook_id, after.disabled_reason.value)
        return after if delivery.error is None else None

    def _after(self, webhook: Webhook, delivery: Delivery) -> Webhook:
        if delivery.error is None:
            return replace(webhook, cursor=delivery.sequence, failures=0, next_try_ms=0)
        failures = webhook.failures + 1
        reason = None
        if delivery.status == GONE:
            reason = DisabledReason.GONE
        elif failures > len(self._retry_after_s):
            reason = DisabledReason.FAILED
        if reason is not None:
            state = WebhookState.DISABLED
            return replace(webhook, failures=failures, state=state, disabled_reason=reason)
        pause_ms = round(self._retry_after_s[failures - 1] * 1000)
        return replace(webhook, failures=failures, next_try_ms=self._clock.now_ms() + pause_ms)

    async def _passed(self, webhook: Webhook, sequence: int) -> Webhook | None:
        """Move the cursor behind events that the webhook does not want."""
        if webhook.cursor == sequence:
            return webhook
        if not await self._webhooks.advance(webhook, sequence):
            return None
        return replace(webhook, cursor=sequence)

    async def _without_pruned(
        self, webhook: Webhook, batch: Sequence[StoredEvent]
    ) -> Webhook | None:
        """Report events that were pruned before their delivery, and move the cursor behind them."""
        if batch:
            last = batch[0].sequence - 1
        else:
            last = (await self._events.span(webhook.client_id)).oldest - 1
        if last <= webhook.cursor:
            return webhook
        first, now = webhook.cursor + 1, self._clock.now_ms()
        observe.webhook_events_pruned(webhook.webhook_id, first, last)
        after = replace(webhook, cursor=last, failures=0, next_try_ms=0)
        delivery = Delivery(
            delivery_id=new_delivery_id(now),
            webhook_id=webhook.webhook_id,
            event_id="",
            event_type=PRUNED,
            sequence=last,
            attempt=0,
            at_ms=now,
            ms=0,
            status=None,
            error=f"events {first} to {last} were deleted by retention before their delivery",
        )
        return after if await self._webhooks.record(webhook, after, delivery) else None
