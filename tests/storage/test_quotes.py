"""Issued quotes on both databases."""

import json
from dataclasses import replace

import pytest

from quietswap.rules.amounts import AMOUNT_MAX
from quietswap.rules.clients import ClientLimits
from quietswap.rules.quotes.issued_quote import (
    CancelOrderTerms,
    QuoteKind,
    SwapOrderTerms,
    Trade,
    WrapOrderTerms,
)
from quietswap.rules.tokens.token import WETH, WrapOperation
from quietswap.rules.tx.address import Address
from quietswap.service.storage.clients import ClientStore
from quietswap.service.storage.factory import Storage
from quietswap.service.storage.quotes import QuoteStore
from tests.storage.examples import OTHER_WALLET, ROUTER, T0, WALLET, a_quote, some_params
from tests.storage.watched import Watched

_SWAP = QuoteKind.SWAP
_WRAP = WrapOrderTerms(WrapOperation.UNWRAP, AMOUNT_MAX)


async def test_a_quote_comes_back_exactly(storage: Storage) -> None:
    quote = a_quote()
    await storage.quotes.save(quote)
    assert await storage.quotes.by_id("client-1", quote.quote_id) == quote
    assert await storage.quotes.by_id("client-2", quote.quote_id) is None
    assert await storage.quotes.by_id("client-1", "nothing") is None


@pytest.mark.parametrize(
    ("before", "on_postgresql"),
    [
        ([], ["change"]),
        ([ClientLimits(quotes_per_day=2), ClientLimits()], ["change"]),
        ([ClientLimits(quotes_per_day=2)], ["change", "transact"]),
    ],
    ids=["no limits", "limits that were lifted", "limits"],
)
async def test_postgresql_takes_one_statement_for_a_quote_of_a_client_without_limits(
    watched: Watched, before: list[ClientLimits], on_postgresql: list[str]
) -> None:
    for limits in before:
        await ClientStore(watched).change_limits("client-1", lambda _, to=limits: to)
    quotes = QuoteStore(watched)
    for quote in (a_quote(), a_quote(terms=_WRAP)):
        watched.writes.clear()
        await quotes.save(quote)
        assert await quotes.by_id("client-1", quote.quote_id) == quote
        assert watched.writes == (
            on_postgresql if watched.dialect == "postgresql" else ["transact"]
        )
    watched.writes.clear()
    await quotes.save(a_quote(terms=CancelOrderTerms("order-1")))
    assert watched.writes == ["change"]


async def test_a_wrap_quote_has_no_nonce(storage: Storage) -> None:
    quote = a_quote(terms=_WRAP, params=some_params(b"", nonce=None, value=0))
    await storage.quotes.save(quote)
    assert await storage.quotes.by_id("client-1", quote.quote_id) == quote


async def test_a_quote_is_found_by_its_transaction_newest_first(storage: Storage) -> None:
    params = some_params(b"same")
    old = a_quote(params=params)
    new = a_quote(params=replace(params, nonce=1))
    strangers = (
        a_quote(),
        a_quote(params=params, client_id="client-2"),
        a_quote(params=params, wallet=OTHER_WALLET),
        a_quote(params=params, terms=_WRAP),
    )
    for quote in (old, *strangers, new):
        await storage.quotes.save(quote)
    found = await storage.quotes.by_fingerprint("client-1", WALLET, _SWAP, params.fingerprint())
    assert found == [new, old]


async def test_the_nearest_are_the_latest_of_key_wallet_and_kind(storage: Storage) -> None:
    quotes = [a_quote() for _ in range(4)]
    for quote in (*quotes, a_quote(wallet=OTHER_WALLET), a_quote(client_id="client-2")):
        await storage.quotes.save(quote)
    nearest = await storage.quotes.nearest("client-1", WALLET, _SWAP, 3)
    assert nearest == [quotes[3], quotes[2], quotes[1]]
    assert await storage.quotes.nearest("client-1", WALLET, QuoteKind.WRAP, 3) == []


async def test_old_quotes_go_in_small_batches_oldest_first(storage: Storage) -> None:
    quotes = [a_quote(issued_at_ms=T0 + n) for n in range(6)]
    for quote in quotes:
        await storage.quotes.save(quote)
    assert await storage.quotes.purge(T0 + 5, limit=3) == 3
    left = await storage.quotes.nearest("client-1", WALLET, _SWAP, 10)
    assert left == [quotes[5], quotes[4], quotes[3]]
    assert await storage.quotes.purge(T0 + 5, limit=3) == 2
    assert await storage.quotes.purge(T0 + 5, limit=3) == 0


async def test_terms_that_an_older_version_stored_are_read(storage: Storage) -> None:
    token = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
    swap = {
        "fromToken": WETH,
        "toToken": token,
        "amount": "1000000000000000000",
        "minReturnAmount": "2900000000",
        "userAddress": WALLET,
        "chainId": 1,
        "slippageBps": 50,
        "selectedTier": 4,
        "dexRoute.target": ROUTER,
        "dexRoute.data": "0x01",
        "buyAmount": "3000000000",
    }
    wrap = {"operation": "wrap", "amount": "1.5", "userAddress": WALLET}
    old = {
        SwapOrderTerms(Trade(WETH, Address(token), 10**18, 2_900 * 10**6, 3_000 * 10**6), 50): swap,
        WrapOrderTerms(WrapOperation.WRAP, 15 * 10**17): wrap,
        CancelOrderTerms("ord_1"): {"orderId": "ord_1"},
    }
    update = "UPDATE quotes SET kind = ?, terms = ? WHERE quote_id = ?"
    for terms, members in old.items():
        quote = a_quote(terms=terms, params=some_params(b"\x01"))
        await storage.quotes.save(quote)
        row = await storage.database.fetch(
            "SELECT terms FROM quotes WHERE quote_id = ?", quote.quote_id
        )
        assert json.loads(str(row[0][0])) == members, "an older version reads what is written now"
        stored = json.dumps(members, indent=1)
        await storage.database.change(update, terms.kind.value, stored, quote.quote_id)
        assert await storage.quotes.by_id("client-1", quote.quote_id) == quote
