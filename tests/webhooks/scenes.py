"""One client with webhooks on a real database, a receiver on loopback, and time that tests move."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from quietswap.rules.clients import ApiKey, Client
from quietswap.rules.orders.order import Order, OrderStatus
from quietswap.rules.webhooks.webhook import RETRY_AFTER_S, Delivery, Webhook, WebhookRequest
from quietswap.service.storage.factory import Storage
from quietswap.service.webhooks.deliver import DeliverEvents, WebhookCaller, WebhookWorker
from quietswap.service.webhooks.http import encoded_event, encoded_test_event
from quietswap.service.webhooks.manage import ManageWebhooks
from quietswap.service.webhooks.resolver import SystemResolver
from quietswap.service.webhooks.secrets import SecretBox
from quietswap.service.webhooks.sender import SenderPolicy, WebhookSender
from tests.patient import open_storage
from tests.storage.examples import T0, HandClock, an_event, an_order
from tests.webhooks.receiver import Receiver, receiving
from tests.webhooks.senders import trusting

KEY = ApiKey("key-1", "a wallet", T0, None, "client-1")
MINE = Client("client-1", "a wallet", T0)
DAY_MS = 86_400_000
PRIMARY, FORMER = bytes(32), bytes([7]) * 32
CHANGES = {
    OrderStatus.SUBMITTED: "relay_accepted",
    OrderStatus.MINING: "new_head",
    OrderStatus.CONFIRMED: "included",
}


class Lead:
    """A lead that a test gives and takes away."""

    is_held = True


@dataclass
class Scene:
    """`url` is the receiver's."""

    storage: Storage
    clock: HandClock
    receiver: Receiver
    caller: WebhookCaller
    manage: ManageWebhooks
    worker: WebhookWorker
    lead: Lead

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.receiver.port}/in"

    async def create(self, *events: str, key: ApiKey = KEY) -> tuple[Webhook, str]:
        return await self.manage.create(key, WebhookRequest(self.url, events, None))

    async def order(self, *statuses: OrderStatus, client_id: str = "client-1") -> Order:
        """Store an order and move it; each step is an event."""
        order = an_order(client_id=client_id)
        await self.storage.orders.add(order, an_event(order, "posted"))
        for status in statuses:
            order = await self.move(order, status)
        return order

    async def move(self, order: Order, status: OrderStatus) -> Order:
        moved = replace(order, status=status)
        assert await self.storage.orders.update(moved, an_event(moved, CHANGES[status]))
        return replace(moved, version=order.version + 1)

    async def deliver(self) -> None:
        """Take one turn of the worker, until nothing is running."""
        await self.worker.step()
        await self.worker.settle()

    async def state(self, webhook: Webhook) -> Webhook:
        return await self.manage.find(KEY, webhook.webhook_id)

    async def tries(self, webhook: Webhook) -> Sequence[Delivery]:
        """Return the deliveries, oldest first."""
        found = await self.storage.webhooks.deliveries(webhook.webhook_id, 200, 0)
        return found[::-1]

    def got(self) -> list[str]:
        """Return the ids of the events that were received, in their order."""
        return [request.headers["webhook-id"] for request in self.receiver.requests]

    def worker_with(self, **options: int) -> WebhookWorker:
        deliver = DeliverEvents(
            self.storage.webhooks, self.storage.events, self.caller, self.clock, encoded_event,
            retry_after_s=RETRY_AFTER_S,
        )  # fmt: skip
        return WebhookWorker(
            deliver, self.storage.webhooks, self.lead, self.clock,  # type: ignore[arg-type]
            **{"kept_ms": 30 * DAY_MS} | options,
        )  # fmt: skip


@contextlib.asynccontextmanager
async def scene_on(url: str, *keys: bytes, most: int = 3) -> AsyncIterator[Scene]:
    """Open a scene on a database; `keys` encrypt secrets."""
    clock = HandClock()
    storage = await open_storage(url, clock=clock)
    await storage.keys.add(KEY, b"hash", MINE)
    policy = SenderPolicy(timeout_s=30, allow_private=True)
    sender = WebhookSender(SystemResolver(), trusting(), policy)
    caller = WebhookCaller(sender, SecretBox(keys), clock)
    manage = ManageWebhooks(
        storage.webhooks, storage.events, caller, clock, encoded_test_event, max_per_client=most
    )
    async with receiving() as receiver:
        scene = Scene(storage, clock, receiver, caller, manage, None, Lead())  # type: ignore[arg-type]
        scene.worker = scene.worker_with()
        yield scene
    await storage.close()
