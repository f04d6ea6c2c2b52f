"""What is refused of a cancel, and what is said then."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from quietswap.rules.errors.base import ProviderUnavailable, RequestError, ServiceUnavailable
from quietswap.rules.errors.requests import (
    InsufficientBalance,
    InvalidSignature,
    NonceTooLow,
    OrderNotFound,
    SignatureReplay,
    ValidationError,
)
from quietswap.rules.orders.cancel_transaction import CancelOrderRequest
from quietswap.rules.orders.order import FailureCode, OrderStatus
from quietswap.service.orders.cancel import VALIDITY_MS
from quietswap.service.relays.answers import RelayOutcome
from tests.orders.cancelling import CAP, ended, refused, signed, submission, swapped
from tests.orders.submitting import (
    KEY,
    OTHER_KEY,
    Desk,
    open_desk,
    swap_submission,
    wrap_submission,
)
from tests.orders.test_submit_wrap import wrap_quote
from tests.scripted_chain import Tx
from tests.signing import OTHER_WALLET, WALLET, packed, sign, unpacked
from tests.stored_orders import swap_quote


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with open_desk() as desk:
        await desk.storage.quotes.save(swap_quote())
        yield desk


@pytest.mark.parametrize("order_id", ["ord_none", "wrap", "foreign"])
async def test_what_is_not_this_keys_swap_does_not_exist(desk: Desk, order_id: str) -> None:
    key, is_wrap = KEY, order_id == "wrap"
    if order_id == "wrap":
        await desk.storage.quotes.save(wrap_quote())
        order_id = (await desk.wrap(KEY, wrap_submission())).order.order_id
    elif order_id == "foreign":
        order_id, key = (await swapped(desk)).order_id, OTHER_KEY
    with pytest.raises(OrderNotFound) as refused:
        await desk.cancel.issue(key, order_id)
    assert ("a wallet's RPC URL" in str(refused.value.suggestion)) is is_wrap
    with pytest.raises(OrderNotFound):
        await desk.cancel.submit(key, CancelOrderRequest(order_id, sign(), {}))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"value": 1}, "value"),
        ({"data": "0x00"}, "data"),
        ({"nonce": 8}, "nonce"),
        ({"gas": 30_000}, "gasLimit"),
        ({"maxFeePerGas": CAP}, "maxFeePerGas"),
        ({"maxPriorityFeePerGas": 1}, "maxPriorityFeePerGas"),
        ({"to": OTHER_WALLET.address}, "to"),
    ],
)
async def test_only_what_was_issued_is_taken(
    desk: Desk, change: dict[str, Any], field: str
) -> None:
    order = await swapped(desk)
    quote = await desk.cancel.issue(KEY, order.order_id)
    error = await refused(desk, submission(quote, signed(quote, **change)), ValidationError)
    assert [fault["field"] for fault in error.details["fields"]] == [f"transaction.{field}"]
    assert desk.relay.sent == [order.raw]
    assert desk.relay.cancelled == []


async def test_the_metadata_must_come_back_unchanged(desk: Desk) -> None:
    quote = await desk.cancel.issue(KEY, (await swapped(desk)).order_id)
    changed = quote.protection.metadata() | {"tier": 4}
    error = await refused(desk, submission(quote, metadata=changed), ValidationError)
    assert [fault["field"] for fault in error.details["fields"]] == ["providerMetadata.tier"]


async def test_another_wallets_signature_and_malleated_bytes_are_refused(desk: Desk) -> None:
    quote = await desk.cancel.issue(KEY, (await swapped(desk)).order_id)
    params = quote.params
    foreign = sign(
        OTHER_WALLET,
        to=params.to,
        data="0x",
        gas=21_000,
        maxFeePerGas=params.max_fee_per_gas,
    )
    await refused(desk, submission(quote, foreign), InvalidSignature)
    fields = unpacked(signed(quote))
    order_n = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
    s = order_n - int.from_bytes(fields[11])
    parity = b"" if fields[9] else b"\x01"
    high = packed([*fields[:9], parity, fields[10], s.to_bytes(32)])
    await refused(desk, submission(quote, high), InvalidSignature)
    assert len(desk.relay.sent) == 1


async def test_a_self_made_cancel_that_was_never_issued_is_refused(desk: Desk) -> None:
    order = await swapped(desk)
    raw = sign(to=WALLET.address, data="0x", gas=21_000, maxFeePerGas=2 * CAP)
    error = await refused(desk, CancelOrderRequest(order.order_id, raw, {}), ValidationError)
    assert error.details["reason"] == "NO_QUOTE"


async def test_the_swaps_own_bytes_are_no_cancel(desk: Desk) -> None:
    order = await swapped(desk)
    quote = await desk.cancel.issue(KEY, order.order_id)
    error = await refused(desk, submission(quote, sign()), SignatureReplay)
    assert error.details == {"orderId": order.order_id}


async def test_a_taken_cancel_is_no_answer_at_another_orders_path(desk: Desk) -> None:
    order = await swapped(desk)
    quote = await desk.cancel.issue(KEY, order.order_id)
    taken = (await desk.cancel.submit(KEY, submission(quote))).order
    later = swap_quote(quote_id="q2", params=replace(swap_quote().params, nonce=8))
    await desk.storage.quotes.save(later)
    other = (await desk.swap(KEY, swap_submission(sign(nonce=8)))).order
    assert (other.wallet, other.nonce) == (order.wallet, order.nonce + 1)
    for path in (other.order_id, taken.order_id):
        error = await refused(desk, submission(quote, order_id=path), SignatureReplay)
        assert error.details == {"orderId": taken.order_id}
    again = await desk.cancel.submit(KEY, submission(quote))
    assert (again.order.order_id, again.target.order_id) == (taken.order_id, order.order_id)


async def test_an_old_issue_is_not_taken(desk: Desk) -> None:
    quote = await desk.cancel.issue(KEY, (await swapped(desk)).order_id)
    desk.clock.advance(VALIDITY_MS // 1000 + 31)
    error = await refused(desk, submission(quote), ValidationError)
    assert error.details["reason"] == "QUOTE_EXPIRED"


async def test_an_order_that_was_not_sent_has_nothing_to_cancel(desk: Desk) -> None:
    desk.relay.answers(RelayOutcome.NOT_SENT)
    with pytest.raises(ProviderUnavailable):
        await desk.swap(KEY, swap_submission())
    order = (await desk.storage.orders.watched())[0]
    with pytest.raises(ValidationError) as error:
        await desk.cancel.issue(KEY, order.order_id)
    assert error.value.details is not None
    assert error.value.details["reason"] == "ORDER_ENDED"
    assert error.value.details["fields"][0]["provided"] == "failed"


@pytest.mark.parametrize("outcome", [RelayOutcome.INVALID, RelayOutcome.WOULD_REVERT])
async def test_what_a_relay_refused_may_be_mined_so_it_may_be_cancelled(
    desk: Desk, outcome: RelayOutcome
) -> None:
    desk.relay.answers(outcome, RelayOutcome.ACCEPTED)
    with pytest.raises(RequestError):
        await desk.swap(KEY, swap_submission())
    order = (await desk.storage.orders.watched())[0]
    quote = await desk.cancel.issue(KEY, order.order_id)
    assert (await desk.cancel.submit(KEY, submission(quote))).order.status is OrderStatus.SUBMITTED


async def test_what_has_expired_may_be_mined_so_it_may_be_cancelled(desk: Desk) -> None:
    order = await swapped(desk)
    await ended(desk, order, FailureCode.EXPIRED)
    quote = await desk.cancel.issue(KEY, order.order_id)
    assert quote.params.max_fee_per_gas > CAP


async def test_a_used_nonce_is_too_late(desk: Desk) -> None:
    order = await swapped(desk)
    quote = await desk.cancel.issue(KEY, order.order_id)
    desk.chain.facts = replace(desk.chain.facts, nonce=8, eth_balance=10**19)
    error = await refused(desk, submission(quote), NonceTooLow)
    assert error.details == {"provided": 7, "expected": 8}
    assert "in a block already" in (error.suggestion or "")
    desk.chain.mine(Tx.of(order))
    with pytest.raises(NonceTooLow):
        await desk.cancel.issue(KEY, order.order_id)
    assert desk.relay.cancelled == []


async def test_a_wallet_that_cannot_pay_is_told_the_figures(desk: Desk) -> None:
    quote = await desk.cancel.issue(KEY, (await swapped(desk)).order_id)
    desk.chain.facts = desk.chain.facts.__class__(1, 7, 5, 0, 0)
    error = await refused(desk, submission(quote), InsufficientBalance)
    assert error.details["required"] == str(21_000 * quote.params.max_fee_per_gas)


@pytest.mark.parametrize("failing", ["head", "wallet"])
async def test_without_a_node_nothing_is_issued(desk: Desk, failing: str) -> None:
    order = await swapped(desk)
    desk.chain.failing = {failing}
    with pytest.raises(ServiceUnavailable):
        await desk.cancel.issue(KEY, order.order_id)


async def test_a_relay_that_is_away_cancels_nothing_and_takes_the_same_bytes_later(
    desk: Desk,
) -> None:
    order = await swapped(desk)
    quote = await desk.cancel.issue(KEY, order.order_id)
    desk.relay.answers(RelayOutcome.NOT_SENT, RelayOutcome.ACCEPTED)
    error = await refused(desk, submission(quote), ProviderUnavailable)
    assert error.details["reason"] == "NOT_SENT"
    found = await desk.storage.orders.find(order.order_id)
    assert found is not None
    assert found.status is OrderStatus.SUBMITTED
    taken = await desk.cancel.submit(KEY, submission(quote))
    assert (taken.order.status, taken.order.order_id) == (
        OrderStatus.SUBMITTED,
        error.details["orderId"],
    )


@pytest.mark.parametrize("outcome", [RelayOutcome.CONFLICT, RelayOutcome.INVALID])
async def test_a_refused_cancel_leaves_the_order_open_and_says_so(
    desk: Desk, outcome: RelayOutcome
) -> None:
    order = await swapped(desk)
    quote = await desk.cancel.issue(KEY, order.order_id)
    desk.relay.answers(outcome)
    error = await refused(desk, submission(quote), ValidationError)
    assert error.details["reason"] == "REFUSED"
    assert error.details["mayBeMined"] is True
    found = await desk.storage.orders.find(order.order_id)
    assert found is not None
    assert found.status is OrderStatus.SUBMITTED


async def test_an_answer_nobody_got_is_a_pending_cancel(desk: Desk) -> None:
    quote = await desk.cancel.issue(KEY, (await swapped(desk)).order_id)
    desk.relay.answers(RelayOutcome.UNKNOWN)
    taken = await desk.cancel.submit(KEY, submission(quote))
    assert taken.order.status is OrderStatus.PENDING
