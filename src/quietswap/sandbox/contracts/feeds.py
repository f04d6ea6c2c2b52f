"""The Chainlink price feeds. Their answers are written directly to storage."""

from collections.abc import Iterator
from decimal import Decimal

from quietswap.sandbox.contracts import addresses
from quietswap.sandbox.contracts.storage_words import Call, set_storage

GENESIS_USD = {
    "ETH / USD": Decimal(3000),
    "BTC / USD": Decimal(90_000),
    "USDC / USD": Decimal(1),
    "USDT / USD": Decimal(1),
    "DAI / USD": Decimal(1),
}
"""The first answer of each feed: the prices at which the pools open."""

_DECIMALS = 8
_ANSWER, _UPDATED_AT, _ROUND, _DESCRIPTION = range(4)  # the slots of contracts/Feed.sol


def genesis() -> Iterator[Call]:
    """Yield the calls that fill every feed; `updatedAt` is the block in which a feed is read."""
    for pair, usd in GENESIS_USD.items():
        yield from answers(pair, usd)
        text = pair.encode().ljust(31, b"\0") + bytes([2 * len(pair)])
        yield set_storage(addresses.FEEDS[pair], _DESCRIPTION, int.from_bytes(text))


def answers(pair: str, usd: Decimal, updated_at: int = 0, round_id: int = 1) -> Iterator[Call]:
    """Yield the calls that make the feed of `pair`, such as `ETH / USD`, answer `usd`.

    `updated_at` in Unix seconds; 0 stands for the block in which the feed is read. A negative
    price is allowed, because real feeds have had errors.
    """
    words = {_ANSWER: int(usd * 10**_DECIMALS), _UPDATED_AT: updated_at, _ROUND: round_id}
    for slot, value in words.items():
        yield set_storage(addresses.FEEDS[pair], slot, value)
