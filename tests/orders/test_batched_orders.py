"""Orders that approve and swap in one: exactly the quote's batch, of a wallet that can make it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from quietswap.rules.chain.records import DryRun
from quietswap.rules.errors.base import RequestError
from quietswap.rules.orders.order import OrderKind
from quietswap.rules.quotes.issued_quote import BatchTerms, IssuedQuote, SwapOrderTerms, Trade
from quietswap.rules.tokens.token import WETH, WrapOperation
from quietswap.service.relays.answers import RelayOutcome
from tests.batches import STRANGER, Batch, delegated, wrong_batches
from tests.orders.cancelling import submission
from tests.orders.submitting import KEY, Desk, open_desk, swap_submission
from tests.signing import FIELDS, ROUTER, sign
from tests.stored_orders import USDC, swap_quote
from tests.wallet_rpc.wallet_sends import SELF, deposit, only_order, refused, token

GOOD = Batch(SELF, WETH, ROUTER, 10**18, bytes.fromhex(FIELDS["data"][2:]))
GAS = 310_000
OWN = {"to": SELF, "data": "0x" + GOOD.data.hex(), "gas": GAS}
"""What the batch changes in the plain transaction."""
CODE = bytes.fromhex(delegated()[2:])


def batch_quote(conversion: WrapOperation | None = None, **changes: Any) -> IssuedQuote:
    plain = swap_quote(**changes)
    assert isinstance(plain.terms, SwapOrderTerms)
    terms = BatchTerms(GAS, 30 * 10**9, conversion)
    return replace(plain, terms=replace(plain.terms, batch=terms))


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    """A wallet that is delegated, without an allowance, and its quote with both forms."""
    async with open_desk() as found:
        found.chain.facts = replace(found.chain.facts, code=CODE, allowance=0)
        await found.storage.quotes.save(batch_quote())
        yield found


async def post(desk: Desk, raw: str) -> RequestError:
    """Return the error of a post of which no relay may get a byte."""
    sent = len(desk.relay.sent)
    with pytest.raises(RequestError) as error:
        await desk.swap(KEY, swap_submission(raw))
    assert len(desk.relay.sent) == sent
    return error.value


async def test_the_stored_quote_has_the_batch(desk: Desk) -> None:
    stored = await desk.storage.quotes.by_id(KEY.client_id, "quote-1")
    assert stored == batch_quote()
    assert stored.batched is not None
    assert (stored.batched.data, stored.batched.nonce) == (GOOD.data, 7)


@pytest.mark.parametrize("door", ["api", "rpc"])
async def test_the_batch_of_the_quote_is_sent(desk: Desk, door: str) -> None:
    raw = sign(**OWN)
    if door == "api":
        order = (await desk.swap(KEY, swap_submission(raw))).order
    else:
        await desk.send(token(), raw)
        order = await only_order(desk)
    assert (order.kind, order.nonce, order.quote_id) == (OrderKind.SWAP, 7, "quote-1")
    assert order.raw == bytes.fromhex(raw[2:])
    assert len(desk.relay.sent) == 1


@pytest.mark.parametrize("door", ["api", "rpc"])
async def test_every_wrong_batch_is_refused(desk: Desk, door: str) -> None:
    wrong = wrong_batches(GOOD)
    assert len(wrong) > 300
    for one in wrong:
        raw = sign(**OWN | one.fields)
        error = await (post(desk, raw) if door == "api" else refused(desk, raw))
        assert error.code == "VALIDATION_ERROR", one.name
        assert (error.details or {})["reason"] in {"MISMATCH", "NO_MATCH"}, one.name
    assert not desk.relay.sent


async def test_other_gas_and_fees_are_the_wallets_own_at_its_rpc_alone(desk: Desk) -> None:
    raw = sign(**OWN | {"gas": GAS + 1, "maxFeePerGas": 40 * 10**9})
    error = await post(desk, raw)
    fields = [field["field"] for field in (error.details or {})["fields"]]
    assert fields == ["transaction.gasLimit", "transaction.maxFeePerGas"]
    await desk.send(token(), raw)


async def test_a_quote_without_the_batch_takes_none(desk: Desk) -> None:
    async with open_desk() as other:
        other.chain.facts = desk.chain.facts
        await other.storage.quotes.save(swap_quote())
        error = await post(other, sign(**OWN))
        assert (error.details or {})["fields"][0]["field"] == "transaction.to"
        assert (await refused(other, sign(**OWN))).code == "VALIDATION_ERROR"


@pytest.mark.parametrize("door", ["api", "rpc"])
@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"code": b""}, "not delegated"),
        ({"code": bytes.fromhex(delegated(STRANGER)[2:])}, "was not read"),
        ({"allowance": 1}, "allowance is 1"),
        ({"nonce": 6}, "an earlier transaction"),
    ],
)
async def test_a_wallet_that_cannot_batch_any_more_is_refused(
    desk: Desk, door: str, facts: dict[str, Any], words: str
) -> None:
    desk.chain.facts, desk.chain.pending = replace(desk.chain.facts, **facts), 7
    error = await (post(desk, sign(**OWN)) if door == "api" else refused(desk, sign(**OWN)))
    assert words in error.message
    assert (error.details or {})["reason"] == "BATCH_REFUSED"


@pytest.mark.parametrize("door", ["api", "rpc"])
async def test_a_contract_and_a_batch_that_reverts_are_refused(desk: Desk, door: str) -> None:
    async def message() -> str:
        raw = sign(**OWN)
        return (await (post(desk, raw) if door == "api" else refused(desk, raw))).message

    desk.chain.dry_run = DryRun(False, reason="it is USDT")
    assert "it is USDT" in await message()
    desk.chain.facts = replace(desk.chain.facts, code=b"\x60\x80")
    assert "EIP-3607" in await message()


async def test_the_plain_form_still_needs_its_allowance(desk: Desk) -> None:
    assert (await post(desk, sign())).code == "INSUFFICIENT_ALLOWANCE"
    desk.chain.facts = replace(desk.chain.facts, allowance=10**18)
    await desk.swap(KEY, swap_submission())


@pytest.mark.parametrize("batch_first", [True, False])
async def test_a_quote_is_spent_in_one_form(desk: Desk, batch_first: bool) -> None:
    """The wallet signs the other form at the next nonce: both would be paid."""
    plain, batched = {}, OWN
    first, second = (batched, plain) if batch_first else (plain, batched)
    desk.chain.facts = replace(desk.chain.facts, allowance=0 if batch_first else 10**18)
    await desk.send(token(), sign(**first))
    desk.chain.facts = replace(desk.chain.facts, allowance=10**18 if batch_first else 0)
    error = await refused(desk, sign(**second | {"nonce": 8}))
    assert (error.details or {})["reason"] == "QUOTE_USED"
    error = await refused(desk, sign(**second | {"maxFeePerGas": 60 * 10**9}))
    assert (error.details or {})["reason"] == "NONCE_IN_USE"


@pytest.mark.parametrize("first_door", ["api", "rpc"])
@pytest.mark.parametrize("batch_first", [True, False])
async def test_the_other_form_of_an_open_order_is_refused(
    desk: Desk, batch_first: bool, first_door: str
) -> None:
    """Before the chain is asked: an approval would be of no use."""
    first, second = (sign(**OWN), sign()) if batch_first else (sign(), sign(**OWN))
    desk.chain.facts = replace(desk.chain.facts, allowance=0 if batch_first else 10**18)
    if first_door == "api":
        await desk.swap(KEY, swap_submission(first))
    else:
        await desk.send(token(), first)
    order = await only_order(desk)
    for allowance in (0, 10**18):
        desk.chain.facts = replace(desk.chain.facts, allowance=allowance)
        error = await post(desk, second)
        assert error.code == "VALIDATION_ERROR"
        assert error.details == {"reason": "QUOTE_USED", "fields": [], "orderId": order.order_id}
        assert order.order_id in error.message
    assert await only_order(desk) == order
    assert (await post(desk, first)).code == "SIGNATURE_REPLAY"


async def test_the_other_form_is_taken_once_the_first_was_not_sent(desk: Desk) -> None:
    desk.relay.answers(RelayOutcome.NOT_SENT)
    with pytest.raises(RequestError):
        await desk.swap(KEY, swap_submission(sign(**OWN)))
    desk.relay.answers(RelayOutcome.ACCEPTED)
    desk.chain.facts = replace(desk.chain.facts, allowance=10**18)
    assert (await desk.swap(KEY, swap_submission())).order.quote_id == "quote-1"
    desk.chain.facts = replace(desk.chain.facts, allowance=0)
    assert (await post(desk, sign(**OWN))).code == "VALIDATION_ERROR"


async def test_a_batch_after_a_gap_is_told_the_next_nonce(desk: Desk) -> None:
    """Only an earlier transaction that is open makes the wallet wait."""

    async def told(nonce: int) -> tuple[str, str]:
        details = (await refused(desk, sign(**OWN | {"nonce": nonce}))).details or {}
        fields = details.get("fields") or [{"expected": ""}]
        return details["reason"], fields[0]["expected"]

    desk.chain.facts = replace(desk.chain.facts, nonce=6)
    for nonce in (7, 8, 2**64 - 2):
        assert await told(nonce) == ("NONCE_GAP", "6")
    await desk.send(token(), deposit(nonce=6))
    assert await told(7) == ("BATCH_REFUSED", "")
    assert await told(8) == ("NONCE_GAP", "7")
    desk.chain.facts = replace(desk.chain.facts, nonce=7)
    await desk.send(token(), sign(**OWN))


async def test_a_batch_is_sped_up_by_the_same_batch_alone(desk: Desk) -> None:
    await desk.send(token(), sign(**OWN))
    fast = OWN | {"maxFeePerGas": 60 * 10**9}
    for one in wrong_batches(GOOD)[::20]:
        await refused(desk, sign(**fast | one.fields))
    await desk.send(token(), sign(**fast))


async def test_it_is_cancelled_by_its_nonce(desk: Desk) -> None:
    order = (await desk.swap(KEY, swap_submission(sign(**OWN)))).order
    quote = await desk.cancel.issue(KEY, order.order_id)
    assert (quote.params.to, quote.params.data, quote.params.nonce) == (SELF, b"", 7)
    await desk.cancel.submit(KEY, submission(quote))


# With ETH: what is sold is wrapped before, or the minimum is unwrapped after the swap.

WRAPPING = replace(GOOD, wrapped=GOOD.amount)
UNWRAPPING = replace(GOOD, token=USDC, amount=3_000 * 10**6, unwrapped=9 * 10**17)
TRADE = Trade(USDC, WETH, 3_000 * 10**6, 9 * 10**17, 10**18)
SPENT = GAS * FIELDS["maxFeePerGas"]
CASES = {"wrap": (WrapOperation.WRAP, WRAPPING), "unwrap": (WrapOperation.UNWRAP, UNWRAPPING)}


def as_batch(good: Batch) -> dict[str, Any]:
    return {"to": SELF, "data": "0x" + good.data.hex(), "gas": GAS}


@asynccontextmanager
async def converting(conversion: str) -> AsyncIterator[tuple[Desk, Batch, dict[str, Any]]]:
    """Yield a desk whose quote converts, the batch of it, and the terms of its order."""
    operation, good = CASES[conversion]
    quote, terms = batch_quote(operation), {}
    if operation is WrapOperation.UNWRAP:
        assert isinstance(quote.terms, SwapOrderTerms)
        quote = replace(quote, terms=replace(quote.terms, trade=TRADE))
        terms = {"fromToken": USDC, "toToken": WETH, "amount": str(TRADE.sell_amount)}
        terms |= {"minReturnAmount": str(TRADE.min_buy_amount)}
    async with open_desk() as desk:
        desk.chain.facts = replace(
            desk.chain.facts, code=CODE, allowance=0, eth_balance=10**18 + SPENT
        )
        if operation is WrapOperation.WRAP:
            desk.chain.facts = replace(desk.chain.facts, token_balance=0)
        await desk.storage.quotes.save(quote)
        assert await desk.storage.quotes.by_id(KEY.client_id, "quote-1") == quote
        yield desk, good, terms


async def through(desk: Desk, door: str, raw: str, terms: dict[str, Any]) -> RequestError | None:
    """Send by a door; return its refusal."""
    try:
        if door == "rpc":
            await desk.send(token(), raw)
        else:
            await desk.swap(KEY, swap_submission(raw, **terms))
    except RequestError as error:
        return error
    return None


@pytest.mark.parametrize("door", ["api", "rpc"])
@pytest.mark.parametrize("conversion", CASES)
async def test_a_conversion_is_sent_and_every_other_batch_refused(
    conversion: str, door: str
) -> None:
    async with converting(conversion) as (desk, good, terms):
        own = as_batch(good)
        for one in wrong_batches(good)[:: 1 if door == "api" else 7]:
            error = await through(desk, door, sign(**own | one.fields), terms)
            assert error is not None, one.name
            assert (error.details or {})["reason"] in {"MISMATCH", "NO_MATCH"}, one.name
        assert not desk.relay.sent
        assert await through(desk, door, sign(**own), terms) is None
        order = await only_order(desk)
        assert (order.kind, order.conversion) == (OrderKind.SWAP, conversion)
        assert order.quote_id == "quote-1"
        assert len(desk.relay.sent) == 1
        shown = await desk.storage.orders.record(KEY.client_id, order.order_id)
        assert shown is not None
        assert shown.conversion == conversion


async def test_the_eth_that_is_wrapped_is_needed_beside_the_gas() -> None:
    async with converting("wrap") as (desk, good, _):
        facts = desk.chain.facts
        desk.chain.facts = replace(facts, eth_balance=facts.eth_balance - 1)
        error = await post(desk, sign(**as_batch(good)))
        assert error.code == "INSUFFICIENT_BALANCE"
        assert (error.details or {})["required"] == str(10**18 + SPENT)
        desk.chain.facts = facts
        await desk.swap(KEY, swap_submission(sign(**as_batch(good))))


async def test_the_token_of_a_swap_that_unwraps_is_needed() -> None:
    async with converting("unwrap") as (desk, good, terms):
        desk.chain.facts = replace(desk.chain.facts, token_balance=TRADE.sell_amount - 1)
        with pytest.raises(RequestError) as caught:
            await desk.swap(KEY, swap_submission(sign(**as_batch(good)), **terms))
        assert caught.value.code == "INSUFFICIENT_BALANCE"


@pytest.mark.parametrize("converts_first", [True, False])
async def test_two_batches_of_one_swap_are_not_open_at_once(converts_first: bool) -> None:
    """Two quotes of one route: one wraps what is sold, the other does not."""
    async with converting("wrap") as (desk, good, _):
        await desk.storage.quotes.save(replace(batch_quote(), quote_id="quote-2"))
        desk.chain.facts = replace(desk.chain.facts, token_balance=10**18)
        first, second = sign(**as_batch(good)), sign(**OWN)
        if not converts_first:
            first, second = second, first
        order = (await desk.swap(KEY, swap_submission(first))).order
        assert order.conversion == ("wrap" if converts_first else None)
        error = await post(desk, second)
        assert (error.details or {})["reason"] == "QUOTE_USED"
        assert (error.details or {})["orderId"] == order.order_id
