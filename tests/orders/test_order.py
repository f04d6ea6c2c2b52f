"""The transition table and its laws."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.rules.orders.order import (
    AT_LARGE,
    TRANSITIONS,
    WITHOUT_BLOCK,
    Failure,
    FailureCode,
    IllegalTransition,
    Order,
    OrderEventType,
    OrderStatus,
)
from tests.stored_orders import inclusion, order

OPEN = {OrderStatus.PENDING, OrderStatus.SUBMITTED, OrderStatus.MINING}
BY_CHAIN = {OrderEventType.INCLUDED, OrderEventType.REVERTED, OrderEventType.REORGANISED}


def evidence(event_type: OrderEventType, target: OrderStatus) -> dict[str, Any]:
    """Return what the move needs to be believed."""
    given: dict[str, Any] = {}
    if event_type in (OrderEventType.INCLUDED, OrderEventType.REVERTED):
        given["inclusion"] = inclusion(succeeded=event_type is OrderEventType.INCLUDED)
    if target in (OrderStatus.FAILED, OrderStatus.CANCELLED):
        code = {
            OrderEventType.REVERTED: FailureCode.REVERTED,
            OrderEventType.NONCE_TAKEN: FailureCode.REPLACED,
            OrderEventType.NOT_SENT: FailureCode.NOT_SENT,
            OrderEventType.EXPIRED: FailureCode.EXPIRED,
        }.get(event_type, FailureCode.REFUSED)
        given["failure"] = Failure(code, "why")
    return given


def moved(before: Order, event_type: OrderEventType) -> Order:
    """Return the order after a move of the table."""
    target = TRANSITIONS[before.status][event_type]
    return before.after(event_type, **evidence(event_type, target))


def test_every_status_has_a_row_and_every_sighting_a_use() -> None:
    assert set(TRANSITIONS) == set(OrderStatus)
    assert {s for row in TRANSITIONS.values() for s in row} == set(OrderEventType)


def test_any_open_order_can_fail_be_cancelled_and_be_confirmed() -> None:
    for status in OPEN:
        assert set(TRANSITIONS[status].values()) >= {
            OrderStatus.CONFIRMED,
            OrderStatus.FAILED,
            OrderStatus.CANCELLED,
        }


def test_terminal_states_are_left_only_by_the_chain_or_by_the_client() -> None:
    for status in set(OrderStatus) - OPEN:
        assert status.is_terminal
        assert set(TRANSITIONS[status]) <= BY_CHAIN | {
            OrderEventType.NONCE_TAKEN,
            OrderEventType.REPOSTED,
        }
    assert set(TRANSITIONS[OrderStatus.CONFIRMED]) == {OrderEventType.REORGANISED}


@given(data=st.data(), steps=st.integers(1, 30))
def test_a_walk_over_the_table_keeps_every_law(data: st.DataObject, steps: int) -> None:
    now = order()
    for _ in range(steps):
        choices = sorted(c for c in TRANSITIONS[now.status] if now.can_move_by(c))
        event_type = data.draw(st.sampled_from(choices))
        before, now = now, moved(now, event_type)
        assert now.status is TRANSITIONS[before.status][event_type]
        assert (now.failure is None) == (
            now.status not in (OrderStatus.FAILED, OrderStatus.CANCELLED)
        )
        assert now.status is not OrderStatus.CONFIRMED or now.inclusion is not None
        assert now.status not in OPEN or now.inclusion is None
        if before.status.is_terminal and now.status in OPEN:
            assert event_type in (OrderEventType.REORGANISED, OrderEventType.REPOSTED)


@given(status=st.sampled_from(OrderStatus), event_type=st.sampled_from(OrderEventType))
def test_a_move_outside_the_table_is_refused(
    status: OrderStatus, event_type: OrderEventType
) -> None:
    before = order(status=status, failure=Failure(FailureCode.EXPIRED, "why"))
    target = TRANSITIONS[status].get(event_type)
    if target is None:
        with pytest.raises(IllegalTransition):
            before.after(event_type)
    else:
        assert moved(before, event_type).status is target


@pytest.mark.parametrize(
    ("event_type", "given"),
    [
        (OrderEventType.INCLUDED, {}),
        (OrderEventType.INCLUDED, {"inclusion": inclusion(succeeded=False)}),
        (OrderEventType.REVERTED, {"failure": Failure(FailureCode.REVERTED, "why")}),
        (OrderEventType.EXPIRED, {}),
        (OrderEventType.RELAY_ACCEPTED, {"failure": Failure(FailureCode.REFUSED, "why")}),
        (OrderEventType.RELAY_ACCEPTED, {"inclusion": inclusion()}),
    ],
)
def test_a_verdict_without_its_evidence_is_refused(
    event_type: OrderEventType, given: dict[str, Any]
) -> None:
    with pytest.raises(IllegalTransition):
        order().after(event_type, **given)


@pytest.mark.parametrize("code", FailureCode)
def test_only_what_no_block_decided_may_be_posted_again(code: FailureCode) -> None:
    dead = order(status=OrderStatus.CANCELLED, failure=Failure(code, "why"))
    assert dead.may_resubmit == (code in WITHOUT_BLOCK)
    if not dead.may_resubmit:
        with pytest.raises(IllegalTransition):
            dead.after(OrderEventType.REPOSTED)
    else:
        assert dead.after(OrderEventType.REPOSTED).status is OrderStatus.PENDING


@pytest.mark.parametrize("code", FailureCode)
def test_the_use_of_its_nonce_corrects_only_what_was_given_up(code: FailureCode) -> None:
    dead = order(status=OrderStatus.FAILED, failure=Failure(code, "why"))
    assert dead.can_move_by(OrderEventType.NONCE_TAKEN) == (code in AT_LARGE)
    if code in AT_LARGE:
        why = Failure(FailureCode.REPLACED, "another took it")
        assert dead.after(OrderEventType.NONCE_TAKEN, failure=why).status is OrderStatus.CANCELLED
    else:
        with pytest.raises(IllegalTransition):
            dead.after(OrderEventType.NONCE_TAKEN, failure=Failure(code, "why"))


def test_a_reorganisation_takes_back_where_it_was() -> None:
    confirmed = order(status=OrderStatus.MINING).after(
        OrderEventType.INCLUDED, inclusion=inclusion()
    )
    assert confirmed.after(OrderEventType.REORGANISED).inclusion is None


def test_the_signed_bytes_do_not_appear_in_a_representation() -> None:
    assert "raw" not in repr(order(raw=b"\x02raw"))
