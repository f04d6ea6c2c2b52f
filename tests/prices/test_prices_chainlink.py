"""Chainlink feeds on a real node."""

from collections.abc import AsyncIterator
from decimal import Decimal

import msgspec
import pytest

from quietswap.rules.routers.feeds import FEEDS
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx.address import Address
from quietswap.sandbox.contracts.pools import DAI, USDC, USDT, WBTC
from quietswap.service.base.http_client import HttpClient
from quietswap.service.node.rpc import NodeRpcClient
from quietswap.service.prices.usd import Chainlink, DefiLlama, UsdPrices
from quietswap.service.sources.uniswap_reference import PoolPrices
from tests.chain.fake_node import Refusal, fake_node
from tests.chain.small_chain import SmallChain, small_chain
from tests.defaults import NODE, PRICES
from tests.fake_web import Answer, serving
from tests.manual_clock import ManualClock

ROUND_DATA = (
    "0x0000000000000000000000000000000000000000000000070000000000001638"
    "00000000000000000000000000000000000000000000000000000045da1bd300"
    "000000000000000000000000000000000000000000000000000000006afd86c0"
    "000000000000000000000000000000000000000000000000000000006afd86cc"
    "0000000000000000000000000000000000000000000000070000000000001638"
)


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.close()


@pytest.fixture
async def small() -> AsyncIterator[SmallChain]:
    async with small_chain() as chain:
        yield chain


async def set_feed(small: SmallChain, token: Address, answer: int, updated_at: int) -> None:
    feed = FEEDS[token].address
    for slot, number in ((0, answer % 2**256), (1, updated_at)):
        await small.raw.call("anvil_setStorageAt", feed, hex(slot), f"0x{number:064x}")


async def block_time(small: SmallChain) -> int:
    block = await small.raw.call("eth_getBlockByNumber", "latest", False)
    return int(block["timestamp"], 16)


@pytest.mark.parametrize("token", FEEDS, ids=lambda a: str(a)[:6])
async def test_feeds_are_fresh_until_their_heartbeat_and_slack(
    small: SmallChain, token: Address
) -> None:
    now = await block_time(small)
    small.clock.seconds = now
    chainlink = Chainlink(small.rpc, small.clock)
    limit = (86_400 if token in (USDC.address, USDT.address) else 3600) + 300
    await set_feed(small, token, 300_012_000_000, now - limit)
    assert await chainlink.usd(token) == Decimal("3000.12")
    small.clock.advance(1)
    assert await chainlink.usd(token) is None


async def test_the_later_of_chain_and_clock_counts(small: SmallChain) -> None:
    now = await block_time(small)
    small.clock.seconds = now - 10_000
    await set_feed(small, WETH, 1, now - 3901)
    assert await Chainlink(small.rpc, small.clock).usd(WETH) is None


@pytest.mark.parametrize("answer", [0, -1, -300_000_000_000])
async def test_a_price_is_positive(small: SmallChain, answer: int) -> None:
    now = await block_time(small)
    small.clock.seconds = now
    await set_feed(small, WETH, answer, now)
    assert await Chainlink(small.rpc, small.clock).usd(WETH) is None


async def test_a_price_from_the_future_is_none(small: SmallChain) -> None:
    now = await block_time(small)
    small.clock.seconds = now
    await set_feed(small, WETH, 1, now + 301)
    assert await Chainlink(small.rpc, small.clock).usd(WETH) is None


async def test_no_feed_no_price(small: SmallChain) -> None:
    assert await Chainlink(small.rpc, small.clock).usd(DAI.address) is None
    await small.raw.call("anvil_setCode", FEEDS[WETH].address, "0x")
    assert await Chainlink(small.rpc, small.clock).usd(WETH) is None


async def test_each_token_has_the_feed_of_its_own_currency() -> None:
    from quietswap.sandbox.contracts import addresses

    wanted = {
        WETH: "ETH / USD",
        WBTC.address: "BTC / USD",
        USDC.address: "USDC / USD",
        USDT.address: "USDT / USD",
    }
    assert {token: feed.address for token, feed in FEEDS.items()} == {
        token: addresses.FEEDS[name] for token, name in wanted.items()
    }


async def test_a_node_that_is_away_is_no_price(http: HttpClient) -> None:
    def refuses(*_: object) -> object:
        raise Refusal(-32000, "header not found")

    clock = ManualClock()
    async with fake_node(eth_call=refuses) as node:
        chainlink = Chainlink(NodeRpcClient(http, [node.url], clock, **NODE), clock)
        assert await chainlink.usd(WETH) is None
    assert await chainlink.usd(WETH) is None


async def test_the_words_of_a_round(http: HttpClient) -> None:
    """The answer of latestRoundData as mainnet's proxy gives it."""
    from quietswap.sandbox.contracts import abi

    clock = ManualClock(1_795_000_012 + 3900)
    results = [(True, bytes(32)), (True, bytes.fromhex(ROUND_DATA[2:]))]
    answer = "0x" + abi.encode("((bool,bytes)[])", (results,)).hex()
    async with fake_node(eth_call=answer) as node:
        chainlink = Chainlink(NodeRpcClient(http, [node.url], clock, **NODE), clock)
        assert await chainlink.usd(WETH) == Decimal("3000.12")


async def test_a_doubted_price_is_none(small: SmallChain) -> None:
    """All of it together: a real feed, and a web source that is 6.7 % off."""
    now = await block_time(small)
    small.clock.seconds = now
    await set_feed(small, WETH, 300_000_000_000, now)
    coin = {"price": 3200, "timestamp": now, "confidence": 1}
    body = msgspec.json.encode({"coins": {f"ethereum:{WETH}": coin}})
    doubts = []
    async with serving(lambda _: Answer(body)) as web:
        prices = UsdPrices(
            Chainlink(small.rpc, small.clock),
            PoolPrices(small.rpc, small.clock),
            [DefiLlama(small.http, small.clock, url=web.url)],
            small.clock,
            on_doubt=lambda *doubt: doubts.append(doubt),
            **PRICES,
        )
        assert await prices.usd(WETH) == [None]
    assert doubts == [(WETH, "3000.00000000", "3200")]
