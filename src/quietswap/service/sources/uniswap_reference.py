"""USD prices by the pools of Uniswap alone, read from the operator's own node.

No vendor can bend them. One pool alone decides nothing, and none counts whose depth somebody could
provide cheaply.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from decimal import Decimal
from statistics import median

from cachetools import TTLCache

from quietswap.rules.amounts import MOST_DECIMALS
from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.routers import feeds
from quietswap.rules.routers.feeds import FEEDS
from quietswap.rules.routers.pool_routing import Pool, pools_of
from quietswap.rules.tokens.erc20 import DECIMALS, balance_of, read_uint
from quietswap.rules.tokens.token import USDC, USDT, WETH
from quietswap.rules.tx.address import Address
from quietswap.service.base.clock import Clock
from quietswap.service.base.concurrency import SingleFlight
from quietswap.service.node import multicall
from quietswap.service.node.multicall import BLOCK_TIMESTAMP, MULTICALL3, ViewCall
from quietswap.service.node.rpc import NodeReads
from quietswap.service.node.work import asking_party, shared
from quietswap.service.sources.uniswap import depth_of, state_views

LEAST_WETH = 10
"""Least depth of a pool, in WETH or its value: held in the counted token, and at its price."""
AGREE = Decimal("0.01")
"""More than half of the pools, and at least two, must be this close to their median."""
_COUNTED = {
    WETH: 18,
    USDC: 6,
    USDT: 6,
}
"""Tokens that pools are counted in, with their decimals: WETH, USDC and USDT, by their feeds."""
_GAS = 5_000_000
"""Of all views together. `decimals` of the token is the last one: it may burn what is left."""
_TTL_S = 12.0
_CACHED = 2_000


class PoolPrices:
    """Implements quietswap.service.prices.usd.PriceSource."""

    def __init__(self, node: NodeReads, clock: Clock) -> None:
        self._node = node
        self._clock = clock
        self._in_flight: SingleFlight[tuple[Address, str], Decimal | None] = SingleFlight()
        self._known: TTLCache[Address, Decimal | None]
        self._known = TTLCache(_CACHED, _TTL_S, timer=clock.monotonic)

    async def usd(self, token: Address) -> Decimal | None:
        """Return USD per whole token; None where the pools do not decide, or the node fails."""
        try:
            return self._known[token]
        except KeyError:
            price = await self._in_flight((token, asking_party()), lambda: self._read(token))
        self._known[token] = price
        return price

    async def after(self, block: int, tokens: Sequence[Address]) -> Sequence[Decimal | None]:
        """Return USD per smallest unit at the state after `block`, in order, in one round trip.

        None where the pools do not decide, and for all if the node has no such state.
        """
        views = [_views(token) for token in tokens]
        try:
            calls = [multicall.call(of_token, at=hex(block)) for of_token in views]
            results = await self._node.batch(calls)
            answers = [one.value(result) for one, result in zip(calls, results, strict=True)]
        except NodeUnavailable:
            return [None] * len(tokens)
        return [_usd(token, answer, 0) for token, answer in zip(tokens, answers, strict=True)]

    async def _read(self, token: Address) -> Decimal | None:
        try:
            with shared() if token in FEEDS else nullcontext():
                *answers, decimals = await multicall.read_views(
                    self._node, [*_views(token), ViewCall(token, DECIMALS)], gas=_GAS
                )
        except NodeUnavailable:
            return None
        scale, price = read_uint(decimals), _usd(token, answers, self._clock.now_ms() // 1000)
        if price is None or scale is None or scale > MOST_DECIMALS:
            return None
        return price.scaleb(scale)


def _pools(token: Address) -> list[tuple[Pool, Address]]:
    """Return the pools of a token that may exist, each with the token that it is counted in."""
    others = [counted for counted in _COUNTED if counted != token]
    return [(pool, counted) for counted in others for pool in pools_of(token, counted)]


def _views(token: Address) -> list[ViewCall]:
    views = [ViewCall(MULTICALL3, BLOCK_TIMESTAMP)]
    views += [ViewCall(FEEDS[one].address, feeds.LATEST_ROUND_DATA) for one in _COUNTED]
    for pool, counted in _pools(token):
        views += [ViewCall(counted, balance_of(pool.address)), *state_views(pool)]
    return views


def _usd(token: Address, read: Sequence[bytes | None], clock_s: int) -> Decimal | None:
    """Return USD per smallest unit by the answers of `_views`; feeds are as old as the clock says.

    A clock of 0 leaves only the time of the block."""
    answers = iter(read)
    block_time = read_uint(next(answers))
    usd = {
        one: feeds.usd(FEEDS[one], next(answers), block_time=block_time, clock_s=clock_s)
        for one in _COUNTED
    }
    prices = []
    for pool, counted in _pools(token):
        held, state = next(answers), [next(answers) for _ in state_views(pool)]
        price = _price(pool, counted, read_uint(held) or 0, state, usd)
        if price is not None:
            prices.append(price)
    return agreed(prices)


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
    here, other = depth.sides(pool, counted)
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
