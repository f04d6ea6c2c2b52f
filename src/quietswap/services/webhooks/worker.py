"""The loop that delivers events, in the process that leads."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from quietswap import observe
from quietswap.ports.clock import Clock
from quietswap.ports.stores import LeaderLock, StoreUnavailable
from quietswap.ports.webhooks import Webhook, WebhookStore
from quietswap.services.turns import guarded
from quietswap.services.webhooks.deliver import DeliverEvents

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
        """Wait for the deliveries that are running."""
        while self._running:
            await asyncio.wait([task for _, task in self._running.values()])

    def _chosen(self, due: Sequence[Webhook]) -> list[Webhook]:
        """Return the webhooks to start now: first those of clients that have the fewest places.

        Among equals, those that waited longest for their turn come first.
        """
        taken = Counter(client_id for client_id, _ in self._running.values())
        ranked: list[tuple[int, Webhook]] = []
        for webhook in sorted(due, key=lambda one: self._turns.get(one.webhook_id, 0)):
            place = taken[webhook.client_id]
            if webhook.webhook_id in self._running or place >= self._per_client:
                continue
            taken[webhook.client_id] += 1
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
