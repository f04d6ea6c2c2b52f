"""The tracker's memory and its decisions, without a database or a chain."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.rules.orders.evidence import replacement_failure
from quietswap.rules.orders.order import Failure, FailureCode, Order, OrderStatus
from quietswap.rules.orders.tracking import (
    BlockRef,
    CanonicalChain,
    Discrepancy,
    Replacement,
    TrackedOrder,
    depth,
    resend_at,
    safe_now_ms,
    was_offered,
)
from quietswap.rules.tx.address import Address
from quietswap.service.orders.tracking.due_queue import DueQueue
from quietswap.service.orders.tracking.index import OrderIndex
from tests.signing import OTHER_WALLET
from tests.stored_orders import NOW_MS, RULES, inclusion, order

OTHER = Address(OTHER_WALLET.address)


def ref(number: int, branch: str = "a") -> BlockRef:
    return BlockRef(number, f"{branch}{number}", NOW_MS // 1000 + 12 * number)


def canon(*numbers: int) -> CanonicalChain:
    made = CanonicalChain(keep=4)
    made.restart(ref(numbers[0]))
    for number in numbers[1:]:
        made.extend(ref(number))
    return made


def test_a_canon_holds_what_it_was_told_and_forgets_the_oldest() -> None:
    chain = canon(1, 2, 3, 4, 5, 6)
    assert chain.tip == ref(6)
    assert [chain.at(n) for n in (2, 3)] == [None, ref(3)]
    assert chain.holds(4, "a4")
    assert not chain.holds(4, "b4")


def test_a_canon_rewinds_to_an_ancestor_and_grows_another_branch() -> None:
    chain = canon(1, 2, 3)
    assert chain.rewind(1) == [ref(3), ref(2)]
    assert chain.tip == ref(1)
    chain.extend(ref(2, "b"))
    assert chain.holds(2, "b2")
    with pytest.raises(AssertionError):
        chain.extend(ref(4))


@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["set", "drop", "take"]), st.sampled_from("abcd"), st.integers(0, 9)
        )
    )
)
def test_a_schedule_does_what_a_plain_table_does(steps: list[tuple[str, str, int]]) -> None:
    schedule, table = DueQueue(), dict[str, int]()
    for action, key, moment in steps:
        if action == "set":
            schedule.set(key, moment)
            table[key] = moment
        elif action == "drop":
            schedule.set(key, None)
            table.pop(key, None)
        else:
            due = sorted((m, k) for k, m in table.items() if m <= moment)[:2]
            assert schedule.take(moment, 2) == [k for _, k in due]
            for _, k in due:
                del table[k]
        assert len(schedule) == len(table)


@pytest.mark.parametrize(
    ("to", "size", "code"),
    [
        (order().wallet, 0, FailureCode.USER_CANCELLED),
        (order().wallet, 1, FailureCode.REPLACED),
        (OTHER, 0, FailureCode.REPLACED),
        (None, 0, FailureCode.REPLACED),
    ],
)
def test_an_empty_self_transfer_is_a_cancellation(
    to: str | None, size: int, code: FailureCode
) -> None:
    assert replacement_failure(order(), "0xdd", to, size).code is code


def test_the_tip_has_one_confirmation() -> None:
    assert (depth(100, 100), depth(101, 100)) == (1, 2)


@pytest.mark.parametrize(
    ("status", "attempts", "expected"),
    [
        (OrderStatus.PENDING, 1, 101),
        (OrderStatus.PENDING, 2, 105),
        (OrderStatus.SUBMITTED, 1, 105),
        (OrderStatus.MINING, 9, 105),
    ],
)
def test_bytes_go_again_one_block_after_ambiguity_then_every_few(
    status: OrderStatus, attempts: int, expected: int
) -> None:
    watch = TrackedOrder(order(status=status, attempts=attempts, sent_head=100))
    assert resend_at(watch, RULES) == expected
    watch.must_go_out = True
    assert resend_at(watch, RULES) == 0


def test_an_order_was_offered_once_a_block_came_after_its_acceptance() -> None:
    accepted = order(status=OrderStatus.SUBMITTED, submitted_head=100)
    assert [was_offered(accepted, head) for head in (99, 100, 101)] == [False, False, True]


def test_time_is_over_only_when_both_clocks_say_so() -> None:
    assert safe_now_ms(NOW_MS, NOW_MS // 1000 + 5) == NOW_MS
    assert safe_now_ms(NOW_MS + 3_600_000, NOW_MS // 1000) == NOW_MS + 60_000


def test_a_doubt_decides_at_the_second_block_only() -> None:
    watch = TrackedOrder(order())
    assert not watch.doubts(Discrepancy.NONCE_GONE, 100)
    assert not watch.doubts(Discrepancy.NONCE_GONE, 100)
    assert watch.doubts(Discrepancy.NONCE_GONE, 101)


def test_a_doubt_that_changes_or_is_dropped_begins_anew() -> None:
    watch = TrackedOrder(order())
    watch.doubts(Discrepancy.NONCE_GONE, 100)
    assert not watch.doubts(Discrepancy.UNDONE, 101)
    watch.trusts()
    assert not watch.doubts(Discrepancy.UNDONE, 102)


def watchlist(*orders: Order) -> OrderIndex:
    watches = OrderIndex(RULES)
    for each in orders:
        watches.put(each)
    return watches


def found(watches: OrderIndex, tx_hash: str, sender: Address, nonce: int) -> list[str]:
    return [w.order.order_id for w in watches.affected_by(tx_hash, sender, nonce)]


def test_a_transaction_concerns_its_order_and_all_others_of_its_nonce() -> None:
    first = order(order_id="a", tx_hash="0xa")
    second = order(order_id="b", tx_hash="0xb")
    third = order(order_id="c", tx_hash="0xc", nonce=8)
    watches = watchlist(first, second, third)
    assert found(watches, "0xa", first.wallet, 7) == ["a", "b"]
    assert found(watches, "0xz", first.wallet, 7) == ["a", "b"]
    assert found(watches, "0xz", first.wallet, 9) == []
    assert found(watches, "0xz", OTHER, 7) == []


def test_what_is_dropped_leaves_no_trace() -> None:
    watches = watchlist(order(status=OrderStatus.SUBMITTED))
    (watch,) = watches
    watches.set_block(watch, ref(1))
    watches.drop(watch)
    assert len(watches) == 0
    assert found(watches, watch.order.tx_hash, watch.order.wallet, 7) == []
    groups = (watches.accepted, watches.unsettled, watches.undone, watches.doubted)
    assert not any(groups)
    late = 10**15
    for schedule in (watches.expiry, watches.end, watches.resend_held, watches.closing):
        assert schedule.take(late, 9) == []
    assert watches.next_batch(1, 9) == []


def test_memory_holds_no_bytes() -> None:
    (watch,) = watchlist(order(raw=b"secret"))
    assert watch.order.raw is None


def test_a_block_that_goes_takes_the_places_it_gave() -> None:
    mined = order(order_id="a", tx_hash="0xa", status=OrderStatus.MINING)
    watches = watchlist(mined)
    (watch,) = watches
    watches.set_block(watch, ref(5))
    assert watches.unsettled
    watches.remove_block("a5")
    assert not watch.is_placed
    assert not watches.unsettled
    assert not watches.undone


def test_a_verdict_is_undone_with_the_block_it_rests_on() -> None:
    said = inclusion(block_number=5, block_hash="a5")
    confirmed = order(order_id="a", tx_hash="0xa", status=OrderStatus.CONFIRMED, inclusion=said)
    replaced = order(order_id="b", tx_hash="0xb", status=OrderStatus.CANCELLED, nonce=8,
                     failure=Failure(FailureCode.REPLACED, "why"))  # fmt: skip
    expired = order(order_id="c", tx_hash="0xc", status=OrderStatus.CANCELLED, nonce=9,
                    failure=Failure(FailureCode.EXPIRED, "why"))  # fmt: skip
    watches = watchlist(confirmed, replaced, expired)
    for order_id in "bc":
        watch = watches.get(order_id)
        assert watch is not None
        failure = replacement_failure(watch.order, "0xdd", OTHER, 4)
        watches.set_block(watch, None, Replacement(ref(5), failure))
    watches.remove_block("a5")
    assert sorted(watches.undone) == ["a", "b"]


def test_a_place_in_another_block_undoes_a_verdict_too() -> None:
    said = inclusion(block_number=5, block_hash="a5")
    watches = watchlist(order(status=OrderStatus.CONFIRMED, inclusion=said))
    (watch,) = watches
    watches.set_block(watch, ref(6, "b"))
    assert watches.undone
    watches.put(order(status=OrderStatus.SUBMITTED, version=1))
    assert not watches.undone
    assert watches.unsettled


def test_the_round_visits_everybody_in_turn() -> None:
    watches = watchlist(*(order(order_id=i, tx_hash=i, nonce=n) for n, i in enumerate("abcde")))
    visits = [w.order.order_id for _ in range(3) for w in watches.next_batch(1, 2)]
    assert visits == list("abcdea")
    assert len(watches.next_batch(1, 100)) == 5


def test_orders_given_up_do_not_slow_the_round_of_live_ones() -> None:
    lost = Failure(FailureCode.EXPIRED, "why")
    dead = [
        order(
            order_id=f"d{n}", tx_hash=f"d{n}", nonce=n, status=OrderStatus.CANCELLED, failure=lost
        )
        for n in range(2_000)
    ]
    watches = watchlist(*dead, *(order(order_id=i, tx_hash=i, nonce=1) for i in "abcdefgh"))
    visits = [watches.next_batch(8, 100) for _ in range(8)]
    live = [w.order.order_id for visit in visits for w in visit if w.is_open]
    assert sorted(live) == list("abcdefgh")
    assert all(len(visit) <= 100 for visit in visits)
    assert sum(not w.is_open for visit in visits for w in visit) == 8 * 25


def test_an_order_that_is_read_from_the_store_is_placed_in_its_block() -> None:
    """The time of a block is in seconds, the order's in milliseconds."""
    block = inclusion(block_number=9, block_hash="a9", block_time_ms=1_700_000_012_999)
    index = OrderIndex(RULES)
    watch = index.put(order(status=OrderStatus.CONFIRMED, inclusion=block))
    assert watch.seen == BlockRef(9, "a9", 1_700_000_012)
    assert (watch.doubted_at, watch.spared_until) == (0, 0)
