"""The transition table and its laws."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.domain.order import (
    TRANSITIONS,
    WITHOUT_BLOCK,
    Failure,
    FailureCode,
    IllegalTransition,
    Order,
    Sighting,
    Status,
)
from tests.orders import inclusion, order

OPEN = {Status.PENDING, Status.SUBMITTED, Status.MINING}
BY_CHAIN = {Sighting.INCLUDED, Sighting.REVERTED, Sighting.REORGANISED}


def evidence(sighting: Sighting, target: Status) -> dict[str, Any]:
    """Return what the move needs to be believed."""
    given: dict[str, Any] = {}
    if sighting in (Sighting.INCLUDED, Sighting.REVERTED):
        given["inclusion"] = inclusion(succeeded=sighting is Sighting.INCLUDED)
    if target in (Status.FAILED, Status.CANCELLED):
        code = {
            Sighting.REVERTED: FailureCode.REVERTED,
            Sighting.NONCE_TAKEN: FailureCode.REPLACED,
            Sighting.NOT_SENT: FailureCode.NOT_SENT,
            Sighting.EXPIRED: FailureCode.EXPIRED,
        }.get(sighting, FailureCode.REFUSED)
        given["failure"] = Failure(code, "why")
    return given


def moved(before: Order, sighting: Sighting) -> Order:
    """Return the order after a move of the table."""
    target = TRANSITIONS[before.status][sighting]
    return before.after(sighting, **evidence(sighting, target))


def test_every_status_has_a_row_and_every_sighting_a_use() -> None:
    assert set(TRANSITIONS) == set(Status)
    assert {s for row in TRANSITIONS.values() for s in row} == set(Sighting)


def test_any_open_order_can_fail_be_cancelled_and_be_confirmed() -> None:
    for status in OPEN:
        assert set(TRANSITIONS[status].values()) >= {
            Status.CONFIRMED,
            Status.FAILED,
            Status.CANCELLED,
        }


def test_terminal_states_are_left_only_by_the_chain_or_by_the_client() -> None:
    for status in set(Status) - OPEN:
        assert status.is_terminal
        assert set(TRANSITIONS[status]) <= BY_CHAIN | {Sighting.REPOSTED}
    assert set(TRANSITIONS[Status.CONFIRMED]) == {Sighting.REORGANISED}


@given(data=st.data(), steps=st.integers(1, 30))
def test_a_walk_over_the_table_keeps_every_law(data: st.DataObject, steps: int) -> None:
    now = order()
    for _ in range(steps):
        choices = sorted(TRANSITIONS[now.status])
        if not now.may_be_reposted:
            choices = [c for c in choices if c is not Sighting.REPOSTED]
        sighting = data.draw(st.sampled_from(choices))
        before, now = now, moved(now, sighting)
        assert now.status is TRANSITIONS[before.status][sighting]
        assert (now.failure is None) == (now.status not in (Status.FAILED, Status.CANCELLED))
        assert now.status is not Status.CONFIRMED or now.inclusion is not None
        assert now.status not in OPEN or now.inclusion is None
        if before.status.is_terminal and now.status in OPEN:
            assert sighting in (Sighting.REORGANISED, Sighting.REPOSTED)


@given(status=st.sampled_from(Status), sighting=st.sampled_from(Sighting))
def test_a_move_outside_the_table_is_refused(status: Status, sighting: Sighting) -> None:
    before = order(status=status, failure=Failure(FailureCode.EXPIRED, "why"))
    target = TRANSITIONS[status].get(sighting)
    if target is None:
        with pytest.raises(IllegalTransition):
            before.after(sighting)
    else:
        assert moved(before, sighting).status is target


@pytest.mark.parametrize(
    ("sighting", "given"),
    [
        (Sighting.INCLUDED, {}),
        (Sighting.INCLUDED, {"inclusion": inclusion(succeeded=False)}),
        (Sighting.REVERTED, {"failure": Failure(FailureCode.REVERTED, "why")}),
        (Sighting.EXPIRED, {}),
        (Sighting.RELAY_ACCEPTED, {"failure": Failure(FailureCode.REFUSED, "why")}),
        (Sighting.RELAY_ACCEPTED, {"inclusion": inclusion()}),
    ],
)
def test_a_verdict_without_its_evidence_is_refused(
    sighting: Sighting, given: dict[str, Any]
) -> None:
    with pytest.raises(IllegalTransition):
        order().after(sighting, **given)


@pytest.mark.parametrize("code", FailureCode)
def test_only_what_no_block_decided_may_be_posted_again(code: FailureCode) -> None:
    dead = order(status=Status.CANCELLED, failure=Failure(code, "why"))
    assert dead.may_be_reposted == (code in WITHOUT_BLOCK)
    if not dead.may_be_reposted:
        with pytest.raises(IllegalTransition):
            dead.after(Sighting.REPOSTED)
    else:
        assert dead.after(Sighting.REPOSTED).status is Status.PENDING


def test_a_reorganisation_takes_back_where_it_was() -> None:
    confirmed = order(status=Status.MINING).after(Sighting.INCLUDED, inclusion=inclusion())
    assert confirmed.after(Sighting.REORGANISED).inclusion is None


def test_the_signed_bytes_do_not_appear_in_a_representation() -> None:
    assert "raw" not in repr(order(raw=b"\x02raw"))
