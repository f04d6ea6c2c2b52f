"""USD prices by the pools of Uniswap alone, read from the operator's own node.

No vendor can bend them. One pool alone decides nothing, and none counts whose depth somebody could
provide cheaply.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from statistics import median

from cachetools import TTLCache

from quietswap.chain import multicall
from quietswap.chain.address import Address
from quietswap.chain.chain import NodeUnavailable
from quietswap.chain.erc20 import DECIMALS, balance_of, read_uint
from quietswap.chain.multicall import BLOCK_TIMESTAMP, MULTICALL3, ViewCall
from quietswap.chain.rpc import NodeReads
from quietswap.clock import Clock
from quietswap.concurrency import SingleFlight
from quietswap.prices import feeds
from quietswap.prices.feeds import FEEDS
from quietswap.tokens.token import WETH
from quietswap.vendors.uniswap.adapter import depth_of, state_views
from quietswap.vendors.uniswap.routing import Pool, pools_of

LEAST_WETH = 10
"""Least depth of a pool, in WETH or its value: held in the counted token, and at its price."""
AGREE = Decimal("0.01")
"""More than half of the pools, and at least two, must be this close to their median."""
_COUNTED = {
    WETH: 18,
    Address("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"): 6,
    Address("0xdAC17F958D2ee523a2206206994597C13D831ec7"): 6,
}
"""Tokens that pools are counted in, with their decimals: WETH, USDC and USDT, by their feeds."""
_TTL_S = 12.0
_CACHED = 2_000


class PoolPrices:
    """Implements quietswap.prices.usd.PriceSource."""

    def __init__(self, node: NodeReads, clock: Clock) -> None:
        self._node = node
        self._clock = clock
        self._in_flight: SingleFlight[Address, Decimal | None] = SingleFlight()
        self._known: TTLCache[Address, Decimal | None]
        self._known = TTLCache(_CACHED, _TTL_S, timer=clock.monotonic)

    async def usd(self, token: Address) -> Decimal | None:
        """Return USD per whole token; None where the pools do not decide, or the node fails."""
        try:
            return self._known[token]
        except KeyError:
            price = await self._in_flight(token, lambda: self._read(token))
        self._known[token] = price
        return price

    async def _read(self, token: Address) -> Decimal | None:
        others = [counted for counted in _COUNTED if counted != token]
        pools = [(pool, counted) for counted in others for pool in pools_of(token, counted)]
        views = [ViewCall(MULTICALL3, BLOCK_TIMESTAMP), ViewCall(token, DECIMALS)]
        views += [ViewCall(FEEDS[one].address, feeds.LATEST_ROUND_DATA) for one in _COUNTED]
        for pool, counted in pools:
            views += [ViewCall(counted, balance_of(pool.address)), *state_views(pool)]
        try:
            answers = iter(await multicall.read_views(self._node, views))
        except NodeUnavailable:
            return None
        block_time, decimals = read_uint(next(answers)), read_uint(next(answers))
        clock_s = self._clock.now_ms() // 1000
        usd = {
            one: feeds.usd(FEEDS[one], next(answers), block_time=block_time, clock_s=clock_s)
            for one in _COUNTED
        }
        if decimals is None or decimals > 77:
            return None
        found = []
        for pool, counted in pools:
            held, state = next(answers), [next(answers) for _ in state_views(pool)]
            price = _price(pool, counted, read_uint(held) or 0, state, usd)
            if price is not None:
                found.append(price.scaleb(decimals))
        return agreed(found)


def _price(
    pool: Pool,
    counted: Address,
    held: int,
    state: Sequence[bytes | None],
    usd: Mapping[Address, Decimal | None],
) -> Decimal | None:
    """Return USD per smallest unit of the other token; None if the pool does not count."""
    depth, unit, ether = depth_of(pool, state), usd[counted], usd[WETH]
    if depth is None or unit is None or ether is None:
        return None
    here, other = (depth.low, depth.high) if counted == pool.low else (depth.high, depth.low)
    value = (unit * min(held, here)).scaleb(-_COUNTED[counted])
    if not other or value < LEAST_WETH * ether:
        return None
    return (unit * here).scaleb(-_COUNTED[counted]) / other


def agreed(prices: Sequence[Decimal]) -> Decimal | None:
    """Return the median; None unless at least two pools and more than half are near it."""
    if len(prices) < 2:
        return None
    middle = median(prices)
    near = sum(abs(price - middle) <= middle * AGREE for price in prices)
    return middle if near >= 2 and 2 * near > len(prices) else None
