"""Updates of the Chainlink feeds from the pools' prices."""

import asyncio

from quietswap.sandbox.chain.local_chain import LocalChain
from quietswap.sandbox.contracts.tokens import DAI, USDT, WBTC, WETH
from quietswap.sandbox.venues.market import Market, NoPrice

_FOLLOWING = {"ETH / USD": WETH, "BTC / USD": WBTC, "USDT / USD": USDT, "DAI / USD": DAI}
"""The feed of USDC stays at 1, because pool prices are in USDC."""


class FeedUpdater:
    """Writes the pools' prices to the feeds, except to those that were set by `by_hand`."""

    def __init__(self, chain: LocalChain) -> None:
        self._chain = chain
        self._market = Market(chain)
        self._by_hand: set[str] = set()

    def by_hand(self, pair: str) -> None:
        """Stop updates of the feed of `pair` until `follow`."""
        self._by_hand.add(pair)

    async def follow(self, pair: str) -> None:
        """Update the feed of `pair` now, and after each block again."""
        self._by_hand.discard(pair)
        await self._write(pair)

    async def update(self) -> None:
        """Write the prices of the latest block."""
        await asyncio.gather(*(self._write(p) for p in _FOLLOWING if p not in self._by_hand))

    async def _write(self, pair: str) -> None:
        token = _FOLLOWING.get(pair)
        if token is None:
            return
        try:
            usd = await self._market.usd_price(token)
        except NoPrice:  # the pools are empty: like a real feed, keep the last answer
            return
        await self._chain.set_price(pair, usd)
