"""The price feeds: Chainlink's answers, written straight into storage."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from quietswap.sandbox import places

Call = tuple[str, Sequence[Any]]

GENESIS_USD = {
    "ETH / USD": Decimal(3000),
    "BTC / USD": Decimal(90_000),
    "USDC / USD": Decimal(1),
    "USDT / USD": Decimal(1),
    "DAI / USD": Decimal(1),
}
"""What each feed answers at first: the prices the pools open at."""

_DECIMALS = 8
_ANSWER, _UPDATED_AT, _ROUND, _DESCRIPTION = range(4)  # the slots of contracts/Feed.sol


def genesis() -> Iterator[Call]:
    """Yield the calls that fill every feed; each is as fresh as the block it is read in."""
    for pair, usd in GENESIS_USD.items():
        yield from answers(pair, usd)
        yield _write(pair, _DESCRIPTION, pair.encode().ljust(31, b"\0") + bytes([2 * len(pair)]))


def answers(pair: str, usd: Decimal, updated_at: int = 0, round_id: int = 1) -> Iterator[Call]:
    """Yield the calls that make the feed of `pair`, such as `ETH / USD`, answer `usd`.

    `updated_at` in Unix seconds; 0 keeps the feed as fresh as the block it is read in. A negative
    price is written as it is: feeds have been wrong before.
    """
    answer = int(usd * 10**_DECIMALS)
    yield _write(pair, _ANSWER, answer.to_bytes(32, signed=True))
    yield _write(pair, _UPDATED_AT, updated_at.to_bytes(32))
    yield _write(pair, _ROUND, round_id.to_bytes(32))


def _write(pair: str, slot: int, word: bytes) -> Call:
    return "anvil_setStorageAt", (places.FEEDS[pair], hex(slot), "0x" + word.hex())
