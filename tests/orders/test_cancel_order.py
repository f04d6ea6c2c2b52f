"""Cancelling: what is issued, what is taken, and what the relay is told."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from quietswap.rules.errors.requests import ValidationError
from quietswap.rules.orders.order import OrderKind, OrderStatus
from quietswap.service.orders.cancel import VALIDITY_MS
from tests.orders.cancelling import CAP, GWEI, submission, swapped
from tests.orders.submitting import (
    KEY,
    OTHER_KEY,
    Desk,
    open_desk,
)
from tests.signing import WALLET
from tests.stored_orders import swap_quote


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with open_desk() as desk:
        await desk.storage.quotes.save(swap_quote())
        yield desk


async def test_what_is_issued_is_an_empty_self_transfer_with_the_nonce_and_more_fee(
    desk: Desk,
) -> None:
    order = await swapped(desk)
    quote = await desk.cancel.issue(KEY, order.order_id)
    params = quote.params
    assert (params.to, params.data, params.value) == (WALLET.address, b"", 0)
    assert (params.nonce, params.gas_limit) == (order.nonce, 21_000)
    assert params.max_fee_per_gas * 8 >= CAP * 9
    assert (quote.protection.endpoint_type, quote.protection.share_mode) == (
        order.endpoint_type,
        order.share_mode,
    )
    assert "expectedRebate" not in quote.protection.metadata()["mevRelayMetadata"]
    assert quote.valid_until_ms - quote.issued_at_ms == VALIDITY_MS


async def test_the_fee_cap_follows_a_base_fee_that_has_risen(desk: Desk) -> None:
    order = await swapped(desk)
    desk.chain.next_base_fee = 200 * GWEI
    quote = await desk.cancel.issue(KEY, order.order_id)
    assert quote.params.max_fee_per_gas >= 2 * 200 * GWEI


async def test_a_taken_cancel_is_an_order_of_its_own(desk: Desk) -> None:
    order = await swapped(desk)
    quote = await desk.cancel.issue(KEY, order.order_id)
    taken = await desk.cancel.submit(KEY, submission(quote))
    assert (taken.order.kind, taken.order.status) == (OrderKind.CANCEL, OrderStatus.SUBMITTED)
    assert taken.target.order_id == order.order_id
    assert taken.target.status is OrderStatus.SUBMITTED
    assert desk.relay.cancelled == [order.tx_hash]
    assert desk.relay.sent == [order.raw, taken.order.raw]
    assert desk.relay.endpoints[0] == desk.relay.endpoints[1]


async def test_the_history_shows_no_cancel_and_the_status_endpoint_does(desk: Desk) -> None:
    order = await swapped(desk)
    quote = await desk.cancel.issue(KEY, order.order_id)
    taken = await desk.cancel.submit(KEY, submission(quote))
    page = await desk.storage.orders.page(KEY.client_id, order.wallet, None, 10, 0)
    assert [line.order_id for line in page.orders] == [order.order_id]
    assert page.total == 1
    record = await desk.storage.orders.record(KEY.client_id, taken.order.order_id)
    assert record is not None
    assert (record.tx_hash, record.sell_amount) == (taken.order.tx_hash, "0")
    assert await desk.storage.orders.record(OTHER_KEY.client_id, taken.order.order_id) is None


async def test_the_nonce_counts_as_taken_once_while_both_live(desk: Desk) -> None:
    order = await swapped(desk)
    quote = await desk.cancel.issue(KEY, order.order_id)
    await desk.cancel.submit(KEY, submission(quote))
    assert set(await desk.storage.orders.live_nonces(order.wallet)) == {order.nonce}


async def test_the_same_bytes_are_one_cancel(desk: Desk) -> None:
    order = await swapped(desk)
    quote = await desk.cancel.issue(KEY, order.order_id)
    first = await desk.cancel.submit(KEY, submission(quote))
    again = await asyncio.gather(*(desk.cancel.submit(KEY, submission(quote)) for _ in range(5)))
    assert {one.order.order_id for one in again} == {first.order.order_id}
    assert desk.relay.sent.count(first.order.raw or b"") == 1


async def test_posts_at_the_same_time_are_one_cancel(desk: Desk) -> None:
    order = await swapped(desk)
    quote = await desk.cancel.issue(KEY, order.order_id)
    all_taken = await asyncio.gather(
        *(desk.cancel.submit(KEY, submission(quote)) for _ in range(8))
    )
    assert len({one.order.order_id for one in all_taken}) == 1
    assert len(desk.relay.sent) == 2


async def test_a_second_cancel_outbids_the_first(desk: Desk) -> None:
    order = await swapped(desk)
    first = await desk.cancel.issue(KEY, order.order_id)
    await desk.cancel.submit(KEY, submission(first))
    second = await desk.cancel.issue(KEY, order.order_id)
    assert second.params.max_fee_per_gas * 8 >= first.params.max_fee_per_gas * 9
    taken = await desk.cancel.submit(KEY, submission(second))
    assert taken.order.status is OrderStatus.SUBMITTED


async def test_a_cancel_is_not_cancelled(desk: Desk) -> None:
    order = await swapped(desk)
    quote = await desk.cancel.issue(KEY, order.order_id)
    taken = await desk.cancel.submit(KEY, submission(quote))
    with pytest.raises(ValidationError) as error:
        await desk.cancel.issue(KEY, taken.order.order_id)
    assert (error.value.details or {})["reason"] == "NOT_CANCELLABLE"
