"""Chainlink USD feeds on mainnet (https://docs.chain.link/data-feeds/price-feeds/addresses)."""

from decimal import Decimal

from quietswap.adapters.rpc import erc20, multicall
from quietswap.adapters.rpc.client import NodeRpcClient
from quietswap.adapters.rpc.multicall import BLOCK_TIMESTAMP, MULTICALL3, ViewCall
from quietswap.domain.address import Address
from quietswap.domain.quote import price_feeds
from quietswap.domain.quote.price_feeds import FEEDS
from quietswap.ports.chain import NodeUnavailable
from quietswap.ports.clock import Clock


class Chainlink:
    """USD prices of the tokens in FEEDS."""

    def __init__(self, rpc: NodeRpcClient, clock: Clock) -> None:
        self._rpc = rpc
        self._clock = clock

    async def usd(self, token: Address) -> Decimal | None:
        """Return USD per whole token; None without a feed, if stale, or if the node fails."""
        feed = FEEDS.get(token)
        if feed is None:
            return None
        views = [
            ViewCall(MULTICALL3, BLOCK_TIMESTAMP),
            ViewCall(feed.address, price_feeds.LATEST_ROUND_DATA),
        ]
        try:
            block_time, round_data = await multicall.read_views(self._rpc, views)
        except NodeUnavailable:
            return None
        when = erc20.read_uint(block_time)
        if when is None or round_data is None:
            return None
        clock_s = self._clock.now_ms() // 1000
        return price_feeds.usd(feed, round_data, block_time=when, clock_s=clock_s)
