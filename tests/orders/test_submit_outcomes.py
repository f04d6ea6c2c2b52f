"""What the relay's answer makes of an order, and what its client is told."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from quietswap.rules.errors.base import ProviderUnavailable, RequestError
from quietswap.rules.errors.requests import (
    InsufficientBalance,
    NonceTooLow,
    SignatureReplay,
    ValidationError,
)
from quietswap.rules.orders.nonces import OwnNonces, next_nonce
from quietswap.rules.orders.order import FailureCode, Order, OrderStatus
from quietswap.rules.orders.request import SubmittedSwap
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import decode
from quietswap.service.relays.answers import RelayOutcome
from tests.orders.submitting import KEY, OTHER_KEY, Desk, open_desk, swap_submission
from tests.scripted_chain import Tx
from tests.signing import WALLET, sign
from tests.stored_orders import MINUTE_MS, swap_quote

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


async def refused(desk: Desk, submission: Any = None, kind: type[Exception] = RequestError) -> Any:
    """Post and return the error."""
    with pytest.raises(kind) as error:
        await desk.swap(KEY, submission or swap_submission())
    return error.value


@pytest.mark.parametrize("outcome", [RelayOutcome.UNKNOWN, RelayOutcome.BUSY])
async def test_an_unknown_answer_leaves_the_order_pending(
    desk: Desk, outcome: RelayOutcome
) -> None:
    desk.relay.answers(outcome)
    assert (await desk.swap(KEY, swap_submission())).order.status is OrderStatus.PENDING
    assert (await stored(desk)).status is OrderStatus.PENDING


@pytest.mark.parametrize("outcome", [RelayOutcome.ALREADY_KNOWN, RelayOutcome.CONFLICT])
async def test_bytes_the_relay_already_holds_count_as_accepted(
    desk: Desk, outcome: RelayOutcome
) -> None:
    desk.relay.answers(outcome)
    assert (await desk.swap(KEY, swap_submission())).order.status is OrderStatus.SUBMITTED


async def test_what_was_certainly_not_sent_is_failed_and_says_so(desk: Desk) -> None:
    desk.relay.answers(RelayOutcome.NOT_SENT)
    error = await refused(desk, kind=ProviderUnavailable)
    order = await stored(desk)
    assert error.details == {"reason": "NOT_SENT", "orderId": order.order_id}
    assert (order.status, order.failure and order.failure.code) == (
        OrderStatus.FAILED,
        FailureCode.NOT_SENT,
    )
    assert not order.is_at_large


async def test_bytes_that_were_not_sent_are_taken_again_by_the_same_order(desk: Desk) -> None:
    desk.relay.answers(RelayOutcome.NOT_SENT, RelayOutcome.NOT_SENT, RelayOutcome.ACCEPTED)
    first = (await refused(desk, kind=ProviderUnavailable)).details["orderId"]
    assert (await refused(desk, kind=ProviderUnavailable)).details["orderId"] == first
    desk.clock.advance(10)
    taken = await desk.swap(KEY, swap_submission())
    assert (taken.order.order_id, taken.order.status) == (first, OrderStatus.SUBMITTED)
    assert taken.order.expires_at_ms == desk.clock.now_ms() + 30 * MINUTE_MS
    assert len(desk.relay.sent) == 3
    assert (await refused(desk, kind=SignatureReplay)).details == {"orderId": first}


async def test_unsent_bytes_posted_many_times_at_once_are_sent_once_more(desk: Desk) -> None:
    desk.relay.answers(RelayOutcome.NOT_SENT, RelayOutcome.ACCEPTED)
    await refused(desk, kind=ProviderUnavailable)
    posts = (desk.swap(KEY, swap_submission()) for _ in range(50))
    answers = await asyncio.gather(*posts, return_exceptions=True)
    assert len(desk.relay.sent) == 2
    assert {a.order.status for a in answers if isinstance(a, SubmittedSwap)} == {
        OrderStatus.SUBMITTED
    }
    assert all(isinstance(a, SubmittedSwap | SignatureReplay) for a in answers)


async def test_another_keys_unsent_bytes_are_a_replay_that_names_nothing(desk: Desk) -> None:
    desk.relay.answers(RelayOutcome.NOT_SENT, RelayOutcome.ACCEPTED)
    await refused(desk, kind=ProviderUnavailable)
    await desk.storage.quotes.save(swap_quote(quote_id="q2", client_id=OTHER_KEY.client_id))
    with pytest.raises(SignatureReplay) as replay:
        await desk.swap(OTHER_KEY, swap_submission())
    assert replay.value.details is None
    assert len(desk.relay.sent) == 1


@pytest.mark.parametrize("outcome", [RelayOutcome.INVALID, RelayOutcome.WOULD_REVERT])
async def test_bytes_a_relay_had_and_refused_are_a_replay(
    desk: Desk, outcome: RelayOutcome
) -> None:
    desk.relay.answers(outcome, RelayOutcome.ACCEPTED)
    await refused(desk)
    error = await refused(desk, kind=SignatureReplay)
    assert error.details == {"orderId": (await stored(desk)).order_id}
    assert len(desk.relay.sent) == 1


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (RelayOutcome.INSUFFICIENT_FUNDS, InsufficientBalance),
        (RelayOutcome.INVALID, ValidationError),
        (RelayOutcome.WOULD_REVERT, ValidationError),
    ],
)
async def test_a_refusal_has_its_code_and_the_order_is_kept(
    desk: Desk, outcome: RelayOutcome, kind: type[RequestError]
) -> None:
    desk.relay.answers(outcome)
    await refused(desk, kind=kind)
    order = await stored(desk)
    assert (order.status, order.failure and order.failure.code) == (
        OrderStatus.FAILED,
        FailureCode.REFUSED,
    )
    assert order.watched


@pytest.mark.parametrize(
    "outcome", [RelayOutcome.INSUFFICIENT_FUNDS, RelayOutcome.INVALID, RelayOutcome.WOULD_REVERT]
)
async def test_a_refusal_after_the_relay_had_the_bytes_never_reads_as_nothing_happened(
    desk: Desk, outcome: RelayOutcome
) -> None:
    desk.relay.answers(outcome)
    error = await refused(desk)
    order = await stored(desk)
    assert (
        error.details.items()
        >= {
            "orderId": order.order_id,
            "txHash": HASH,
            "mayBeMined": True,
        }.items()
    )
    assert "the relay had the signed bytes" in error.message
    assert f"the same nonce {order.nonce}" in error.suggestion
    assert "othing" not in error.message + error.suggestion
    own = await desk.storage.orders.own_nonces(KEY.client_id, order.wallet)
    assert own == OwnNonces(at_large=(order.nonce,))
    assert next_nonce(7, 8, own) == order.nonce, "even when the relay has leaked it"
    other = await desk.storage.orders.own_nonces(OTHER_KEY.client_id, order.wallet)
    assert other == OwnNonces(), "another key learns nothing of it"


async def test_the_relays_word_that_the_nonce_is_used_names_the_order_to_watch(
    desk: Desk,
) -> None:
    desk.relay.answers(RelayOutcome.NONCE_USED)
    order_of_wallet = Address(WALLET.address)
    desk.chain.mine(Tx("0x" + "dd" * 32, order_of_wallet, 7))
    error = await refused(desk, kind=NonceTooLow)
    assert error.details.items() >= {"txHash": HASH, "mayBeMined": True}.items()
    assert "the same nonce" not in error.suggestion
    assert "Do not repeat it" in error.suggestion


async def test_a_relay_that_counts_less_than_the_node_is_named(desk: Desk) -> None:
    desk.relay.answers(RelayOutcome.INSUFFICIENT_FUNDS)
    error = await refused(desk, kind=InsufficientBalance)
    assert int(str(error.details["available"])) >= int(str(error.details["required"]))
    assert error.message.startswith("the relay says the wallet cannot pay")


async def test_a_conflict_with_another_live_order_of_the_nonce_is_refused(desk: Desk) -> None:
    await desk.swap(KEY, swap_submission())
    other = swap_quote(quote_id="q2", params=replace(swap_quote().params, gas_limit=300_000))
    await desk.storage.quotes.save(other)
    desk.relay.answers(RelayOutcome.CONFLICT)
    error = await refused(desk, swap_submission(sign(gas=300_000)), NonceTooLow)
    assert error.details.items() >= {"provided": 7, "expected": 8, "mayBeMined": True}.items()
    named = "the relay holds another transaction with nonce 7, your open swap 0x"
    assert error.message.startswith(named)
    assert "used" not in error.message


async def test_a_conflict_tells_another_key_nothing_of_the_order_that_holds_the_nonce(
    desk: Desk,
) -> None:
    first = (await desk.swap(KEY, swap_submission())).order
    other = swap_quote(
        quote_id="q2",
        client_id=OTHER_KEY.client_id,
        params=replace(swap_quote().params, gas_limit=300_000),
    )
    await desk.storage.quotes.save(other)
    desk.relay.answers(RelayOutcome.CONFLICT)
    with pytest.raises(NonceTooLow) as caught:
        await desk.swap(OTHER_KEY, swap_submission(sign(gas=300_000)))
    told = str(vars(caught.value)) + str(caught.value)
    assert first.order_id not in told
    assert first.tx_hash not in told
    assert "your open" not in told


async def test_two_live_orders_may_share_a_nonce_when_the_relay_takes_both(desk: Desk) -> None:
    await desk.swap(KEY, swap_submission())
    other = swap_quote(quote_id="q2", params=replace(swap_quote().params, gas_limit=300_000))
    await desk.storage.quotes.save(other)
    taken = await desk.swap(KEY, swap_submission(sign(gas=300_000)))
    assert taken.order.status is OrderStatus.SUBMITTED
    assert await desk.storage.orders.live_nonces(taken.order.wallet) == [7, 7]
