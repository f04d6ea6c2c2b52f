"""Every event is delivered at least once, in the order of its client, and failures are repeated."""

import asyncio
import json

import pytest
from structlog.testing import capture_logs

from quietswap.rules.clients import ApiKey, Client
from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.rules.webhooks.webhook import (
    PRUNED,
    RETRY_AFTER_S,
    DisabledReason,
    Webhook,
    WebhookState,
)
from tests.storage.examples import T0
from tests.webhooks.receiver import OK, Received, always, answer
from tests.webhooks.scenes import DAY_MS, KEY, Scene

LIFE = (OrderStatus.SUBMITTED, OrderStatus.MINING, OrderStatus.CONFIRMED)


async def test_the_life_of_an_order_arrives_in_order(scene: Scene) -> None:
    webhook, _ = await scene.create()
    order = await scene.order(*LIFE)
    await scene.deliver()
    bodies = [json.loads(request.body) for request in scene.receiver.requests]
    assert [body["type"] for body in bodies] == [
        "order.created", "order.submitted", "order.mining", "order.confirmed",
    ]  # fmt: skip
    assert [body["sequence"] for body in bodies] == [1, 2, 3, 4]
    assert [body["id"] for body in bodies] == scene.got()
    assert {body["order"]["orderId"] for body in bodies} == {order.order_id}
    assert [body["order"]["status"] for body in bodies] == [
        "pending", "submitted", "mining", "confirmed",
    ]  # fmt: skip
    tries = await scene.tries(webhook)
    assert [(one.attempt, one.status, one.error) for one in tries] == [(1, 200, None)] * 4
    assert (await scene.state(webhook)).cursor == 4
    await scene.deliver()
    assert len(scene.receiver.requests) == 4  # and never again


async def test_failed_tries_follow_the_schedule_and_then_disable(scene: Scene) -> None:
    webhook, _ = await scene.create()
    order = await scene.order()
    scene.receiver.answering = always(answer(500))
    with capture_logs() as lines:
        for number, pause in enumerate(RETRY_AFTER_S, 1):
            await scene.deliver()
            assert (await scene.state(webhook)).failures == number
            scene.clock.ms += round(pause * 1000) - 1
            await scene.deliver()  # too early
            assert len(scene.receiver.requests) == number
            scene.clock.ms += 1
        await scene.deliver()
    state = await scene.state(webhook)
    assert (state.state, state.disabled_reason) == (WebhookState.DISABLED, DisabledReason.FAILED)
    assert [line["reason"] for line in lines if line["event"] == "webhook_disabled"] == ["failed"]
    tries = await scene.tries(webhook)
    assert [one.attempt for one in tries] == list(range(1, 11))
    assert {one.error for one in tries} == {"the receiver answered HTTP 500"}
    assert len(set(scene.got())) == 1  # the id is stable over all tries
    scene.clock.ms += DAY_MS
    await scene.move(order, OrderStatus.SUBMITTED)
    await scene.deliver()
    assert len(scene.receiver.requests) == 10


async def test_the_next_event_waits_for_the_one_before(scene: Scene) -> None:
    await scene.create()
    await scene.order(OrderStatus.SUBMITTED)
    scene.receiver.answering = always(answer(503))
    await scene.deliver()
    scene.receiver.answering = always(OK)
    await scene.deliver()
    assert len(scene.receiver.requests) == 1
    scene.clock.ms += 5000
    await scene.deliver()
    types = [json.loads(request.body)["type"] for request in scene.receiver.requests]
    assert types == ["order.created", "order.created", "order.submitted"]


async def test_410_disables_at_once_and_a_test_enables_again(scene: Scene) -> None:
    webhook, _ = await scene.create()
    await scene.order(OrderStatus.SUBMITTED)
    scene.receiver.answering = always(answer(410))
    await scene.deliver()
    state = await scene.state(webhook)
    assert (state.state, state.disabled_reason) == (WebhookState.DISABLED, DisabledReason.GONE)
    failed = await scene.manage.test(KEY, webhook.webhook_id)
    assert (failed.status, failed.sequence) == (410, 0)
    assert (await scene.state(webhook)).state is WebhookState.DISABLED
    scene.receiver.answering = always(OK)
    passed = await scene.manage.test(KEY, webhook.webhook_id)
    assert (passed.status, passed.error) == (200, None)
    assert json.loads(scene.receiver.requests[-1].body)["type"] == "webhook.test"
    await scene.deliver()
    types = [json.loads(request.body)["type"] for request in scene.receiver.requests[-2:]]
    assert types == ["order.created", "order.submitted"]


async def test_only_the_wanted_events_are_sent_and_the_others_are_passed(scene: Scene) -> None:
    webhook, _ = await scene.create("order.confirmed")
    for _ in range(30):
        await scene.order(OrderStatus.SUBMITTED)
    await scene.order(*LIFE)
    await scene.order(OrderStatus.SUBMITTED)
    await scene.deliver()
    (request,) = scene.receiver.requests
    assert json.loads(request.body)["sequence"] == 64
    assert (await scene.state(webhook)).cursor == 66


async def test_events_of_another_client_and_of_the_past_are_not_sent(scene: Scene) -> None:
    await scene.order()
    await scene.create()
    await scene.order(client_id="client-2")
    await scene.deliver()
    assert scene.receiver.requests == []
    await scene.order()
    await scene.deliver()
    assert [json.loads(request.body)["sequence"] for request in scene.receiver.requests] == [2]


async def test_events_pruned_before_their_delivery_are_reported(scene: Scene) -> None:
    webhook, _ = await scene.create()
    await scene.order(OrderStatus.SUBMITTED)
    scene.clock.ms += 40 * DAY_MS
    await scene.storage.events.purge(scene.clock.ms - 30 * DAY_MS, 100)
    with capture_logs() as lines:
        await scene.deliver()  # all of them
        assert [one.event_type for one in await scene.tries(webhook)] == [PRUNED]
        await scene.order()
        await scene.deliver()
    pruned, sent = await scene.tries(webhook)
    assert (pruned.event_type, pruned.attempt, pruned.sequence) == (PRUNED, 0, 2)
    assert pruned.error == "events 1 to 2: deleted by retention, or lost with the database"
    assert (sent.sequence, sent.error) == (3, None)
    (line,) = [line for line in lines if line["event"] == "webhook_events_pruned"]
    assert (line["first"], line["last"], line["log_level"]) == (1, 2, "error")


async def test_without_the_lead_nothing_is_sent(scene: Scene) -> None:
    await scene.create()
    await scene.order()
    scene.lead.is_held = False
    await scene.deliver()
    assert scene.receiver.connections == 0
    scene.lead.is_held = True
    await scene.deliver()
    assert len(scene.receiver.requests) == 1


async def test_a_lost_lead_stops_what_is_running_and_it_is_sent_again(scene: Scene) -> None:
    await scene.create()
    await scene.order()
    arrived, go = asyncio.Event(), asyncio.Event()

    async def slowly(_: Received, writer: asyncio.StreamWriter) -> None:
        arrived.set()
        await go.wait()
        writer.write(OK)

    scene.receiver.answering = slowly
    await scene.worker.step()
    async with asyncio.timeout(60):
        await arrived.wait()
    scene.lead.is_held = False
    await scene.deliver()
    go.set()
    scene.lead.is_held = True
    await scene.deliver()
    first, second = scene.got()
    assert first == second


async def test_a_confirmation_that_cannot_be_stored_is_sent_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook, _ = await scene.create()
    await scene.order()

    async def down(*_: object) -> bool:
        raise StoreUnavailable("gone")

    with capture_logs() as lines, monkeypatch.context() as patch:
        patch.setattr(type(scene.storage.webhooks), "record", down)
        await scene.deliver()
    assert "webhooks_waiting" in [line["event"] for line in lines]
    assert (await scene.state(webhook)).cursor == 0
    await scene.deliver()
    first, second = scene.got()
    assert first == second
    assert (await scene.state(webhook)).cursor == 1


async def test_a_webhook_deleted_during_a_delivery_stays_deleted(scene: Scene) -> None:
    webhook, _ = await scene.create()
    await scene.order(OrderStatus.SUBMITTED)

    async def deleting(_: Received, writer: asyncio.StreamWriter) -> None:
        await scene.manage.delete(KEY, webhook.webhook_id)
        writer.write(OK)

    scene.receiver.answering = deleting
    await scene.deliver()
    assert len(scene.receiver.requests) == 1
    assert await scene.tries(webhook) == []
    assert await scene.manage.list(KEY) == []


async def test_a_revoked_key_gets_nothing(scene: Scene) -> None:
    await scene.create()
    await scene.order()
    await scene.storage.keys.revoke(KEY.id, scene.clock.ms)
    await scene.deliver()
    assert scene.receiver.connections == 0
    second = ApiKey("key-2", "a wallet", T0, None, "client-1")
    await scene.storage.keys.add(second, b"second")  # the same client has a live key again
    await scene.deliver()
    assert len(scene.receiver.requests) == 1


async def test_a_client_takes_only_its_share_of_the_places(scene: Scene) -> None:
    other = ApiKey("key-2", "other", T0, None, "client-2")
    await scene.storage.keys.add(other, b"other", Client("client-2", "other", T0))
    mine = [(await scene.create())[0].webhook_id for _ in range(3)]
    await scene.create(key=other)
    worker = scene.worker_with(parallel=3, per_client=2)
    await scene.order()
    await scene.order(client_id="client-2")
    go, all_there = asyncio.Event(), asyncio.Event()
    arrived: list[str] = []

    async def slowly(request: Received, writer: asyncio.StreamWriter) -> None:
        arrived.append(json.loads(request.body)["id"])
        if len(arrived) == 3:
            all_there.set()
        await go.wait()
        writer.write(OK)

    scene.receiver.answering = slowly
    await worker.step()
    await worker.step()  # no second delivery of a webhook that is running
    async with asyncio.timeout(60):
        await all_there.wait()
    assert len(set(arrived)) == 2  # two of client-1 have the same event, one of client-2
    go.set()
    await worker.settle()
    assert len(arrived) == 3
    await worker.step()
    await worker.settle()
    cursors = [(await scene.manage.find(KEY, one)).cursor for one in mine]
    assert (cursors, len(arrived)) == ([1, 1, 1], 4)


async def test_an_unexpected_failure_is_logged_and_tried_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scene.create()
    await scene.order()

    async def broken(*_: object) -> Webhook:
        raise RuntimeError("unforeseen")

    with capture_logs() as lines, monkeypatch.context() as patch:
        patch.setattr(type(scene.storage.events), "after", broken)
        await scene.deliver()
    assert [line["event"] for line in lines] == ["webhook_failed_unexpectedly"]
    await scene.deliver()
    assert len(scene.receiver.requests) == 1


@pytest.mark.parametrize("method", ["due", "purge_deliveries"])
async def test_the_worker_goes_on_after_an_unexpected_failure(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    await scene.create()
    await scene.order()

    async def broken(*_: object) -> int:
        raise ValueError("a row of a later release")

    with capture_logs() as lines, monkeypatch.context() as patch:
        patch.setattr(type(scene.storage.webhooks), method, broken)
        await scene.deliver()
    [line] = [line for line in lines if line["event"] == "background_task_failed"]
    assert line["task"] == "webhooks"
    await scene.deliver()
    assert len(scene.receiver.requests) == 1
