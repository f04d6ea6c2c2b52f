"""Ids of orders lie in the order of time, so that new ones share a block of an index."""

from quietswap.rules.orders.order_ids import new_order_id
from tests.storage.examples import HandClock


def test_later_ids_sort_behind_earlier_ones(clock: HandClock) -> None:
    ids = []
    for _ in range(20):
        ids.append(new_order_id("ord", clock.now_ms()))
        clock.ms += 1
    assert ids == sorted(ids)
    assert all(len(made.removeprefix("ord_")) == 32 for made in ids)


def test_ids_of_one_moment_differ(clock: HandClock) -> None:
    assert len({new_order_id("ord", clock.now_ms()) for _ in range(1000)}) == 1000
