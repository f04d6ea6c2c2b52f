"""A process that changes orders and delivers their events, until it is killed.

`python -m tests.webhooks.killed_process DATABASE LIFE ORDERS`: the SQLite file, the number of this
life, and how many orders to place in it. It prints a line after each commit.
"""

import asyncio
import sys
from dataclasses import replace

from quietswap.rules.orders.order import OrderStatus
from quietswap.service.base.clock import SystemClock
from quietswap.service.storage.factory import Storage
from quietswap.service.webhooks.deliver import DeliverEvents, WebhookCaller, WebhookWorker
from quietswap.service.webhooks.http import encoded_event
from quietswap.service.webhooks.resolver import SystemResolver
from quietswap.service.webhooks.secrets import SecretBox
from quietswap.service.webhooks.sender import SenderPolicy, WebhookSender, tls_context
from tests.patient import open_storage
from tests.storage.examples import an_event, an_order

STEPS = (
    (OrderStatus.SUBMITTED, "relay_accepted"),
    (OrderStatus.MINING, "new_head"),
    (OrderStatus.CONFIRMED, "included"),
    (OrderStatus.MINING, "reorganised"),
    (OrderStatus.CONFIRMED, "included"),
)
KEY_BYTES = bytes(range(32))
PAUSE_S = 0.02


class HurriedClock(SystemClock):
    """The worker polls without its usual pause."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, PAUSE_S))


async def place(storage: Storage, life: int, orders: int) -> None:
    """Place orders and move each to its end; an order stays where the kill finds it."""
    for number in range(orders):
        serial = 1000 * life + number
        order = an_order(
            order_id=f"order-{serial:06}", nonce=serial, tx_hash=f"0x{serial:064x}",
            client_id="client-1",
        )  # fmt: skip
        await storage.orders.add(order, an_event(order, "posted"))
        print("committed", flush=True)  # noqa: T201  read by the test
        for status, observed in STEPS:
            moved = replace(order, status=status)
            assert await storage.orders.update(moved, an_event(moved, observed))
            print("committed", flush=True)  # noqa: T201  read by the test
            order = replace(moved, version=order.version + 1)
            await asyncio.sleep(0)


async def main(path: str, life: int, orders: int) -> None:
    clock = HurriedClock()
    storage = await open_storage(f"sqlite:///{path}", clock=clock)
    policy = SenderPolicy(timeout_s=30, allow_private=True)
    sender = WebhookSender(SystemResolver(), tls_context(), policy)
    caller = WebhookCaller(sender, SecretBox([KEY_BYTES]), clock)
    deliver = DeliverEvents(
        storage.webhooks, storage.events, caller, clock, encoded_event,
        retry_after_s=(PAUSE_S,) * 10_000,
    )  # fmt: skip
    worker = WebhookWorker(deliver, storage.webhooks, storage.leadership, clock, kept_ms=86_400_000)

    async def lead() -> None:
        while True:
            await storage.leadership.acquire_or_renew()
            await clock.sleep(PAUSE_S)

    await asyncio.gather(lead(), worker.run(), place(storage, life, orders))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
