"""Submissions that are interrupted, overtaken or cannot be written down."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from quietswap.rules.errors.base import ProviderUnavailable
from quietswap.rules.errors.requests import NonceTooLow, ValidationError
from quietswap.rules.orders.order import FailureCode, Order, OrderEventType, OrderStatus, Transition
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.rules.tx.signed import decode
from quietswap.service.orders.transition import apply_transition
from quietswap.service.relays.answers import RelayOutcome
from tests.orders.submitting import KEY, Desk, open_desk, swap_submission
from tests.scripted_chain import Tx
from tests.signing import sign
from tests.stored_orders import NOW_MS, swap_quote

HASH = decode(sign()).hash


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with open_desk() as desk:
        await desk.storage.quotes.save(swap_quote())
        desk.relay.gate = asyncio.Event()
        yield desk


async def posted(desk: Desk) -> "asyncio.Task[Any]":
    """Start a post and return it while the relay has not answered yet."""
    post = asyncio.create_task(desk.swap(KEY, swap_submission()))
    await desk.relay.reached.wait()
    return post


def answer(desk: Desk) -> None:
    """Let the relay answer."""
    assert desk.relay.gate is not None
    desk.relay.gate.set()


async def stored(desk: Desk) -> Order:
    """Return the order of the sample bytes."""
    order = await desk.storage.orders.by_hash(HASH)
    assert order is not None
    return order


async def touch(desk: Desk) -> None:
    """Claim the order as the tracker does before it sends it again."""
    order = await stored(desk)
    assert await desk.storage.orders.update(replace(order, attempts=2), None)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (RelayOutcome.ACCEPTED, OrderStatus.SUBMITTED),
        (RelayOutcome.NOT_SENT, OrderStatus.FAILED),
        (RelayOutcome.UNKNOWN, OrderStatus.PENDING),
    ],
)
async def test_a_client_that_hangs_up_does_not_stop_the_send(
    desk: Desk, outcome: RelayOutcome, expected: OrderStatus
) -> None:
    desk.relay.answers(outcome)
    post = await posted(desk)
    post.cancel()
    with pytest.raises(asyncio.CancelledError):
        await post
    answer(desk)
    await desk.delivery.drain()
    assert (await stored(desk)).status is expected
    assert len(desk.relay.sent) == 1


async def test_an_order_the_tracker_touched_is_not_said_to_be_unsent(desk: Desk) -> None:
    """The tracker claims an order before it sends: then nobody can know that nothing was sent."""
    desk.relay.answers(RelayOutcome.NOT_SENT)
    post = await posted(desk)
    await touch(desk)
    answer(desk)
    assert (await post).order.status is OrderStatus.PENDING
    assert (await stored(desk)).status is OrderStatus.PENDING


async def test_an_acceptance_is_written_over_the_trackers_claim(desk: Desk) -> None:
    post = await posted(desk)
    await touch(desk)
    answer(desk)
    assert (await post).order.status is OrderStatus.SUBMITTED
    assert (await stored(desk)).attempts == 2


async def test_a_refusal_does_not_undo_what_the_tracker_saw(desk: Desk) -> None:
    desk.relay.answers(RelayOutcome.INVALID)
    post = await posted(desk)
    step = Transition(OrderEventType.RELAY_ACCEPTED, "seen by the tracker")
    await apply_transition(desk.storage.orders, await stored(desk), step, NOW_MS)
    step = Transition(OrderEventType.NEW_HEAD, "seen by the tracker")
    await apply_transition(desk.storage.orders, await stored(desk), step, NOW_MS)
    answer(desk)
    assert (await post).order.status is OrderStatus.MINING
    assert (await stored(desk)).status is OrderStatus.MINING


async def test_a_refusal_outlives_the_trackers_claim(desk: Desk) -> None:
    desk.relay.answers(RelayOutcome.INVALID)
    post = await posted(desk)
    await touch(desk)
    answer(desk)
    with pytest.raises(ValidationError, match="refused it"):
        await post
    assert (await stored(desk)).status is OrderStatus.FAILED


@pytest.mark.parametrize("outcome", [RelayOutcome.NOT_SENT, RelayOutcome.INVALID])
async def test_a_verdict_that_cannot_be_written_down_is_not_spoken(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, outcome: RelayOutcome
) -> None:
    """The row says pending, so the tracker will send it: "nothing was sent" would be a lie."""

    async def down(*_: Any) -> bool:
        raise StoreUnavailable

    desk.relay.answers(outcome)
    monkeypatch.setattr(type(desk.storage.orders), "update", down)
    answer(desk)
    taken = await desk.swap(KEY, swap_submission())
    assert taken.order.status is OrderStatus.PENDING


async def test_nonce_too_low_of_an_order_already_mined_is_an_acceptance(desk: Desk) -> None:
    desk.relay.answers(RelayOutcome.NONCE_USED)
    post = await posted(desk)
    desk.chain.mine(Tx.of(await stored(desk)))
    answer(desk)
    assert (await post).order.status is OrderStatus.SUBMITTED


async def test_nonce_too_low_is_believed_when_the_node_says_so_too(desk: Desk) -> None:
    desk.relay.answers(RelayOutcome.NONCE_USED)
    post = await posted(desk)
    desk.chain.mine(Tx.of(await stored(desk), hash="0x" + "ee" * 32))
    answer(desk)
    with pytest.raises(NonceTooLow):
        await post
    failure = (await stored(desk)).failure
    assert failure is not None
    assert failure.code is FailureCode.REFUSED


@pytest.mark.parametrize("failing", [set(), {"receipts"}, {"nonces"}])
async def test_nonce_too_low_alone_decides_nothing(desk: Desk, failing: set[str]) -> None:
    desk.relay.answers(RelayOutcome.NONCE_USED)
    desk.chain.failing = failing
    answer(desk)
    assert (await desk.swap(KEY, swap_submission())).order.status is OrderStatus.PENDING


async def test_an_unreadable_receipt_decides_nothing(desk: Desk) -> None:
    desk.relay.answers(RelayOutcome.NONCE_USED)
    desk.chain.unreadable = {HASH}
    answer(desk)
    assert (await desk.swap(KEY, swap_submission())).order.status is OrderStatus.PENDING


async def test_a_tier_nobody_serves_any_more_sends_nothing(desk: Desk) -> None:
    quote = swap_quote()
    await desk.storage.quotes.save(replace(quote, quote_id="q9", tier=9))
    with pytest.raises(ProviderUnavailable):
        await desk.swap(KEY, swap_submission(selectedTier=9))
    assert await desk.storage.orders.by_hash(HASH) is None
