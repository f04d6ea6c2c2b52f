"""Delivery of the events of one webhook: at least once, in their order.

The cursor moves only after the receiver has confirmed an event, in the transaction that stores the
delivery. A process that is killed between the two sends the event again, with the same id.
"""

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count

from quietswap.rules.orders.stores import LeaderLock, StoreUnavailable
from quietswap.rules.webhooks.webhook import (
    GONE,
    PRUNED,
    RETRY_AFTER_S,
    Delivery,
    DeliveryFailed,
    DisabledReason,
    SenderBusy,
    Webhook,
    WebhookState,
    WebhookUrlRefused,
    is_success,
)
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.clients.failures import guarded
from quietswap.service.storage.event_rows import ClientEvent
from quietswap.service.storage.events import EventStore
from quietswap.service.storage.webhooks import WebhookStore
from quietswap.service.webhooks.secrets import SecretBox, SecretUnreadable, signed_headers
from quietswap.service.webhooks.sender import WebhookSender

_SECRET_PAUSE_S = 60.0
"""Until the operator has put the key back and started the service again."""
_BUSY_PAUSE_S = 5.0
_serial = count()


class NotTried(Exception):
    """No request was sent, for a reason that lies in this service: it is no failed try.

    `pause_s` are the seconds until it may be sent.
    """

    def __init__(self, reason: str, pause_s: float) -> None:
        super().__init__(reason)
        self.pause_s = pause_s


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent: the id of the event, its type and sequence, and its JSON."""

    event_id: str
    event_type: str
    sequence: int
    body: bytes


def untried(webhook: Webhook, message: Message, at_ms: int, reason: str | None = None) -> Delivery:
    """Return the record of a message that was not sent.

    Its id sorts by time, and in one process within a millisecond, too.
    """
    return Delivery(
        delivery_id=f"dlv_{at_ms:012x}{next(_serial) & 0xFFFF:04x}{secrets.token_hex(4)}",
        webhook_id=webhook.webhook_id,
        event_id=message.event_id,
        event_type=message.event_type,
        sequence=message.sequence,
        attempt=1,
        at_ms=at_ms,
        ms=0,
        status=None,
        error=reason,
    )


@dataclass(frozen=True, slots=True)
class WebhookCaller:
    sender: WebhookSender
    box: SecretBox
    clock: Clock

    async def call(self, webhook: Webhook, message: Message, attempt: int) -> Delivery:
        """Send once and return the result; every failure of the receiver is a result.

        Raises NotTried.
        """
        started, at_ms = self.clock.monotonic(), self.clock.now_ms()
        status, error = await self._send(webhook, message, at_ms)
        seconds = self.clock.monotonic() - started
        observe.webhook_called(webhook.webhook_id, message.event_type, status, error, seconds)
        plain = untried(webhook, message, at_ms)
        ms = round(seconds * 1000)
        return replace(plain, attempt=attempt, ms=ms, status=status, error=error)

    async def _send(
        self, webhook: Webhook, message: Message, at_ms: int
    ) -> tuple[int | None, str | None]:
        try:
            secret, client_id = self.box.open(webhook.webhook_id, webhook.secret), webhook.client_id
            headers = signed_headers(secret, message.event_id, at_ms, message.body)
            status = await self.sender.post(webhook.url, headers, message.body, client_id=client_id)
        except SecretUnreadable as error:
            observe.webhook_secret_unreadable(webhook.webhook_id, str(error))
            reason = f"the secret cannot be decrypted: {error}"
            raise NotTried(reason, _SECRET_PAUSE_S) from None
        except SenderBusy as error:
            observe.webhook_postponed(webhook.webhook_id, str(error))
            raise NotTried(str(error), _BUSY_PAUSE_S) from None
        except WebhookUrlRefused as error:
            return None, f"the URL is refused: {error}"
        except DeliveryFailed as error:
            return None, str(error)
        return status, None if is_success(status) else f"the receiver answered HTTP {status}"


_BATCH = 50
"""Events that are read at once."""


@dataclass(frozen=True, slots=True)
class DeliverEvents:
    """`encode` returns the JSON of an event, as the event stream has it.

    `retry_after_s` are the pauses after failed tries; after one more failure the webhook is
    disabled.
    """

    webhooks: WebhookStore
    events: EventStore
    caller: WebhookCaller
    clock: Clock
    encode: Callable[[ClientEvent], bytes]
    retry_after_s: Sequence[float] = RETRY_AFTER_S

    async def __call__(self, webhook: Webhook, most: int, seconds: float) -> None:
        """Deliver up to `most` events, until none is left or one fails. Raises StoreUnavailable.

        After `seconds` no further event is begun.
        """
        ends_at = self.clock.monotonic() + seconds
        current: Webhook | None = webhook
        while current is not None and most > 0:
            batch = await self.events.after(current.client_id, current.cursor, _BATCH)
            current = await self._without_pruned(current, batch)
            if current is None or not batch:
                return
            done = batch[0]
            for event in batch[:most]:
                current, done = await self._handle(current, event), event
                if current is None:
                    return
                if self.clock.monotonic() >= ends_at:
                    most = 0
                    break
            current = await self._passed(current, done.sequence)
            most -= len(batch)

    async def _handle(self, webhook: Webhook, event: ClientEvent) -> Webhook | None:
        """Return the webhook after an event; None if the next one must wait."""
        if webhook.events and event.type not in webhook.events:
            return webhook  # the cursor follows with the next delivery, or after the batch
        message = Message(event.event_id, event.type, event.sequence, self.encode(event))
        try:
            delivery = await self.caller.call(webhook, message, webhook.failures + 1)
        except NotTried as reason:
            next_try_ms = self.clock.now_ms() + round(reason.pause_s * 1000)
            await self.webhooks.postpone(webhook, next_try_ms)
            return None
        after = self._after(webhook, delivery)
        if not await self.webhooks.record(webhook, after, delivery):
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
        elif failures > len(self.retry_after_s):
            reason = DisabledReason.FAILED
        if reason is not None:
            state = WebhookState.DISABLED
            return replace(webhook, failures=failures, state=state, disabled_reason=reason)
        pause_ms = round(self.retry_after_s[failures - 1] * 1000)
        return replace(webhook, failures=failures, next_try_ms=self.clock.now_ms() + pause_ms)

    async def _passed(self, webhook: Webhook, sequence: int) -> Webhook | None:
        if webhook.cursor == sequence:
            return webhook
        is_ours = await self.webhooks.advance(webhook, sequence)
        return replace(webhook, cursor=sequence) if is_ours else None

    async def _without_pruned(
        self, webhook: Webhook, batch: Sequence[ClientEvent]
    ) -> Webhook | None:
        """Report events that are stored no more before their delivery: move the cursor behind."""
        span = None if batch else await self.events.span(webhook.client_id, webhook.cursor)
        last = (span.following if span else batch[0].sequence) - 1
        if last <= webhook.cursor:
            return webhook
        first, now = webhook.cursor + 1, self.clock.now_ms()
        observe.webhook_events_pruned(webhook.webhook_id, first, last)
        after = replace(webhook, cursor=last, failures=0, next_try_ms=0)
        reason = f"events {first} to {last}: deleted by retention, or lost with the database"
        delivery = replace(untried(webhook, Message("", PRUNED, last, b""), now, reason), attempt=0)
        return after if await self.webhooks.record(webhook, after, delivery) else None


POLL_S = 1.0
"""Seconds between reads of what is due: the longest time from the commit to the first try."""
_DUE = 1000
_TURN = 200
"""Events that one webhook receives before others have their turn."""
_TURN_S = 60.0
"""Seconds until others have their turn, plus those of the try that is running."""
_PER_CLIENT = 4
_PURGE_EVERY_S = 60.0
_PURGED = 1000


class WebhookWorker:
    """Several webhooks receive at the same time: `parallel` in all, `per_client` of each client.

    By default a client has four places, and never more than a quarter of all. A free place goes to
    the client that has the fewest, so that slow receivers of others delay it least.
    """

    def __init__(
        self,
        deliver: DeliverEvents,
        webhooks: WebhookStore,
        leadership: LeaderLock,
        clock: Clock,
        *,
        kept_ms: int,
        parallel: int = 32,
        per_client: int | None = None,
    ) -> None:
        self._deliver = deliver
        self._webhooks = webhooks
        self._leadership = leadership
        self._clock = clock
        self._kept_ms = kept_ms
        self._parallel = parallel
        self._per_client = per_client or max(1, min(_PER_CLIENT, parallel // 4))
        self._running: dict[str, tuple[str, asyncio.Task[None]]] = {}
        self._turns: dict[str, int] = {}
        self._turn = 0
        self._purged_at: float | None = None

    async def run(self) -> None:
        """Deliver while this process leads, until it is cancelled."""
        try:
            while True:
                await self.step()
                await self._clock.sleep(POLL_S)
        finally:
            await self._stop()

    async def step(self) -> None:
        """Start the deliveries that are due. Without the lead, stop those that are running."""
        if not self._leadership.is_held:
            await self._stop()
            return
        await guarded("webhooks", self._start_due, observe.webhooks_waiting)

    async def _start_due(self) -> None:
        for webhook in self._chosen(await self._webhooks.due(self._clock.now_ms(), _DUE)):
            self._start(webhook)
        await self._purge()

    async def settle(self) -> None:
        while self._running:
            await asyncio.wait([task for _, task in self._running.values()])

    def _chosen(self, due: Sequence[Webhook]) -> list[Webhook]:
        """Return the webhooks to start now: first those of clients that have the fewest places.

        Among equals, those that waited longest for their turn come first.
        """
        running = Counter(client_id for client_id, _ in self._running.values())
        ranked: list[tuple[int, Webhook]] = []
        for webhook in sorted(due, key=lambda one: self._turns.get(one.webhook_id, 0)):
            place = running[webhook.client_id]
            if webhook.webhook_id in self._running or place >= self._per_client:
                continue
            running[webhook.client_id] += 1
            ranked.append((place, webhook))
        ranked.sort(key=lambda one: one[0])  # stable: the turns decide among equals
        return [webhook for _, webhook in ranked[: self._parallel - len(self._running)]]

    def _start(self, webhook: Webhook) -> None:
        self._turn += 1
        if len(self._turns) > 10 * _DUE:
            self._turns.clear()
        self._turns[webhook.webhook_id] = self._turn
        task = asyncio.create_task(self._serve(webhook))
        self._running[webhook.webhook_id] = webhook.client_id, task

    async def _serve(self, webhook: Webhook) -> None:
        try:
            await self._deliver(webhook, _TURN, _TURN_S)
        except StoreUnavailable as error:
            observe.webhooks_waiting(str(error))
        except Exception as fault:  # noqa: BLE001  logged; the webhook is due again at the next read
            observe.webhook_failed_unexpectedly(webhook.webhook_id, fault)
        finally:
            self._running.pop(webhook.webhook_id, None)

    async def _purge(self) -> None:
        now = self._clock.monotonic()
        if self._purged_at is not None and now - self._purged_at < _PURGE_EVERY_S:
            return
        before_ms = self._clock.now_ms() - self._kept_ms
        if await self._webhooks.purge_deliveries(before_ms, _PURGED) < _PURGED:
            self._purged_at = now

    async def _stop(self) -> None:
        tasks = [task for _, task in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
