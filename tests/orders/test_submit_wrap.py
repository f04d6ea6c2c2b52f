"""Posting a signed wrap: the same machinery, without an order id on the wire."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from quietswap.rules.errors.base import ProviderUnavailable, RequestError
from quietswap.rules.errors.requests import (
    InsufficientBalance,
    InvalidSignature,
    InvalidTransaction,
    NonceTooLow,
    SignatureReplay,
    ValidationError,
)
from quietswap.rules.orders.order import Order, OrderKind, OrderStatus
from quietswap.rules.quotes.issued_quote import IssuedQuote, WrapOrderTerms
from quietswap.rules.relays import BACKUP_TIER, EndpointType, ShareMode
from quietswap.rules.tokens.token import WETH, WrapOperation
from quietswap.rules.tx.signed import decode
from quietswap.service.relays.answers import RelayOutcome
from tests.orders.submitting import (
    KEY,
    OTHER_KEY,
    Desk,
    open_desk,
    swap_submission,
    wrap_submission,
)
from tests.signing import FIELDS, OTHER_WALLET, WALLET, sign
from tests.stored_orders import MINUTE_MS, NOW_MS, PROTECTION, swap_quote

OTHER_RELAY = structs.replace(
    PROTECTION,
    tier=BACKUP_TIER,
    endpoint="https://backup.test/fast?shareAll=1&referrer=quietswap",
    endpoint_type=EndpointType.FAST,
    share_mode=ShareMode.SHARE_ALL,
)
HASH = decode(sign()).hash
AMOUNT = 15 * 10**17


def wrap_quote(operation: str = "wrap", **changes: Any) -> IssuedQuote:
    """Return the stored wrap quote that `sign()` signs, valid for five minutes."""
    quote = swap_quote()
    return replace(
        quote,
        quote_id="weth_wrap_1",
        params=replace(quote.params, nonce=None),
        valid_until_ms=NOW_MS + 5 * MINUTE_MS,
        terms=WrapOrderTerms(WrapOperation(operation), AMOUNT),
        **changes,
    )


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with open_desk() as desk:
        await desk.storage.quotes.save(wrap_quote())
        yield desk


async def stored(desk: Desk) -> Order:
    """Return the order of the sample bytes."""
    order = await desk.storage.orders.by_hash(HASH)
    assert order is not None
    return order


async def refused(
    desk: Desk, submission: Any = None, kind: type[RequestError] = RequestError
) -> Any:
    """Post and return the error."""
    with pytest.raises(kind) as error:
        await desk.wrap(KEY, submission or wrap_submission())
    return error.value


async def test_an_accepted_wrap_is_submitted_and_followed(desk: Desk) -> None:
    taken = await desk.wrap(KEY, wrap_submission(quote_id="weth_wrap_1", amount=AMOUNT))
    assert (taken.order.status, taken.operation) == (OrderStatus.SUBMITTED, WrapOperation.WRAP)
    assert (taken.sender, taken.amount) == (WALLET.address, AMOUNT)
    assert taken.explorer_url == f"https://explorer.test/tx/{HASH}"
    assert taken.tracking_url == f"https://relay.test/tx/{HASH}"
    order = await stored(desk)
    assert (order.kind, order.watched, order.buy_token) == (OrderKind.WRAP, True, WETH)
    seen = await desk.storage.orders.record(KEY.client_id, order.order_id)
    assert seen is not None
    assert seen.kind == "wrap"


@pytest.mark.parametrize("behind_s", [3600, 0, -3600])
async def test_the_time_of_a_wrap_counts_from_the_earlier_of_clock_and_chain(
    desk: Desk, behind_s: int
) -> None:
    """A clock that is an hour ahead of the chain would keep it open for an hour longer."""
    desk.chain_clock.seconds = NOW_MS // 1000 - behind_s
    await desk.wrap(KEY, wrap_submission())
    expected = NOW_MS - max(behind_s - 60, 0) * 1000 + 30 * MINUTE_MS
    assert (await stored(desk)).expires_at_ms == expected


async def test_an_unwrap_sells_weth(desk: Desk) -> None:
    await desk.storage.quotes.save(
        replace(wrap_quote("unwrap"), quote_id="weth_unwrap_1", issued_at_ms=NOW_MS + 1)
    )
    taken = await desk.wrap(KEY, wrap_submission(operation=WrapOperation.UNWRAP))
    assert (taken.operation, taken.order.sell_token) == (WrapOperation.UNWRAP, WETH)


async def test_the_same_bytes_get_the_same_answer_again(desk: Desk) -> None:
    first = await desk.wrap(KEY, wrap_submission())
    desk.chain.facts = replace(desk.chain.facts, nonce=99)
    desk.clock.advance(86_400)
    assert await desk.wrap(KEY, wrap_submission()) == first
    assert len(desk.relay.sent) == 1


async def test_fifty_posts_at_once_make_one_order_and_one_send(desk: Desk) -> None:
    answers = await asyncio.gather(*(desk.wrap(KEY, wrap_submission()) for _ in range(50)))
    assert {a.order.order_id for a in answers} == {answers[0].order.order_id}
    assert len(desk.relay.sent) == 1


async def test_a_wrap_posted_as_a_swap_is_a_replay_without_an_order_id(desk: Desk) -> None:
    await desk.wrap(KEY, wrap_submission())
    with pytest.raises(SignatureReplay) as replay:
        await desk.swap(KEY, swap_submission())
    assert replay.value.details is None


async def test_another_key_without_a_quote_learns_nothing(desk: Desk) -> None:
    await desk.wrap(KEY, wrap_submission())
    with pytest.raises(ValidationError) as error:
        await desk.wrap(OTHER_KEY, wrap_submission())
    assert error.value.details == {"reason": "NO_QUOTE", "fields": []}


@pytest.mark.parametrize(
    "outcome", [RelayOutcome.NOT_SENT, RelayOutcome.INVALID, RelayOutcome.INSUFFICIENT_FUNDS]
)
async def test_bytes_that_died_without_a_block_can_be_posted_again(
    desk: Desk, outcome: RelayOutcome
) -> None:
    """A quiet chain quotes the same transaction again, and signing it gives the same bytes."""
    desk.relay.answers(outcome, RelayOutcome.ACCEPTED)
    await refused(desk)
    assert (await stored(desk)).status is OrderStatus.FAILED
    desk.clock.advance(100)
    taken = await desk.wrap(KEY, wrap_submission())
    assert taken.order.status is OrderStatus.SUBMITTED
    order = await stored(desk)
    assert (order.attempts, order.expires_at_ms) == (2, NOW_MS + 100_000 + 30 * MINUTE_MS)
    events = await desk.storage.orders.events(order.order_id)
    assert [e.event_type for e in events][2:] == ["reposted", "relay_accepted"]


async def test_bytes_that_are_posted_again_go_to_the_relay_of_the_new_post(desk: Desk) -> None:
    desk.relay.answers(RelayOutcome.NOT_SENT)
    await refused(desk)
    quote = replace(
        wrap_quote(
            tier=OTHER_RELAY.tier,
            endpoint_type=OTHER_RELAY.endpoint_type.value,
            share_mode=OTHER_RELAY.share_mode.value,
            metadata=OTHER_RELAY.metadata(),
        ),
        quote_id="weth_wrap_2",
    )
    await desk.storage.quotes.save(quote)
    await desk.wrap(KEY, wrap_submission(metadata=OTHER_RELAY.metadata()))
    assert (len(desk.relay.sent), len(desk.backup.sent)) == (1, 1)
    order = await stored(desk)
    assert order.tier == OTHER_RELAY.tier
    assert order.endpoint_type == OTHER_RELAY.endpoint_type.value
    assert order.share_mode == OTHER_RELAY.share_mode.value


async def test_what_a_relay_once_had_is_never_again_said_to_be_unsent(desk: Desk) -> None:
    desk.relay.answers(RelayOutcome.WOULD_REVERT, RelayOutcome.NOT_SENT)
    await refused(desk)
    for _ in range(2):
        error = await refused(desk, kind=ProviderUnavailable)
        assert error.details.items() >= {"reason": "HAD_IT_BEFORE", "mayBeMined": True}.items()
        assert "othing was sent" not in error.message + error.suggestion
        assert (await stored(desk)).is_at_large


async def test_dead_bytes_posted_many_times_at_once_are_sent_once_more(desk: Desk) -> None:
    desk.relay.answers(RelayOutcome.NOT_SENT, RelayOutcome.ACCEPTED)
    await refused(desk, kind=ProviderUnavailable)
    await asyncio.gather(*(desk.wrap(KEY, wrap_submission()) for _ in range(20)))
    assert len(desk.relay.sent) == 2


@pytest.mark.parametrize(
    ("submission", "kind"),
    [
        (wrap_submission("0x12"), InvalidSignature),
        (wrap_submission(sign(OTHER_WALLET), quote_id="weth_wrap_1"), InvalidSignature),
        (wrap_submission(sign(OTHER_WALLET)), ValidationError),
        (wrap_submission(sign(chainId=5)), InvalidTransaction),
        (wrap_submission(sign(gas=2**24 + 1)), InvalidTransaction),
        (wrap_submission(sign(value=1)), ValidationError),
        (wrap_submission(operation=WrapOperation.UNWRAP), ValidationError),
        (wrap_submission(amount=1), ValidationError),
        (wrap_submission(metadata={}), ValidationError),
        (wrap_submission(quote_id="weth_wrap_2"), ValidationError),
    ],
)
async def test_what_is_not_the_issued_wrap_is_refused(
    desk: Desk, submission: Any, kind: type[RequestError]
) -> None:
    await refused(desk, submission, kind)
    assert desk.relay.sent == []


async def test_a_broken_rule_names_its_field(desk: Desk) -> None:
    error = await refused(desk, wrap_submission(sign(chainId=5)), InvalidTransaction)
    assert error.details["field"] == "chainId"


async def test_a_wrap_quote_is_good_for_five_minutes_and_a_grace(desk: Desk) -> None:
    desk.clock.advance(331)
    error = await refused(desk, kind=ValidationError)
    assert error.details["reason"] == "QUOTE_EXPIRED"
    desk.clock.advance(-1)
    assert (await desk.wrap(KEY, wrap_submission())).order.status is OrderStatus.SUBMITTED


async def test_a_nonce_already_used_is_refused(desk: Desk) -> None:
    desk.chain.facts = replace(desk.chain.facts, nonce=8)
    error = await refused(desk, kind=NonceTooLow)
    assert error.details == {"provided": 7, "expected": 8}


async def test_a_wrap_needs_its_value_and_all_its_gas_in_eth(desk: Desk) -> None:
    value = 10**18
    quote = replace(wrap_quote(), quote_id="w2", params=replace(wrap_quote().params, value=value))
    await desk.storage.quotes.save(quote)
    needed = value + FIELDS["gas"] * FIELDS["maxFeePerGas"]
    desk.chain.facts = replace(desk.chain.facts, eth_balance=needed - 1, token_balance=0)
    error = await refused(desk, wrap_submission(sign(value=value)), InsufficientBalance)
    assert error.details["required"] == str(needed)
    desk.chain.facts = replace(desk.chain.facts, eth_balance=needed)
    await desk.wrap(KEY, wrap_submission(sign(value=value)))


async def test_an_unwrap_needs_its_weth_but_no_allowance(desk: Desk) -> None:
    quote = replace(wrap_quote("unwrap"), quote_id="u1", issued_at_ms=NOW_MS + 1)
    await desk.storage.quotes.save(quote)
    unwrap = wrap_submission(operation=WrapOperation.UNWRAP)
    desk.chain.facts = replace(desk.chain.facts, allowance=0, token_balance=AMOUNT - 1)
    error = await refused(desk, unwrap, InsufficientBalance)
    assert error.details["asset"] == WETH
    desk.chain.facts = replace(desk.chain.facts, token_balance=AMOUNT)
    await desk.wrap(KEY, unwrap)


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (RelayOutcome.NOT_SENT, ProviderUnavailable),
        (RelayOutcome.INSUFFICIENT_FUNDS, InsufficientBalance),
        (RelayOutcome.INVALID, InvalidTransaction),
        (RelayOutcome.WOULD_REVERT, InvalidTransaction),
    ],
)
async def test_a_refusal_has_the_code_of_the_wrap_table(
    desk: Desk, outcome: RelayOutcome, kind: type[RequestError]
) -> None:
    desk.relay.answers(outcome)
    error = await refused(desk, kind=kind)
    order = await stored(desk)
    assert order.status is OrderStatus.FAILED
    if outcome is RelayOutcome.NOT_SENT:
        assert "mayBeMined" not in error.details
    else:
        assert (error.details["txHash"], error.details["mayBeMined"]) == (order.tx_hash, True)
        assert "Watch txHash" in error.suggestion
        assert f"the same nonce {order.nonce}" in error.suggestion
