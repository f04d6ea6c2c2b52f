"""The end of an order's time, and the end of the tracker's watch over it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from quietswap.rules.orders.order import Failure, FailureCode, OrderStatus, may_be_mined
from quietswap.rules.orders.order_changes import FINALIZED, OrderChange
from quietswap.rules.orders.tracking import DEEP
from quietswap.service.orders.submit import OrderDelivery
from tests.orders.tracking import CANCEL, RIVAL, Scene, a_tracker, open_scene
from tests.scripted_chain import Tx
from tests.stored_orders import MINUTE_MS


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with open_scene() as scene:
        yield scene


async def test_expiry_and_then_inclusion(scene: Scene) -> None:
    order = await scene.order()
    await scene.mine(blocks=149)
    assert await scene.status(order) is OrderStatus.MINING
    await scene.mine()
    assert await scene.verdict(order) == (OrderStatus.CANCELLED, FailureCode.EXPIRED)
    assert scene.relay.cancelled == [order.tx_hash]
    sends = scene.sends(order)
    await scene.mine(blocks=20)
    assert scene.sends(order) == sends
    await scene.mine(Tx.of(order), blocks=2)
    assert await scene.verdict(order) == (OrderStatus.CONFIRMED, None)
    assert (await scene.moves(order))[-2:] == ["expired", "included"]


async def test_a_former_leader_does_not_expire_what_was_posted_again(scene: Scene) -> None:
    """It waits for the relay while another process expires the order, and its client comes back."""
    order = await scene.order(expires_at_ms=scene.clock.now_ms() + MINUTE_MS)
    cancel, taken_over = scene.relay.cancel, False

    async def slow_cancel(tx_hash: str) -> None:
        nonlocal taken_over
        if not taken_over:
            taken_over = True
            await a_tracker(
                scene.storage, scene.chain, scene.relay, scene.clock, scene.prices
            ).start()
            dead = await scene.now(order)
            assert dead.failure is not None
            assert dead.failure.code is FailureCode.EXPIRED
            delivery = OrderDelivery(
                scene.storage.orders, scene.chain, {2: scene.relay}, scene.clock
            )
            later = scene.clock.now_ms() + 30 * MINUTE_MS
            await delivery.redeliver(dead, replace(dead, expires_at_ms=later))
        await cancel(tx_hash)

    scene.relay.cancel = slow_cancel  # type: ignore[method-assign]
    await scene.mine(blocks=6)
    assert await scene.verdict(order) == (OrderStatus.MINING, None)
    assert (await scene.moves(order)).count("expired") == 1
    await scene.mine(blocks=6)
    assert scene.sends(order) > 1, "it is sent again, as every open order"


async def test_expiry_and_then_a_revert(scene: Scene) -> None:
    order = await scene.order(expires_at_ms=0)
    await scene.mine()
    await scene.mine(Tx.of(order, succeeded=False), blocks=2)
    assert await scene.verdict(order) == (OrderStatus.FAILED, FailureCode.REVERTED)


async def test_expiry_does_not_read_as_if_it_could_not_happen_any_more(scene: Scene) -> None:
    order = await scene.order(expires_at_ms=0)
    await scene.mine()
    now = await scene.now(order)
    assert now.failure is not None
    assert "it may still be mined" in now.failure.message
    assert now.is_at_large


@pytest.mark.parametrize(
    ("change", "code"),
    [(RIVAL, FailureCode.REPLACED), (CANCEL, FailureCode.USER_CANCELLED)],
)
async def test_what_was_given_up_says_what_took_its_nonce_once_that_is_final(
    scene: Scene, change: dict[str, Any], code: FailureCode
) -> None:
    given_up = Failure(FailureCode.REFUSED, "the relay refused it")
    orders = [
        await scene.order(expires_at_ms=0),
        await scene.order(OrderStatus.FAILED, failure=given_up),
    ]
    await scene.mine()
    if change is CANCEL:
        rivals = [Tx.of(o, **change, to=o.wallet) for o in orders]
    else:
        rivals = [Tx.of(o, **change) for o in orders]
    block = scene.chain.mine(*rivals)
    await scene.mine(blocks=20)
    assert [(await scene.now(o)).is_at_large for o in orders] == [True, True]
    assert [scene.sends(o) for o in orders] == [0, 0], "nothing given up is sent again"
    scene.chain.finalized = block.number
    await scene.mine(blocks=DEEP)
    assert [await scene.verdict(o) for o in orders] == [(OrderStatus.CANCELLED, code)] * 2
    assert scene.tracker.watched == 0


async def test_a_refused_order_is_corrected_when_the_relay_mines_it_all_the_same(
    scene: Scene,
) -> None:
    given_up = Failure(FailureCode.REFUSED, "the relay refused it")
    order = await scene.order(OrderStatus.FAILED, failure=given_up)
    await scene.mine(blocks=400)
    await scene.mine(Tx.of(order), blocks=2)
    assert await scene.verdict(order) == (OrderStatus.CONFIRMED, None)


async def test_a_refusal_written_while_the_node_is_away_is_followed_later(scene: Scene) -> None:
    await scene.mine()
    scene.chain.failing = {"all"}
    given_up = Failure(FailureCode.REFUSED, "the relay refused it")
    order = await scene.order(OrderStatus.FAILED, failure=given_up)
    await scene.mine(blocks=400)
    scene.chain.failing = set()
    await scene.mine(blocks=3)
    await scene.mine(Tx.of(order), blocks=2)
    assert await scene.verdict(order) == (OrderStatus.CONFIRMED, None)


async def test_what_is_in_a_block_does_not_expire(scene: Scene) -> None:
    order = await scene.order(expires_at_ms=scene.clock.now_ms() + 12_000)
    await scene.mine(Tx.of(order))
    assert await scene.status(order) is OrderStatus.MINING
    await scene.mine()
    assert await scene.moves(order) == ["new_head", "included"]


async def test_the_relays_hint_stands_in_the_diary_of_an_expiry(scene: Scene) -> None:
    order = await scene.order(expires_at_ms=0)
    scene.relay.says = "it says the transaction failed"
    await scene.mine()
    events = await scene.storage.orders.events(order.order_id)
    assert events[-1].event_type == "expired"
    assert "it says the transaction failed" in events[-1].evidence


async def test_the_watch_ends_after_a_day_and_not_before(scene: Scene) -> None:
    order = await scene.order(expires_at_ms=0, watch_until_ms=scene.clock.now_ms() + 10 * MINUTE_MS)
    await scene.mine(blocks=49)
    assert (await scene.now(order)).watched
    await scene.mine(blocks=9)
    assert not (await scene.now(order)).watched
    assert scene.tracker.watched == 0


@pytest.mark.parametrize("change", [{}, {"succeeded": False}, RIVAL])
async def test_the_watch_ends_when_the_deciding_block_is_final(
    scene: Scene, change: dict[str, object]
) -> None:
    order = await scene.order()
    block = scene.chain.mine(Tx.of(order, **change))
    await scene.mine(blocks=30)
    assert (await scene.now(order)).watched
    scene.chain.finalized = block.number
    await scene.mine(blocks=8)
    assert not (await scene.now(order)).watched
    assert scene.tracker.watched == 0


@pytest.mark.parametrize(
    ("change", "failure", "evidence", "depth"),
    [
        ({}, None, "its block is final, 35 deep", 35),
        ({"succeeded": False}, None, "its block is final, 35 deep", 35),
        (RIVAL, None, "the block that used its nonce is final, 35 deep", 35),
        (
            RIVAL,
            Failure(FailureCode.NOT_SENT, "the relay cannot be reached"),
            "it was never sent; the block that used its nonce is final, 35 deep",
            0,
        ),
    ],
)
async def test_the_last_event_says_which_block_is_final(
    scene: Scene, change: dict[str, object], failure: Failure | None, evidence: str, depth: int
) -> None:
    status = OrderStatus.SUBMITTED if failure is None else OrderStatus.FAILED
    order = await scene.order(status, failure=failure)
    block = scene.chain.mine(Tx.of(order, **change))
    await scene.mine(blocks=30)
    scene.chain.finalized = block.number
    await scene.mine(blocks=8)
    last = (await scene.storage.orders.events(order.order_id))[-1]
    assert (last.event_type, last.evidence) == (FINALIZED, evidence)
    feed_event = (await scene.storage.events.after(order.client_id, 0, 100))[-1]
    assert (feed_event.type, feed_event.depth) == (OrderChange.FINALIZED, depth)


async def test_nothing_is_closed_that_is_not_deep_whatever_a_node_calls_final(
    scene: Scene,
) -> None:
    """geth --dev and proxies call their head final; a node that was killed lost blocks of it."""
    order, replaced = await scene.order(), await scene.order()
    block = scene.chain.mine(Tx.of(order), Tx.of(replaced, **RIVAL))
    closed_at: set[int] = set()
    for _ in range(DEEP + 8):
        scene.chain.finalized = scene.chain.blocks[-1].number + 1
        await scene.mine()
        if not (await scene.now(order)).watched and not (await scene.now(replaced)).watched:
            closed_at.add(scene.chain.blocks[-1].number - block.number + 1)
    assert min(closed_at) >= DEEP


async def test_a_routers_deadline_ends_an_order_for_good_by_a_block_past_it(scene: Scene) -> None:
    deadline_s = scene.chain.blocks[-1].time + 24
    order = await scene.order(deadline_s=deadline_s, expires_at_ms=deadline_s * 1000)
    await scene.mine(blocks=2)
    assert scene.chain.blocks[-1].time == deadline_s
    await scene.mine()
    assert await scene.status(order) is OrderStatus.MINING, "a block that a reorg may take away"
    await scene.mine()
    assert await scene.verdict(order) == (OrderStatus.CANCELLED, FailureCode.EXPIRED)
    now = await scene.now(order)
    assert now.failure is not None
    assert "it can never swap" in now.failure.message
    assert not may_be_mined(now.failure.code, now.deadline_s)
    assert scene.relay.cancelled == [order.tx_hash]
    await scene.mine(Tx.of(order, succeeded=False), blocks=2)
    assert await scene.verdict(order) == (OrderStatus.FAILED, FailureCode.REVERTED)


async def test_a_clock_ahead_ends_no_order_with_a_routers_deadline(scene: Scene) -> None:
    deadline_s = scene.chain.blocks[-1].time + 36
    order = await scene.order(deadline_s=deadline_s, expires_at_ms=deadline_s * 1000)
    scene.clock.advance(7200)
    seen = []
    for _ in range(5):
        block = scene.chain.blocks[-1]
        scene.chain.blocks.append(scene.chain.child_of(block, time=block.time + 12))
        await scene.look()
        seen.append(await scene.status(order))
    assert seen == [OrderStatus.MINING] * 4 + [OrderStatus.CANCELLED]


async def test_blocks_ahead_of_every_clock_end_no_order(scene: Scene) -> None:
    """No block of mainnet is ahead of all clocks: a node that shows one may be wrong."""
    deadline_s = scene.chain.blocks[-1].time + 36
    order = await scene.order(deadline_s=deadline_s, expires_at_ms=deadline_s * 1000)
    days = scene.clock.now_ms() // 1000 + 8 * 86_400
    for slot in range(4):
        scene.chain.blocks.append(scene.chain.child_of(scene.chain.blocks[-1], time=days + slot))
        await scene.look()
    assert await scene.status(order) is OrderStatus.MINING
    scene.clock.advance(120)
    scene.chain.blocks.append(scene.chain.child_of(scene.chain.blocks[-1], time=days + 12))
    await scene.look()
    assert await scene.status(order) is OrderStatus.CANCELLED, "both clocks are past it"


async def test_a_nonce_that_a_settled_block_has_used_ends_by_no_deadline(scene: Scene) -> None:
    """Its receipt is missing at the node: the swap may be done."""
    deadline_s = scene.chain.blocks[-1].time + 36
    order = await scene.order(deadline_s=deadline_s, expires_at_ms=deadline_s * 1000)
    scene.chain.code_used = {order.wallet: order.nonce + 1}
    scene.chain.astray, scene.chain.flipped = {"nonces"}, {order.wallet: order.nonce}
    await scene.mine(blocks=12)
    assert not (await scene.status(order)).is_terminal


async def test_a_clock_that_jumps_ahead_expires_nothing(scene: Scene) -> None:
    order = await scene.order()
    scene.clock.advance(3600)
    for _ in range(5):
        block = scene.chain.blocks[-1]
        scene.chain.blocks.append(scene.chain.child_of(block, time=block.time + 12))
        await scene.look()
    assert await scene.status(order) is OrderStatus.MINING
    assert scene.relay.cancelled == []
    assert scene.sends(order) == 1


async def test_a_clock_that_falls_back_only_waits(scene: Scene) -> None:
    order = await scene.order()
    scene.clock.advance(-3600)
    await scene.mine(blocks=150)
    assert await scene.status(order) is OrderStatus.MINING
    scene.clock.advance(3600)
    await scene.mine()
    assert await scene.verdict(order) == (OrderStatus.CANCELLED, FailureCode.EXPIRED)


async def test_an_order_posted_by_a_clock_behind_is_found_all_the_same(scene: Scene) -> None:
    await scene.mine(blocks=3)
    order = await scene.order(created_at_ms=scene.clock.now_ms() - 3_600_000)
    await scene.mine(Tx.of(order), blocks=2)
    assert await scene.status(order) is OrderStatus.CONFIRMED


@pytest.mark.parametrize("method", ["receipts", "nonces", "head", "block_by_hash"])
async def test_nothing_expires_while_the_node_is_away(scene: Scene, method: str) -> None:
    order = await scene.order()
    scene.chain.failing = {method}
    await scene.mine(blocks=200)
    assert await scene.status(order) in (OrderStatus.SUBMITTED, OrderStatus.MINING)
    assert scene.relay.cancelled == []
    scene.chain.failing = set()
    await scene.mine(Tx.of(order), blocks=2)
    assert await scene.status(order) is OrderStatus.CONFIRMED


async def test_a_block_nobody_read_is_found_by_the_last_look(scene: Scene) -> None:
    order = await scene.order()
    await scene.mine()
    scene.chain.mine(Tx.of(order))
    scene.chain.mine(blocks=200)
    await scene.look()
    assert await scene.moves(order) == ["new_head", "included"]
    assert scene.relay.cancelled == []


async def test_a_nonce_that_a_reorg_frees_again_ends_nothing(scene: Scene) -> None:
    order = await scene.order(expires_at_ms=0)
    await scene.mine()
    scene.chain.mine(Tx.of(order, **RIVAL))  # not seen: the gap is longer than what is read
    scene.chain.mine(blocks=200)
    await scene.look()
    await scene.mine()
    scene.chain.reorg(202, length=210)
    await scene.look()
    await scene.mine(blocks=8)
    scene.chain.finalized = scene.chain.blocks[-1].number
    await scene.mine(blocks=16)
    assert await scene.verdict(order) == (OrderStatus.CANCELLED, FailureCode.EXPIRED)
    assert (await scene.now(order)).watched
    await scene.mine(Tx.of(order), blocks=2)
    assert await scene.verdict(order) == (OrderStatus.CONFIRMED, None)
