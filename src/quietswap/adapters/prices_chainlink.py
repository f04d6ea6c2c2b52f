"""Chainlink's USD feeds on mainnet (https://docs.chain.link/data-feeds/price-feeds/addresses)."""

from dataclasses import dataclass
from decimal import Decimal

from quietswap.adapters import erc20, multicall
from quietswap.adapters.jsonrpc import JsonRpc
from quietswap.adapters.multicall import BLOCK_TIMESTAMP, MULTICALL3, View
from quietswap.domain.address import Address
from quietswap.domain.token import WETH
from quietswap.ports.outside import ChainDown, Clock

_LATEST_ROUND_DATA = bytes.fromhex("feaf968c")
_SLACK_S = 300
_DECIMALS = 8


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed and the longest time in seconds it lets pass between two updates."""

    address: Address
    heartbeat_s: int


FEEDS = {
    WETH: Feed(Address("0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419"), 3600),
    Address("0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599"): Feed(
        Address("0xF4030086522a5bEEa4988F8cA5B36dbC97BeE88c"), 3600
    ),
    Address("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"): Feed(
        Address("0x8fFfFfd4AfB6115b954Bd326cbe7B4BA576818f6"), 86_400
    ),
    Address("0xdAC17F958D2ee523a2206206994597C13D831ec7"): Feed(
        Address("0x3E7d1eAB13ad0104d2750B8863b489D65364e32D"), 86_400
    ),
}
"""WETH by ETH/USD, WBTC by BTC/USD, USDC and USDT by their own: token → feed."""


class Chainlink:
    """USD prices of the few tokens that have a feed here."""

    def __init__(self, rpc: JsonRpc, clock: Clock) -> None:
        self._rpc = rpc
        self._clock = clock

    async def usd(self, token: Address) -> Decimal | None:
        """Return USD per whole token; None without a feed, when stale or when the node is away."""
        feed = FEEDS.get(token)
        if feed is None:
            return None
        views = [View(MULTICALL3, BLOCK_TIMESTAMP), View(feed.address, _LATEST_ROUND_DATA)]
        try:
            block_time, round_data = await multicall.look(self._rpc, views)
        except ChainDown:
            return None
        return self._price(feed, erc20.read_uint(block_time), round_data)

    def _price(
        self, feed: Feed, block_time: int | None, round_data: bytes | None
    ) -> Decimal | None:
        if block_time is None or round_data is None or len(round_data) < 160:
            return None
        answer = int.from_bytes(round_data[32:64], signed=True)
        updated_at = int.from_bytes(round_data[96:128])
        # a node that stands still would call any price fresh, so the later of both times counts
        now = max(block_time, self._clock.now_ms() // 1000)
        is_fresh = -_SLACK_S <= now - updated_at <= feed.heartbeat_s + _SLACK_S
        return Decimal(answer).scaleb(-_DECIMALS) if answer > 0 and is_fresh else None
