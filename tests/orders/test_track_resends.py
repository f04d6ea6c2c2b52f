"""Sending many orders again: what is claimed goes out at once, what has ended does not."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

import pytest

from quietswap.rules.orders.order import (
    Failure,
    FailureCode,
    Order,
    OrderEventType,
    OrderStatus,
    Transition,
)
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.orders.tracking.resend import MOST_RESENT, PARALLEL
from quietswap.service.orders.transition import apply_transition
from quietswap.service.relays.answers import RelayOutcome
from tests.orders.tracking import Scene, open_scene
from tests.waiting import eventually

DUE = 40


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with open_scene() as opened:
        yield opened


async def _held_up(scene: Scene, count: int) -> tuple[list[Order], "asyncio.Task[None]"]:
    """Return due orders and a turn that waits for the relay's answers to the first of them."""
    ends = scene.clock.now_ms() + 22_000
    orders = [
        await scene.order(OrderStatus.PENDING, attempts=1, expires_at_ms=ends) for _ in range(count)
    ]
    scene.relay.gate = asyncio.Event()
    scene.relay.answers(RelayOutcome.UNKNOWN)
    scene.chain.mine()
    turn = asyncio.create_task(scene.tracker.run_once())

    async def held() -> bool:
        return len(scene.relay.sent) >= PARALLEL

    await eventually(held)
    await asyncio.sleep(0.1)  # a turn tells nobody that it has nothing more to do
    assert len(scene.relay.sent) == PARALLEL
    return orders, turn


async def _refused(scene: Scene, orders: list[Order]) -> None:
    step = Transition(
        OrderEventType.REFUSED, "its relay refused it", Failure(FailureCode.REFUSED, "no")
    )
    for order in orders:
        await apply_transition(scene.storage.orders, order, step, scene.clock.now_ms())


async def _expired(scene: Scene, _: list[Order]) -> None:
    scene.clock.advance(30)


@pytest.mark.parametrize("end", [_refused, _expired])
async def test_what_ends_while_others_are_sent_is_not_sent(
    scene: Scene, end: Callable[[Scene, list[Order]], Awaitable[None]]
) -> None:
    orders, turn = await _held_up(scene, DUE)
    first = set(scene.relay.sent)
    waiting = [order for order in orders if order.raw not in first]
    assert len(waiting) == DUE - PARALLEL
    await end(scene, waiting)
    assert scene.relay.gate is not None
    scene.relay.gate.set()
    await turn
    assert set(scene.relay.sent) == first


async def test_what_was_not_sent_yet_when_the_process_ended_goes_out_next(scene: Scene) -> None:
    orders, turn = await _held_up(scene, MOST_RESENT)
    turn.cancel()
    await asyncio.gather(turn, return_exceptions=True)
    scene.relay.gate = None
    await scene.tracker.start()
    await scene.mine()
    assert {order.raw for order in orders} <= set(scene.relay.sent)


async def test_a_block_sends_only_so_many_again(scene: Scene) -> None:
    for _ in range(MOST_RESENT + 6):
        await scene.order(OrderStatus.PENDING, attempts=1)
    scene.relay.answers(RelayOutcome.UNKNOWN)
    await scene.mine()
    assert len(scene.relay.sent) == MOST_RESENT
    await scene.mine()
    assert len(set(scene.relay.sent)) == MOST_RESENT + 6


async def test_what_is_claimed_goes_out_whatever_becomes_of_the_rest(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved, due = [await scene.order(OrderStatus.PENDING, attempts=1) for _ in range(2)]
    scene.relay.answers(RelayOutcome.UNKNOWN)
    orders = scene.storage.orders
    claim = orders.claim

    async def late(wanted: Sequence[Order], head: int) -> Mapping[str, bytes]:
        assert await orders.update(moved, None)  # by somebody else, in between
        monkeypatch.setattr(orders, "find", away)
        return await claim(wanted, head)

    async def away(_order_id: str) -> None:
        raise StoreUnavailable("the database is away")

    monkeypatch.setattr(orders, "claim", late)
    scene.chain.mine()
    with pytest.raises(StoreUnavailable):
        await scene.tracker.run_once()
    assert (scene.sends(due), scene.sends(moved)) == (1, 0)


async def test_at_most_sixteen_orders_are_sent_again_at_the_same_time(scene: Scene) -> None:
    """The relay holds its answers back, so no further order is sent until one comes."""
    for _ in range(20):
        await scene.order(OrderStatus.PENDING)
    scene.relay.gate = asyncio.Event()
    scene.chain.mine()
    turn = asyncio.create_task(scene.look())

    async def are_sent() -> bool:
        return len(scene.relay.sent) >= 16

    await eventually(are_sent)
    for _ in range(100):
        await asyncio.sleep(0)
    assert len(scene.relay.sent) == 16
    scene.relay.gate.set()
    await turn
    assert len(scene.relay.sent) == 20
