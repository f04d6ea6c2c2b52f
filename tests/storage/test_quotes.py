"""Issued quotes on both databases."""

from dataclasses import replace

from quietswap.domain.quote import QuoteKind
from quietswap.storage.open import Storage
from tests.storage.examples import OTHER_WALLET, T0, WALLET, a_quote, some_params

_SWAP = QuoteKind.SWAP


async def test_a_quote_comes_back_exactly(storage: Storage) -> None:
    quote = a_quote()
    await storage.quotes.save(quote)
    assert await storage.quotes.by_id("key-1", quote.quote_id) == quote
    assert await storage.quotes.by_id("key-2", quote.quote_id) is None
    assert await storage.quotes.by_id("key-1", "nothing") is None


async def test_a_wrap_quote_has_no_nonce(storage: Storage) -> None:
    quote = a_quote(kind=QuoteKind.WRAP, params=some_params(b"", nonce=None, value=0))
    await storage.quotes.save(quote)
    assert await storage.quotes.by_id("key-1", quote.quote_id) == quote


async def test_a_quote_is_found_by_its_transaction_newest_first(storage: Storage) -> None:
    params = some_params(b"same")
    old = a_quote(params=params)
    new = a_quote(params=replace(params, nonce=1))
    strangers = (
        a_quote(),
        a_quote(params=params, key_id="key-2"),
        a_quote(params=params, wallet=OTHER_WALLET),
        a_quote(params=params, kind=QuoteKind.WRAP),
    )
    for quote in (old, *strangers, new):
        await storage.quotes.save(quote)
    found = await storage.quotes.by_fingerprint("key-1", WALLET, _SWAP, params.fingerprint())
    assert found == [new, old]


async def test_the_nearest_are_the_latest_of_key_wallet_and_kind(storage: Storage) -> None:
    quotes = [a_quote() for _ in range(4)]
    for quote in (*quotes, a_quote(wallet=OTHER_WALLET), a_quote(key_id="key-2")):
        await storage.quotes.save(quote)
    nearest = await storage.quotes.nearest("key-1", WALLET, _SWAP, 3)
    assert nearest == [quotes[3], quotes[2], quotes[1]]
    assert await storage.quotes.nearest("key-1", WALLET, QuoteKind.WRAP, 3) == []


async def test_old_quotes_go_in_small_batches_oldest_first(storage: Storage) -> None:
    quotes = [a_quote(issued_at_ms=T0 + n) for n in range(6)]
    for quote in quotes:
        await storage.quotes.save(quote)
    assert await storage.quotes.purge(T0 + 5, limit=3) == 3
    left = await storage.quotes.nearest("key-1", WALLET, _SWAP, 10)
    assert left == [quotes[5], quotes[4], quotes[3]]
    assert await storage.quotes.purge(T0 + 5, limit=3) == 2
    assert await storage.quotes.purge(T0 + 5, limit=3) == 0
