"""Webhooks and their deliveries, on both databases."""

import asyncio
from dataclasses import replace

from quietswap.rules.clients import ApiKey, Client
from quietswap.rules.webhooks.webhook import Delivery, DisabledReason, Webhook, WebhookState
from quietswap.service.storage.factory import Storage
from tests.storage.examples import T0, an_event, an_order

KEY = ApiKey("key-1", "a wallet", T0, None, "client-1")


def a_webhook(number: int, **changes: object) -> Webhook:
    webhook = Webhook(
        webhook_id=f"whk_{number:04}",
        client_id="client-1",
        url="https://hooks.example.com/in",
        events=("order.confirmed", "order.failed"),
        description="a note",
        secret=b"\x01\x00\xff",
        cursor=0,
        created_at_ms=T0 + number,
    )
    return replace(webhook, **changes)  # type: ignore[arg-type]


def a_delivery(number: int, **changes: object) -> Delivery:
    delivery = Delivery(
        f"dlv_{number:04}", "whk_0001", f"evt_{number}", "order.created", 1, 1, T0 + number, 12,
        200, None,
    )  # fmt: skip
    return replace(delivery, **changes)  # type: ignore[arg-type]


async def test_a_webhook_is_read_back_by_its_client_only(storage: Storage) -> None:
    first, second = a_webhook(1), a_webhook(2, events=(), description=None)
    assert await storage.webhooks.add(first, 10)
    assert await storage.webhooks.add(second, 10)
    assert await storage.webhooks.list("client-1") == [first, second]
    assert await storage.webhooks.find("client-1", "whk_0001") == first
    assert await storage.webhooks.find("client-2", "whk_0001") is None
    assert not await storage.webhooks.delete("client-2", "whk_0001")
    assert await storage.webhooks.delete("client-1", "whk_0001")
    assert not await storage.webhooks.delete("client-1", "whk_0001")
    assert await storage.webhooks.list("client-1") == [second]


async def test_the_limit_holds_for_parallel_requests(storage: Storage) -> None:
    added = await asyncio.gather(*(storage.webhooks.add(a_webhook(n), 3) for n in range(12)))
    assert sum(added) == 3
    kept = await storage.webhooks.list("client-1")
    assert len(kept) == 3
    assert await storage.webhooks.add(a_webhook(50, client_id="client-2"), 3)
    await storage.webhooks.delete("client-1", kept[0].webhook_id)
    assert await storage.webhooks.add(a_webhook(51), 3)
    assert not await storage.webhooks.add(a_webhook(52), 3)


async def test_what_is_due(storage: Storage) -> None:
    await storage.keys.add(KEY, b"hash", Client("client-1", "a wallet", T0))
    order = an_order()
    await storage.orders.add(order, an_event(order, "posted"))
    due = a_webhook(1)
    for webhook in (
        due,
        a_webhook(2, cursor=1),
        a_webhook(3, next_try_ms=T0 + 1),
        a_webhook(4, state=WebhookState.DISABLED, disabled_reason=DisabledReason.GONE),
        a_webhook(5, client_id="client-2"),
    ):
        assert await storage.webhooks.add(webhook, 10)
    assert await storage.webhooks.due(T0, 10) == [due]
    assert [w.webhook_id for w in await storage.webhooks.due(T0 + 1, 10)] == [
        "whk_0001",
        "whk_0003",
    ]
    assert len(await storage.webhooks.due(T0 + 1, 1)) == 1
    disable = "UPDATE clients SET disabled_at_ms = ?"
    await storage.database.change(disable, T0)
    assert await storage.webhooks.due(T0, 10) == []
    await storage.database.change(disable, None)
    await storage.database.change("UPDATE api_keys SET expires_at_ms = ?", T0)
    assert await storage.webhooks.due(T0, 10) == []
    assert await storage.webhooks.due(T0 - 1, 10) == [due]


async def test_a_result_counts_only_for_the_state_it_was_made_from(storage: Storage) -> None:
    before = a_webhook(1)
    await storage.webhooks.add(before, 10)
    done = replace(before, cursor=1)
    failed = replace(before, failures=1, next_try_ms=T0 + 5000)
    assert await storage.webhooks.record(before, failed, a_delivery(1, status=None, error="away"))
    assert not await storage.webhooks.record(before, done, a_delivery(2))
    assert not await storage.webhooks.advance(before, 1)
    assert await storage.webhooks.find("client-1", "whk_0001") == failed
    assert await storage.webhooks.record(failed, done, a_delivery(3))
    assert await storage.webhooks.advance(done, 7)
    ended = replace(
        done, cursor=7, state=WebhookState.DISABLED, disabled_reason=DisabledReason.FAILED
    )
    assert await storage.webhooks.record(replace(done, cursor=7), ended, a_delivery(4))
    assert await storage.webhooks.find("client-1", "whk_0001") == ended
    assert not await storage.webhooks.record(ended, done, a_delivery(5))
    found = await storage.webhooks.deliveries("whk_0001", 10, 0)
    assert [one.delivery_id for one in found] == ["dlv_0004", "dlv_0003", "dlv_0001"]
    assert found[2] == a_delivery(1, status=None, error="away")


async def test_a_postponement_is_no_failure(storage: Storage) -> None:
    before = a_webhook(1, failures=2, next_try_ms=T0)
    await storage.webhooks.add(before, 10)
    assert await storage.webhooks.postpone(before, T0 + 60_000)
    later = await storage.webhooks.find("client-1", "whk_0001")
    assert later == replace(before, next_try_ms=T0 + 60_000)
    assert not await storage.webhooks.postpone(replace(before, cursor=1), T0)
    assert not await storage.webhooks.postpone(replace(before, failures=1), T0)
    off = replace(before, state=WebhookState.DISABLED, disabled_reason=DisabledReason.GONE)
    assert await storage.webhooks.record(before, off, a_delivery(1))
    assert not await storage.webhooks.postpone(off, T0 + 1)
    assert await storage.webhooks.find("client-1", "whk_0001") == off


async def test_a_test_enables_and_a_deleted_webhook_keeps_nothing(storage: Storage) -> None:
    off = a_webhook(1, state=WebhookState.DISABLED, disabled_reason=DisabledReason.GONE, failures=3)
    await storage.webhooks.add(off, 10)
    assert not await storage.webhooks.record_test(a_delivery(1), enable=False)
    assert await storage.webhooks.find("client-1", "whk_0001") == off
    assert await storage.webhooks.record_test(a_delivery(2), enable=True)
    assert not await storage.webhooks.record_test(a_delivery(3), enable=True)
    on = await storage.webhooks.find("client-1", "whk_0001")
    assert on == a_webhook(1)
    await storage.webhooks.delete("client-1", "whk_0001")
    assert not await storage.webhooks.record_test(a_delivery(4), enable=True)
    assert await storage.webhooks.deliveries("whk_0001", 10, 0) == []


async def test_old_deliveries_are_deleted_in_batches(storage: Storage) -> None:
    await storage.webhooks.add(a_webhook(1), 10)
    for number in range(5):
        await storage.webhooks.record_test(a_delivery(number), enable=False)
    assert await storage.webhooks.purge_deliveries(T0 + 4, 3) == 3
    assert await storage.webhooks.purge_deliveries(T0 + 4, 3) == 1
    (kept,) = await storage.webhooks.deliveries("whk_0001", 10, 0)
    assert kept.delivery_id == "dlv_0004"
    assert await storage.webhooks.deliveries("whk_0001", 10, 1) == []
