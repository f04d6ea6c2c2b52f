"""Transactions that a wallet's RPC URL accepts: what each one becomes."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from quietswap.rules.chain.records import DryRun
from quietswap.rules.errors.base import ProviderUnavailable, RequestError
from quietswap.rules.orders.order import FailureCode, OrderKind, OrderStatus
from quietswap.rules.relays import EndpointType, ShareMode
from quietswap.rules.tokens.token import NATIVE, WETH
from quietswap.service.relays.answers import RelayOutcome
from quietswap.service.wallet_rpc.send import NOT_SENT_ANYWHERE, PostsUnderWay
from tests.orders.cancelling import ended
from tests.orders.submitting import KEY, Desk, open_desk, swap_submission
from tests.signing import sign
from tests.stored_orders import MINUTE_MS, PROTECTION, USDC, swap_quote
from tests.wallet_rpc.wallet_sends import (
    GWEI,
    approve,
    deposit,
    empty,
    only_order,
    reason_of,
    refused,
    token,
    withdraw,
)


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with open_desk() as opened:
        await opened.storage.quotes.save(swap_quote())
        yield opened


async def test_a_wallet_that_keeps_the_fields_sends_the_quotes_swap(desk: Desk) -> None:
    raw = sign()
    tx_hash = await desk.send(token(), raw)
    order = await only_order(desk)
    assert (order.tx_hash, order.kind, order.status) == (tx_hash, OrderKind.SWAP, "submitted")
    assert (order.sell_token, order.buy_token, order.client_id) == (WETH, USDC, KEY.client_id)
    assert [bytes.fromhex(raw[2:])] == desk.relay.sent
    assert desk.relay.endpoints == [(PROTECTION.endpoint_type, PROTECTION.share_mode)]


async def test_a_wallet_may_choose_gas_fees_tip_and_the_next_nonce(desk: Desk) -> None:
    await desk.send(token(), sign(gas=400_000, maxFeePerGas=55 * GWEI, maxPriorityFeePerGas=GWEI))
    order = await only_order(desk)
    assert (order.kind, order.status) == (OrderKind.SWAP, OrderStatus.SUBMITTED)
    [posted, _] = await desk.storage.orders.events(order.order_id)
    assert "quote quote-1" in posted.evidence


async def test_it_is_simulated_with_the_wallets_own_fields(desk: Desk) -> None:
    seen = []
    plain = desk.chain.wallet_and_dry_run

    async def spied(swap, *rest):  # type: ignore[no-untyped-def]
        seen.append(swap)
        return await plain(swap, *rest)

    desk.chain.wallet_and_dry_run = spied  # type: ignore[method-assign]
    await desk.send(token(), sign(gas=333_333, maxFeePerGas=9 * GWEI, maxPriorityFeePerGas=7))
    [swap] = seen
    assert (swap.params.gas_limit, swap.params.max_fee_per_gas, swap.tip) == (333_333, 9 * GWEI, 7)
    assert (swap.buy_token, swap.min_buy_amount) == (USDC, 2_900 * 10**6)


async def test_the_same_bytes_again_cost_neither_relay_nor_node(desk: Desk) -> None:
    raw = sign(gas=300_000)
    first = await desk.send(token(), raw)
    calls = desk.chain.calls.copy()
    assert [await desk.send(token(), raw) for _ in range(50)] == [first] * 50
    assert desk.chain.calls == calls
    assert len(desk.relay.sent) == 1
    await only_order(desk)


async def test_bytes_sent_50_times_at_once_are_one_order(desk: Desk) -> None:
    raw = sign(gas=300_000)
    hashes = await asyncio.gather(*(desk.send(token(), raw) for _ in range(50)))
    assert len(set(hashes)) == 1
    assert len(desk.relay.sent) == 1
    await only_order(desk)


async def test_a_wallet_may_repeat_what_was_posted_over_http(desk: Desk) -> None:
    placed = await desk.swap(KEY, swap_submission())
    assert await desk.send(token(), sign()) == placed.order.tx_hash
    assert len(desk.relay.sent) == 1


async def test_bytes_of_another_client_are_not_told_apart(desk: Desk) -> None:
    await desk.send(token(), sign())
    error = await refused(desk, sign(), token(client_id="other"))
    assert error.code == "SIGNATURE_REPLAY"
    assert error.details is None


@pytest.mark.parametrize("amount", [10**18, 1, 0])
async def test_an_exact_approval_of_a_live_quote(desk: Desk, amount: int) -> None:
    await desk.send(token(), approve(amount=amount))
    order = await only_order(desk)
    assert (order.kind, order.sell_token, order.sell_amount) == (OrderKind.APPROVAL, WETH, amount)
    assert desk.relay.endpoints == [(EndpointType.FULLPRIVACY, ShareMode.NONE)]


async def test_the_swap_follows_its_approval_at_the_next_nonce(desk: Desk) -> None:
    await desk.send(token(), approve())
    await desk.send(token(), sign(nonce=8))
    kinds = [order.kind for order in await desk.storage.orders.watched()]
    assert sorted(kinds) == [OrderKind.APPROVAL, OrderKind.SWAP]


@pytest.mark.parametrize(
    ("raw", "pair"), [(deposit(), (NATIVE, WETH)), (withdraw(), (WETH, NATIVE))]
)
async def test_a_wrap_needs_no_quote(desk: Desk, raw: str, pair: tuple[str, str]) -> None:
    await desk.send(token(), raw)
    order = await only_order(desk)
    assert order.kind is OrderKind.WRAP
    assert (order.sell_token, order.buy_token) == pair
    assert order.sell_amount == order.buy_amount == 10**17


async def test_a_cancel_takes_the_nonce_of_a_live_order(desk: Desk) -> None:
    swap = await desk.send(token(), sign())
    await desk.send(token(), empty(maxFeePerGas=34 * GWEI))
    kinds = {order.kind: order for order in await desk.storage.orders.watched()}
    assert kinds[OrderKind.CANCEL].nonce == kinds[OrderKind.SWAP].nonce
    assert desk.relay.cancelled == [swap]
    assert desk.relay.endpoints[0] == desk.relay.endpoints[1]


async def test_an_allowance_of_a_listed_token_is_ended_without_a_quote(desk: Desk) -> None:
    desk.clock.advance(61)
    await desk.send(token(), approve(to=USDC, amount=0))
    order = await only_order(desk)
    assert (order.kind, order.sell_token, order.sell_amount) == (OrderKind.APPROVAL, USDC, 0)


@pytest.mark.parametrize("raw", [approve(), deposit()])
async def test_every_kind_can_be_cancelled(desk: Desk, raw: str) -> None:
    await desk.send(token(), raw)
    await desk.send(token(), empty(maxFeePerGas=34 * GWEI))
    kinds = [order.kind for order in await desk.storage.orders.watched()]
    assert OrderKind.CANCEL in kinds


async def test_a_speed_up_is_an_order_of_the_same_kind(desk: Desk) -> None:
    await desk.send(token(), sign())
    await desk.send(token(), sign(maxFeePerGas=33 * GWEI))
    first, second = sorted(await desk.storage.orders.watched(), key=lambda order: order.order_id)
    assert (first.kind, second.kind) == (OrderKind.SWAP, OrderKind.SWAP)
    assert (first.nonce, first.min_buy_amount) == (second.nonce, second.min_buy_amount)
    [posted, _] = await desk.storage.orders.events(second.order_id)
    assert f"speed-up of {first.order_id}" in posted.evidence


async def test_a_speed_up_needs_no_live_quote(desk: Desk) -> None:
    await desk.send(token(), sign())
    desk.clock.advance(600)
    await desk.send(token(), sign(maxFeePerGas=33 * GWEI))
    assert len(desk.relay.sent) == 2


async def test_an_expired_order_can_be_sped_up_and_cancelled(desk: Desk) -> None:
    await desk.send(token(), sign())
    await ended(desk, await only_order(desk), FailureCode.EXPIRED)
    await desk.send(token(), sign(maxFeePerGas=33 * GWEI))
    await desk.send(token(), empty(maxFeePerGas=40 * GWEI))
    assert len(desk.relay.sent) == 3


async def test_a_private_token_sends_everything_else_privately(desk: Desk) -> None:
    raw = sign(to=USDC, data="0xa9059cbb" + "00" * 64, value=5)
    await desk.send(token("private"), raw)
    order = await only_order(desk)
    assert (order.kind, order.sell_token, order.sell_amount) == (OrderKind.TRANSACTION, NATIVE, 5)
    assert desk.relay.endpoints == [(EndpointType.FULLPRIVACY, ShareMode.NONE)]


async def test_a_transaction_behind_an_open_order_is_not_judged_by_a_simulation(desk: Desk) -> None:
    raw = sign(to=USDC, data="0xa9059cbb" + "00" * 64)
    await desk.send(token("private"), raw)
    desk.chain.dry_run = DryRun(False, reason="it needs the first one")
    await desk.send(token("private"), sign(to=USDC, data="0x01", nonce=8))
    assert len(desk.relay.sent) == 2


async def test_bytes_that_were_not_sent_are_sent_when_they_come_again(desk: Desk) -> None:
    desk.relay.answers(RelayOutcome.NOT_SENT, RelayOutcome.ACCEPTED)
    with pytest.raises(ProviderUnavailable) as error:
        await desk.send(token(), deposit())
    assert error.value.message.startswith(NOT_SENT_ANYWHERE)
    assert error.value.details == {"reason": "NOT_SENT", "orderId": "ord_1"}
    await desk.send(token(), deposit())
    order = await only_order(desk)
    assert (order.status, order.attempts) == (OrderStatus.SUBMITTED, 2)


async def test_refused_bytes_are_sent_again_at_most_once_per_block(desk: Desk) -> None:
    desk.relay.answers(RelayOutcome.INVALID)
    for _ in range(3):
        with pytest.raises(RequestError) as error:
            await desk.send(token(), deposit())
        assert not error.value.message.startswith(NOT_SENT_ANYWHERE)
        assert error.value.details is not None
        assert error.value.details["mayBeMined"] is True
    assert len(desk.relay.sent) == 1
    desk.chain.mine()
    desk.relay.answers(RelayOutcome.ACCEPTED)
    await desk.send(token(), deposit())
    assert len(desk.relay.sent) == 2
    assert (await only_order(desk)).status is OrderStatus.SUBMITTED


async def test_a_public_transaction_before_it_leaves_no_gap(desk: Desk) -> None:
    desk.chain.pending = 9
    await desk.send(token(), deposit(nonce=9))
    assert await reason_of(desk, deposit(nonce=11)) == "NONCE_GAP"


@pytest.mark.parametrize("arrival", [(9, 8, 7), (7, 9, 8), (9, 7, 8), (7, 8, 9)])
async def test_nonces_that_are_posted_at_once_wait_for_those_before_them(
    desk: Desk, arrival: tuple[int, ...]
) -> None:
    posts = [desk.send(token(), deposit(nonce=n)) for n in arrival]
    hashes = await asyncio.gather(*posts)
    assert len(set(hashes)) == len(desk.relay.sent) == 3
    assert len(await desk.storage.orders.watched()) == 3


async def test_a_nonce_waits_for_the_one_that_another_process_stores(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = replace(desk.send, posts=PostsUnderWay())

    async def meanwhile(seconds: float) -> None:
        desk.clock.advance(seconds)
        await desk.send(token(), deposit(nonce=7))

    monkeypatch.setattr(desk.clock, "sleep", meanwhile)
    assert await here(token(), deposit(nonce=8))
    assert len(desk.relay.sent) == 2


async def test_a_nonce_behind_one_that_is_refused_has_a_gap(desk: Desk) -> None:
    low = deposit(nonce=7, gas=20_000)
    results = await asyncio.gather(
        desk.send(token(), deposit(nonce=8)),
        desk.send(token(), low),
        return_exceptions=True,
    )
    refusals = [each for each in results if isinstance(each, RequestError)]
    assert len(refusals) == 2
    assert "NONCE_GAP" in str([each.details for each in refusals])
    assert desk.relay.sent == []


async def test_the_newest_of_two_equal_quotes_counts(desk: Desk) -> None:
    late = replace(swap_quote(), quote_id="quote-2", valid_until_ms=desk.clock.now_ms() + MINUTE_MS)
    await desk.storage.quotes.save(late)
    desk.clock.advance(65)
    assert await desk.send(token(), sign())
