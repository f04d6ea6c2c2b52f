"""The states of a tracked order: every arrow of the table is walked, and leads to its queues."""

from dataclasses import replace

import pytest

from quietswap.rules.orders.order import Failure, FailureCode, Order, OrderStatus
from quietswap.rules.orders.tracking import BlockRef, Replacement, TrackedOrder
from quietswap.rules.orders.watch_states import QUEUES, WATCH_STEPS, Queue, WatchState
from quietswap.service.orders.tracking.index import OrderIndex
from tests.stored_orders import RULES, inclusion, order

HERE, THERE = BlockRef(10, "0x" + "0a" * 32, 0), BlockRef(11, "0x" + "0b" * 32, 0)
RIVAL = Replacement(HERE, Failure(FailureCode.REPLACED, "by another"))
OPEN = order(status=OrderStatus.SUBMITTED)
MINED = inclusion(block_number=HERE.number, block_hash=HERE.hash)


def ended(code: FailureCode, status: OrderStatus = OrderStatus.CANCELLED) -> Order:
    return replace(OPEN, status=status, failure=Failure(code, "why"))


CONFIRMED = replace(OPEN, status=OrderStatus.CONFIRMED, inclusion=MINED)
EXPIRED, REPLACED = ended(FailureCode.EXPIRED), ended(FailureCode.REPLACED)
PENDING = order(status=OrderStatus.PENDING)
S = WatchState
WALKS: dict[tuple[WatchState, WatchState], list[object]] = {
    (S.SEARCHED, S.FOUND): [OPEN, HERE],
    (S.SEARCHED, S.ENDED): [OPEN, EXPIRED],
    (S.FOUND, S.SEARCHED): [OPEN, HERE, "removed"],
    (S.FOUND, S.SETTLED): [OPEN, HERE, CONFIRMED],
    (S.FOUND, S.CONTRADICTED): [PENDING, HERE, ended(FailureCode.REFUSED, OrderStatus.FAILED)],
    (S.ENDED, S.CONTRADICTED): [EXPIRED, HERE],
    (S.ENDED, S.SETTLED): [EXPIRED, RIVAL],
    (S.ENDED, S.SPENT): [EXPIRED, "gone"],
    (S.ENDED, S.UNDONE): [REPLACED, "undone"],
    (S.ENDED, S.SEARCHED): [EXPIRED, PENDING],
    (S.SPENT, S.ENDED): [EXPIRED, "gone", "free"],
    (S.SPENT, S.UNDONE): [REPLACED, "gone", "undone"],
    (S.SPENT, S.CONTRADICTED): [EXPIRED, "gone", HERE],
    (S.SPENT, S.SETTLED): [EXPIRED, "gone", RIVAL],
    (S.SPENT, S.SEARCHED): [EXPIRED, "gone", PENDING],
    (S.CONTRADICTED, S.SETTLED): [EXPIRED, HERE, CONFIRMED],
    (S.CONTRADICTED, S.ENDED): [EXPIRED, HERE, "removed"],
    (S.CONTRADICTED, S.FOUND): [EXPIRED, HERE, PENDING],
    (S.SETTLED, S.UNDONE): [CONFIRMED, "removed"],
    (S.SETTLED, S.ENDED): [EXPIRED, RIVAL, "removed"],
    (S.SETTLED, S.CONTRADICTED): [EXPIRED, RIVAL, HERE],
    (S.SETTLED, S.FOUND): [EXPIRED, RIVAL, PENDING],
    (S.UNDONE, S.SEARCHED): [CONFIRMED, "removed", OPEN],
    (S.UNDONE, S.FOUND): [CONFIRMED, THERE, OPEN],
}
"""For each arrow what is learnt, in order: an order as stored, a block, a rival, or a word."""


def walked(steps: list[object]) -> tuple[OrderIndex, list[WatchState]]:
    watches, states = OrderIndex(RULES), list[WatchState]()
    for step in steps:
        watch = watches.get(OPEN.order_id)
        if isinstance(step, Order):
            watch = watches.put(step)
        else:
            assert watch is not None
            learn(watches, watch, step)
        states.append(watch.state)
    return watches, states


def learn(watches: OrderIndex, watch: TrackedOrder, step: object) -> None:
    if isinstance(step, BlockRef):
        watches.set_block(watch, step)
    elif isinstance(step, Replacement):
        watches.set_block(watch, None, step)
    elif step == "removed":
        watches.remove_block(HERE.hash)
    elif step == "undone":
        watches.mark_reorged(watch)
    else:
        watch.gone_since = 12 if step == "gone" else None
        watches.reindex(watch)


def test_every_arrow_is_walked() -> None:
    arrows = {(a, b) for a, row in WATCH_STEPS.items() for b in row}
    assert set(WALKS) == arrows
    assert set(WATCH_STEPS) == set(QUEUES) == set(WatchState)


@pytest.mark.parametrize(("before", "after"), WALKS)
def test_an_arrow_leads_from_state_to_state(before: WatchState, after: WatchState) -> None:
    _, states = walked(WALKS[before, after])
    assert states[-2:] == [before, after]


@pytest.mark.parametrize(("before", "after"), WALKS)
def test_a_state_is_in_its_queues_and_in_no_other(before: WatchState, after: WatchState) -> None:
    watches, states = walked(WALKS[before, after])
    order_id = OPEN.order_id
    held = {
        Queue.RESEND: len(watches.resend_pending) + len(watches.resend_held),
        Queue.EXPIRY: len(watches.expiry),
        Queue.CLOSING: len(watches.closing),
        Queue.UNSETTLED: int(order_id in watches.unsettled),
        Queue.UNDONE: int(order_id in watches.undone),
    }
    assert held == {queue: int(queue in QUEUES[states[-1]]) for queue in Queue}


def test_an_open_state_is_the_only_one_that_is_sent_or_expires() -> None:
    for state, queues in QUEUES.items():
        is_open = state in (WatchState.SEARCHED, WatchState.FOUND)
        assert (Queue.EXPIRY in queues) == is_open
        assert Queue.RESEND not in queues or is_open
