"""What the relay's answer makes of an order, and what its client is told."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from quietswap.domain.errors import ApiError, InsufficientBalance, NonceTooLow
from quietswap.domain.order import FailureCode, Order, Status
from quietswap.domain.refusals import ProviderUnavailable, SignatureReplay, ValidationError
from quietswap.domain.signed_transaction import decode
from quietswap.ports.outside import RelayOutcome
from tests.domain.signing import sign
from tests.orders import swap_quote
from tests.services.submitting import KEY, Desk, open_desk, swap_submission

HASH = decode(sign()).hash


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with open_desk() as desk:
        await desk.storage.quotes.save(swap_quote())
        yield desk


async def stored(desk: Desk) -> Order:
    """Return the order of the sample bytes."""
    order = await desk.storage.orders.by_hash(HASH)
    assert order is not None
    return order


async def refused(desk: Desk, submission: Any = None, kind: type[Exception] = ApiError) -> Any:
    """Post and return the error."""
    with pytest.raises(kind) as error:
        await desk.swap(KEY, submission or swap_submission())
    return error.value


@pytest.mark.parametrize("outcome", [RelayOutcome.SILENT, RelayOutcome.BUSY])
async def test_an_unknown_answer_leaves_the_order_pending(
    desk: Desk, outcome: RelayOutcome
) -> None:
    desk.relay.answers(outcome)
    assert (await desk.swap(KEY, swap_submission())).order.status is Status.PENDING
    assert (await stored(desk)).status is Status.PENDING


@pytest.mark.parametrize("outcome", [RelayOutcome.HELD, RelayOutcome.CONFLICT])
async def test_bytes_the_relay_already_holds_count_as_accepted(
    desk: Desk, outcome: RelayOutcome
) -> None:
    desk.relay.answers(outcome)
    assert (await desk.swap(KEY, swap_submission())).order.status is Status.SUBMITTED


async def test_what_was_certainly_not_sent_is_failed_and_says_so(desk: Desk) -> None:
    desk.relay.answers(RelayOutcome.NOT_SENT)
    error = await refused(desk, kind=ProviderUnavailable)
    order = await stored(desk)
    assert error.details == {"reason": "NOT_SENT", "orderId": order.order_id}
    assert (order.status, order.failure and order.failure.code) == (
        Status.FAILED,
        FailureCode.NOT_SENT,
    )
    await refused(desk, kind=SignatureReplay)


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (RelayOutcome.NO_FUNDS, InsufficientBalance),
        (RelayOutcome.INVALID, ValidationError),
        (RelayOutcome.WOULD_REVERT, ValidationError),
    ],
)
async def test_a_refusal_has_its_code_and_the_order_is_kept(
    desk: Desk, outcome: RelayOutcome, kind: type[ApiError]
) -> None:
    desk.relay.answers(outcome)
    await refused(desk, kind=kind)
    order = await stored(desk)
    assert (order.status, order.failure and order.failure.code) == (
        Status.FAILED,
        FailureCode.REFUSED,
    )
    assert order.watched


async def test_a_relay_that_counts_less_than_the_node_is_named(desk: Desk) -> None:
    desk.relay.answers(RelayOutcome.NO_FUNDS)
    error = await refused(desk, kind=InsufficientBalance)
    assert int(str(error.details["available"])) >= int(str(error.details["required"]))
    assert error.message.startswith("the relay says the wallet cannot pay")
    assert "wait for them" in (error.suggestion or "")


async def test_a_conflict_with_another_live_order_of_the_nonce_is_refused(desk: Desk) -> None:
    await desk.swap(KEY, swap_submission())
    other = swap_quote(quote_id="q2", params=replace(swap_quote().params, gas_limit=300_000))
    await desk.storage.quotes.save(other)
    desk.relay.answers(RelayOutcome.CONFLICT)
    error = await refused(desk, swap_submission(sign(gas=300_000)), NonceTooLow)
    assert error.details == {"provided": 7, "expected": 8}


async def test_two_live_orders_may_share_a_nonce_when_the_relay_takes_both(desk: Desk) -> None:
    await desk.swap(KEY, swap_submission())
    other = swap_quote(quote_id="q2", params=replace(swap_quote().params, gas_limit=300_000))
    await desk.storage.quotes.save(other)
    taken = await desk.swap(KEY, swap_submission(sign(gas=300_000)))
    assert taken.order.status is Status.SUBMITTED
    assert await desk.storage.orders.live_nonces(taken.order.wallet) == [7, 7]
