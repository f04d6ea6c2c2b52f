"""A signed swap is run before it is sent: what would fail is refused, and leaves no trace."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from quietswap.rules.chain.records import DryRun
from quietswap.rules.errors.requests import NonceTooLow, ValidationError
from quietswap.service.relays.answers import RelayOutcome
from tests.orders.submitting import KEY, Desk, open_desk, swap_submission
from tests.stored_orders import swap_quote


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with open_desk() as desk:
        await desk.storage.quotes.save(swap_quote())
        yield desk


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (DryRun(False, reason="STF"), "STF"),
        (DryRun(False), "it reverts without a reason"),
        (DryRun(True, 2_899_999_999), "it would deliver 2899999999, less than its minimum"),
    ],
)
async def test_what_would_fail_is_refused_and_nothing_is_sent(
    desk: Desk, run: DryRun, told: str
) -> None:
    desk.chain.dry_run = run
    with pytest.raises(ValidationError) as error:
        await desk.swap(KEY, swap_submission())
    assert error.value.details is not None
    assert error.value.details["reason"] == "WOULD_REVERT"
    assert told in error.value.details["revertReason"]
    assert "Nothing was sent" in (error.value.suggestion or "")
    assert desk.relay.sent == []
    assert await desk.storage.orders.watched() == []


async def test_the_same_bytes_are_taken_once_they_would_work(desk: Desk) -> None:
    desk.chain.dry_run = DryRun(False, reason="STF")
    with pytest.raises(ValidationError):
        await desk.swap(KEY, swap_submission())
    desk.chain.dry_run = DryRun(True, 2_900_000_000)
    taken = await desk.swap(KEY, swap_submission())
    (posted, _) = await desk.storage.orders.events(taken.order.order_id)
    assert posted.evidence == "bytes committed; simulated: it delivers 2900000000"


async def test_a_node_that_cannot_tell_holds_nothing_back_and_the_diary_says_so(
    desk: Desk,
) -> None:
    desk.chain.dry_run = DryRun(None, reason="the node has no method for it")
    taken = await desk.swap(KEY, swap_submission())
    (posted, _) = await desk.storage.orders.events(taken.order.order_id)
    assert posted.evidence == "bytes committed; not simulated: the node has no method for it"


async def test_the_wallets_figures_come_first(desk: Desk) -> None:
    desk.chain.dry_run = DryRun(False, reason="STF")
    desk.chain.facts = replace(desk.chain.facts, nonce=8)
    with pytest.raises(NonceTooLow):
        await desk.swap(KEY, swap_submission())


async def test_it_costs_no_further_round_trip(desk: Desk) -> None:
    await desk.swap(KEY, swap_submission())
    assert desk.chain.calls == {"wallet": 1}


async def test_an_answer_that_decides_nothing_is_in_the_diary(desk: Desk) -> None:
    desk.relay.answers(RelayOutcome.UNKNOWN)
    taken = await desk.swap(KEY, swap_submission())
    last = (await desk.storage.orders.events(taken.order.order_id))[-1]
    assert (last.event_type, last.evidence) == (
        "relay_said",
        "the relay's answer has no known meaning",
    )
    assert taken.order == await desk.storage.orders.find(taken.order.order_id)
