"""Prices: what each source is believed, and what happens when they disagree, age or fall silent."""

import asyncio
from dataclasses import dataclass, field
from decimal import Decimal

import pytest

from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx.address import Address
from quietswap.sandbox.contracts.pools import DAI
from quietswap.service.prices.usd import UsdPrices
from tests.defaults import PRICES
from tests.manual_clock import ManualClock

A_TOKEN = DAI.address


@dataclass
class Stub:
    """A source that says what it is told to."""

    price: str | None
    asked: list[Address] = field(default_factory=list)

    async def usd(self, token: Address) -> Decimal | None:
        self.asked.append(token)
        await asyncio.sleep(0)
        return None if self.price is None else Decimal(self.price)


class Market:
    """UsdPrices over four stubs."""

    def __init__(
        self,
        feed: str | None,
        llama: str | None,
        gecko: str | None,
        pools: str | None = None,
        hubs: tuple[Address, ...] = (),
    ) -> None:
        self.feed, self.llama, self.gecko = Stub(feed), Stub(llama), Stub(gecko)
        self.pools = Stub(pools)
        self.doubts: list[tuple[str, str, str]] = []
        self.clock = ManualClock()
        self.prices = UsdPrices(
            self.feed,
            self.pools,
            [self.llama, self.gecko],
            self.clock,
            hubs=hubs,
            on_doubt=lambda *doubt: self.doubts.append(doubt),
            **PRICES,
        )

    async def eth(self) -> str | None:
        [price] = await self.prices.usd(WETH)
        return None if price is None else str(price)

    async def dai(self) -> str | None:
        [price] = await self.prices.usd(A_TOKEN)
        return None if price is None else str(price)


@pytest.mark.parametrize(
    ("feed", "llama", "gecko", "price", "doubts"),
    [
        ("3000", "3001", None, "3000", 0),
        ("3000", "3060", None, "3000", 0),
        ("3000", "3060.01", None, "3000", 1),
        ("3000", "2930", None, "3000", 1),
        ("3000", "3150", None, "3000", 1),
        ("3000", "3150.01", None, None, 1),
        ("3000", "2850", None, None, 1),
        ("3000", None, "3001", "3000", 0),
        ("3000", None, "4000", None, 1),
        ("3000", None, None, "3000", 0),
        (None, "3000", "3001", "3000", 0),
        (None, "3000", "4000", None, 1),
        (None, None, "3000", "3000", 0),
        (None, None, None, None, 0),
    ],
)
async def test_eth_by_who_answers(
    feed: str | None, llama: str | None, gecko: str | None, price: str | None, doubts: int
) -> None:
    market = Market(feed, llama, gecko)
    assert await market.eth() == price
    assert len(market.doubts) == doubts


async def test_a_doubt_names_token_and_both_prices() -> None:
    market = Market("3000", "4000", None)
    await market.eth()
    assert market.doubts == [(WETH, "3000", "4000")]


@pytest.mark.parametrize(
    ("llama", "gecko", "price"),
    [("1", "1.01", "1"), (None, "1.01", "1.01"), ("1", None, "1"), ("1", "1.06", None)],
)
async def test_tokens_without_a_feed(
    llama: str | None, gecko: str | None, price: str | None
) -> None:
    market = Market("7", llama, gecko)
    assert await market.dai() == price
    assert market.feed.asked == []


@pytest.mark.parametrize(
    ("pools", "llama", "gecko", "price"),
    [
        ("1", None, None, None),
        ("1", "1.01", "9", "1"),
        ("1", "2", "2", None),
        ("1", "2", "1.01", "1"),
        ("1", None, "2", None),
        (None, "2", "2", "2"),
    ],
)
async def test_pools_come_before_the_web(
    pools: str | None, llama: str | None, gecko: str | None, price: str | None
) -> None:
    market = Market("7", llama, gecko, pools)
    assert await market.dai() == price


async def test_the_pools_alone_are_enough_for_hubs_only() -> None:
    """Whoever owns the pools of a worthless token decides its price there."""
    assert await Market("7", None, None, "1").dai() is None
    assert await Market("7", None, None, "1", hubs=(A_TOKEN,)).dai() == "1"


async def test_a_feed_that_the_pools_confirm_needs_no_web() -> None:
    market = Market("3000", "6000", "6000", "3001")
    assert await market.eth() == "3000"
    assert market.llama.asked == market.gecko.asked == []
    assert await market.prices.by_pools(WETH, A_TOKEN) == [Decimal(3001), Decimal(3001)]


@pytest.mark.parametrize(
    ("llama", "gecko", "price"), [("3001", None, "3000"), ("9", "2990", "3000"), ("9", None, None)]
)
async def test_pools_that_somebody_drained_do_not_hide_the_price(
    llama: str, gecko: str | None, price: str | None
) -> None:
    assert await Market("3000", llama, gecko, "2000").eth() == price


async def test_a_second_opinion_is_enough() -> None:
    market = Market("3000", "3001", "9")
    assert await market.eth() == "3000"
    assert market.gecko.asked == []


async def test_several_prices_come_in_order_and_each_is_asked_for_once() -> None:
    market = Market("3000", "3001", None)
    weth, other, again = await market.prices.usd(WETH, A_TOKEN, WETH)
    assert (weth, other, again) == (Decimal(3000), Decimal(3001), Decimal(3000))
    assert market.feed.asked == [WETH]
    assert sorted(market.llama.asked) == sorted([WETH, A_TOKEN])
    assert await market.prices.usd(A_TOKEN, WETH) == [other, weth]
    assert sorted(market.llama.asked) == sorted([WETH, A_TOKEN])


async def test_a_price_is_remembered_for_twenty_seconds() -> None:
    market = Market("3000", "3001", None)
    assert await market.eth() == "3000"
    market.feed.price = "3010"
    market.clock.advance(19.9)
    assert await market.eth() == "3000"
    market.clock.advance(0.2)
    assert await market.eth() == "3010"


async def test_an_old_price_never_stands_in_for_a_missing_one() -> None:
    market = Market("3000", None, None)
    assert await market.eth() == "3000"
    market.feed.price = None
    market.clock.advance(21)
    assert await market.eth() is None
    market.feed.price = "3020"
    market.clock.advance(4)
    assert await market.eth() is None
    market.clock.advance(2)
    assert await market.eth() == "3020"


async def test_callers_at_once_share_one_question() -> None:
    market = Market("3000", "3001", None)
    assert await asyncio.gather(*(market.eth() for _ in range(20))) == ["3000"] * 20
    assert market.feed.asked == [WETH]


async def test_a_caller_hanging_up_does_not_take_the_others_down() -> None:
    market = Market("3000", "3001", None)
    impatient = asyncio.create_task(market.eth())
    patient = asyncio.create_task(market.eth())
    await asyncio.sleep(0)
    impatient.cancel()
    assert await patient == "3000"
