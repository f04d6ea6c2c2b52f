"""Posting a signed swap: the order of checks, one row, one send, and honest answers."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from quietswap.rules.errors.base import ProviderUnavailable, RequestError
from quietswap.rules.errors.requests import (
    DeadlineExpired,
    InsufficientAllowance,
    InsufficientBalance,
    InvalidSignature,
    NonceTooLow,
    SignatureReplay,
    ValidationError,
)
from quietswap.rules.orders.order import Order, OrderStatus
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.rules.relays import EndpointType, ShareMode
from quietswap.rules.trial.next_block import SLOT_S
from quietswap.rules.tx.signed import decode
from tests.orders.submitting import KEY, OTHER_KEY, Desk, open_desk, swap_submission
from tests.scripted_chain import FIRST_NUMBER, Tx
from tests.signing import FIELDS, OTHER_WALLET, packed, sign, unpacked
from tests.stored_orders import MINUTE_MS, NOW_MS, order_params, swap_quote

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


async def test_an_accepted_swap_is_submitted(desk: Desk) -> None:
    taken = await desk.swap(KEY, swap_submission())
    order = taken.order
    assert (order.status, order.tx_hash, order.order_id) == (OrderStatus.SUBMITTED, HASH, "ord_1")
    assert order == await stored(desk)
    assert order.expires_at_ms - order.created_at_ms == 30 * MINUTE_MS
    assert order.watch_until_ms - order.created_at_ms == 7 * 24 * 60 * MINUTE_MS
    assert (order.sell_amount, order.buy_amount) == (10**18, 3_000 * 10**6)
    assert (order.submitted_at_ms, order.submitted_head) == (NOW_MS, FIRST_NUMBER)
    assert taken.relay_name == "Test Relay"
    assert taken.tracking_url == f"https://relay.test/tx/{HASH}"
    assert taken.provider_order_id == HASH
    assert taken.estimated_execution.startswith("not known yet")
    assert desk.relay.sent == [bytes.fromhex(sign()[2:])]


async def test_the_row_stands_before_the_relay_is_called(desk: Desk) -> None:
    desk.relay.gate = asyncio.Event()
    post = asyncio.create_task(desk.swap(KEY, swap_submission()))
    await desk.relay.reached.wait()
    order = await stored(desk)
    assert (order.status, order.raw, order.attempts) == (OrderStatus.PENDING, desk.relay.sent[0], 1)
    desk.relay.gate.set()
    assert (await post).order.status is OrderStatus.SUBMITTED


async def test_the_endpoint_comes_from_the_issued_quote(desk: Desk) -> None:
    await desk.swap(KEY, swap_submission())
    assert desk.relay.endpoints == [(EndpointType.NOREVERTS, ShareMode.SHARE_SAFE)]
    assert desk.backup.sent == []


async def test_a_quote_of_the_backup_tier_goes_to_the_backup(desk: Desk) -> None:
    quote = swap_quote()
    await desk.storage.quotes.save(replace(quote, quote_id="q4", issued_at_ms=1, tier=4))
    taken = await desk.swap(KEY, swap_submission(selectedTier=4))
    assert (taken.order.tier, len(desk.backup.sent), desk.relay.sent) == (4, 1, [])


async def test_fifty_posts_of_the_same_bytes_make_one_order_and_one_send(desk: Desk) -> None:
    answers = await asyncio.gather(
        *(desk.swap(KEY, swap_submission()) for _ in range(50)), return_exceptions=True
    )
    taken = [a for a in answers if not isinstance(a, BaseException)]
    replays = [a for a in answers if isinstance(a, SignatureReplay)]
    assert (len(taken), len(replays), len(desk.relay.sent)) == (1, 49, 1)
    assert {r.details["orderId"] for r in replays if r.details} == {taken[0].order.order_id}


async def test_a_replay_names_the_order_to_its_own_key_only(desk: Desk) -> None:
    await desk.swap(KEY, swap_submission())
    assert (await refused(desk, kind=SignatureReplay)).details == {"orderId": "ord_1"}
    with pytest.raises(SignatureReplay) as foreign:
        await desk.swap(OTHER_KEY, swap_submission())
    assert foreign.value.details is None
    assert len(desk.relay.sent) == 1


async def test_a_replay_is_known_before_the_chain_the_clock_and_the_quote(desk: Desk) -> None:
    await desk.swap(KEY, swap_submission())
    desk.chain.facts = replace(desk.chain.facts, nonce=8)
    desk.clock.advance(86_400)
    await refused(desk, kind=SignatureReplay)


async def test_a_malleated_copy_is_no_way_around_the_replay(desk: Desk) -> None:
    await desk.swap(KEY, swap_submission())
    fields = unpacked(sign())
    order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
    fields[9] = b"" if fields[9] else b"\1"
    fields[11] = (order - int.from_bytes(fields[11])).to_bytes(32)
    await refused(desk, swap_submission(packed(fields)), InvalidSignature)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        ("0x1234", InvalidSignature),
        ("nonsense", InvalidSignature),
        (sign(OTHER_WALLET), InvalidSignature),
        (sign(chainId=5), ValidationError),
        (sign(nonce=8), ValidationError),
        (sign(gas=2**24 + 1), ValidationError),
        (sign(maxPriorityFeePerGas=1), ValidationError),
    ],
)
async def test_bytes_that_are_not_the_issued_transaction_are_refused(
    desk: Desk, raw: str, kind: type[RequestError]
) -> None:
    await refused(desk, swap_submission(raw), kind)
    assert desk.relay.sent == []
    assert set(desk.chain.calls) <= {"receipts"}, "only whether a block has these very bytes"


async def test_a_broken_rule_names_its_field(desk: Desk) -> None:
    error = await refused(desk, swap_submission(sign(chainId=5)))
    field = {"field": "transaction.chainId", "expected": "1", "provided": "5"}
    assert error.details == {"reason": "MISMATCH", "fields": [field]}


async def test_every_difference_from_the_nearest_quote_is_listed(desk: Desk) -> None:
    terms = order_params(amount="1", slippageBps=10)
    error = await refused(desk, swap_submission(sign(value=3), **terms), ValidationError)
    names = [each["field"] for each in error.details["fields"]]
    assert names == ["transaction.value", "orderParams.amount", "orderParams.slippageBps"]
    assert error.message.startswith("no known quote has this transaction")
    assert "the same nonce" in error.suggestion


async def test_a_quote_of_another_key_does_not_count(desk: Desk) -> None:
    with pytest.raises(ValidationError) as error:
        await desk.swap(OTHER_KEY, swap_submission())
    assert error.value.details == {"reason": "NO_QUOTE", "fields": []}
    assert error.value.message.startswith("the service knows no quote")


async def test_a_quote_is_good_for_half_a_minute_after_its_end(desk: Desk) -> None:
    desk.clock.advance(60)
    assert (await desk.swap(KEY, swap_submission())).order.status is OrderStatus.SUBMITTED


async def test_a_quote_too_old_says_so(desk: Desk) -> None:
    desk.clock.advance(61)
    error = await refused(desk, kind=ValidationError)
    assert error.details["reason"] == "QUOTE_EXPIRED"


async def test_a_clock_ahead_of_the_chain_ends_no_deadline(desk: Desk) -> None:
    desk.clock.advance(40)
    past = swap_submission(deadline=NOW_MS // 1000 + SLOT_S - 1)
    error = await refused(desk, past, DeadlineExpired)
    assert error.details["now"] == NOW_MS // 1000 + SLOT_S
    await desk.swap(KEY, swap_submission(deadline=NOW_MS // 1000 + SLOT_S))


async def test_a_deadline_of_this_second_is_good_and_an_earlier_one_is_not(desk: Desk) -> None:
    error = await refused(desk, swap_submission(deadline=NOW_MS // 1000 - 1), DeadlineExpired)
    assert error.details == {"deadline": NOW_MS // 1000 - 1, "now": NOW_MS // 1000}
    await desk.swap(KEY, swap_submission(deadline=NOW_MS // 1000))


ETH_NEEDED = FIELDS["gas"] * FIELDS["maxFeePerGas"]


@pytest.mark.parametrize(
    ("facts", "kind", "details"),
    [
        ({"nonce": 8}, NonceTooLow, {"provided": 7, "expected": 8}),
        (
            {"eth_balance": ETH_NEEDED - 1},
            InsufficientBalance,
            {"asset": "ETH", "required": str(ETH_NEEDED), "available": str(ETH_NEEDED - 1)},
        ),
        (
            {"token_balance": 10**18 - 1},
            InsufficientBalance,
            {"required": str(10**18), "available": str(10**18 - 1)},
        ),
        (
            {"allowance": 10**18 - 1},
            InsufficientAllowance,
            {"required": str(10**18), "current": str(10**18 - 1)},
        ),
    ],
)
async def test_the_chain_is_asked_once_before_anything_is_stored(
    desk: Desk, facts: dict[str, int], kind: type[RequestError], details: dict[str, Any]
) -> None:
    desk.chain.facts = replace(desk.chain.facts, **facts)
    error = await refused(desk, kind=kind)
    assert error.details.items() >= details.items()
    asked = {"wallet": 1} | ({"receipts": 1, "block": 2} if kind is NonceTooLow else {})
    assert desk.chain.calls == asked
    assert await desk.storage.orders.by_hash(HASH) is None
    assert desk.relay.sent == []


async def test_exactly_enough_is_enough(desk: Desk) -> None:
    desk.chain.facts = replace(
        desk.chain.facts, eth_balance=ETH_NEEDED, token_balance=10**18, allowance=10**18
    )
    assert (await desk.swap(KEY, swap_submission())).order.status is OrderStatus.SUBMITTED


async def test_nothing_is_sent_while_the_node_is_away(desk: Desk) -> None:
    desk.chain.failing = {"wallet"}
    error = await refused(desk, kind=ProviderUnavailable)
    assert error.details == {"reason": "NODE_UNAVAILABLE"}
    assert await desk.storage.orders.by_hash(HASH) is None
    desk.chain.failing = set()
    assert (await desk.swap(KEY, swap_submission())).order.status is OrderStatus.SUBMITTED


async def test_the_diary_tells_what_happened_and_when(desk: Desk) -> None:
    await desk.swap(KEY, swap_submission())
    events = await desk.storage.orders.events("ord_1")
    assert [(e.event_type, e.from_status, e.to_status) for e in events] == [
        ("posted", None, "pending"),
        ("relay_accepted", "pending", "submitted"),
    ]
    assert all(e.at_ms == NOW_MS and e.evidence for e in events)


async def test_a_store_that_is_away_when_the_order_comes_sends_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(*_: Any) -> None:
        raise StoreUnavailable

    monkeypatch.setattr(type(desk.storage.orders), "add", down)
    await refused(desk, kind=StoreUnavailable)
    assert desk.relay.sent == []


@pytest.mark.parametrize("late_s", [0, 61], ids=["nonce used", "quote and deadline over"])
async def test_bytes_of_a_block_become_an_order_whatever_is_over_by_now(
    desk: Desk, late_s: int
) -> None:
    """The row was lost, as after a restore: a refusal would say that it was not executed."""
    desk.chain.mine(Tx(HASH, decode(sign()).sender, 7))
    desk.chain.facts = replace(desk.chain.facts, nonce=8)
    desk.clock.advance(late_s)
    submission = swap_submission(deadline=NOW_MS // 1000)
    order = (await desk.swap(KEY, submission)).order
    assert (order.tx_hash, order.status, order.attempts) == (HASH, OrderStatus.SUBMITTED, 0)
    assert order == await stored(desk)
    assert desk.relay.sent == []
    with pytest.raises(SignatureReplay):
        await desk.swap(KEY, submission)


@pytest.mark.parametrize("receipt", ["unreadable", "not yet there", "of a node that lags"])
async def test_a_used_nonce_is_no_verdict_while_the_receipt_is_not_there(
    desk: Desk, receipt: str
) -> None:
    """The row was lost, and these bytes used the nonce: a caller who signs again swaps twice."""
    if receipt == "unreadable":
        desk.chain.unreadable.add(HASH)
    if receipt == "not yet there":
        desk.chain.mine(Tx(HASH, decode(sign()).sender, 7))
        desk.chain.hidden.add(HASH)
    head = desk.chain.blocks[-1].number + (receipt == "of a node that lags")
    desk.chain.facts = replace(desk.chain.facts, nonce=8, head=head)
    error = await refused(desk, kind=ProviderUnavailable)
    assert error.details == {"reason": "NODE_UNAVAILABLE"}
    assert "Post the same transaction again" in error.suggestion
    assert await desk.storage.orders.by_hash(HASH) is None
