"""Routes over pools of Uniswap V2 and V3: which pools, which paths, and how to split. No I/O.

A path is one pool, or two of the same version over a hub token. Its outputs are known at every
tenth of the amount, and grow ever more slowly, so that taking the best next tenth is optimal.

The depth of a V3 pool at its price says little: liquidity in one tick is cheap and looks deep, at
any price. So each kind of path has places of its own, which no other kind can take: paths of V2,
whose outputs are computed, V3 paths of one pool, and V3 paths over a hub. Among the last the depth
chooses which are quoted first. Where a quote shows that it chose wrongly, each other pool beside
the two tokens is tried.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, pairwise, product

from quietswap.rules.routers.known_pools import V3_FEES, v2_pair, v3_pool
from quietswap.rules.routers.swap_router02 import Leg
from quietswap.rules.tx.address import Address

Pair = tuple[Address, Address]
STEPS = 10
"""Parts of the amount. More would find better splits, and cost the node more."""
MOST_LEGS = 4
CANDIDATES = 8
"""Paths that a split chooses from."""
OVER_HUBS = 4
"""V3 paths over a hub whose outputs are quoted for all parts."""
SAMPLE_STEP = 3
"""Paths are compared by what they give for so many parts of the amount."""
_SHORT = Fraction(4, 5)
"""A quote below this share of what the depths promise shows that they are false."""
_MOST_DEPTH = Fraction(1, 4)
"""Parts above this share of a V3 pool's depth at its price are not asked for.

They move its price by more than half. Where its liquidity ends, QuoterV2 looks for more of it as
far as the last tick, and one part can use most of the gas of the call.
"""
_V2_FEE = 3000
_MILLION = 10**6
BASE_GAS = 110_000
_POOL_GAS = {True: 65_000, False: 90_000}
"""Estimated gas units of a leg's pool, for V2 and V3. The simulation measures what a swap uses."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The pool of two tokens; `fee` is that of a V3 pool in hundredths of a bps, 0 the V2 pair."""

    tokens: frozenset[Address]
    fee: int

    @property
    def address(self) -> Address:
        """Return its address, which its factory and these fields determine (CREATE2)."""
        return _address(self)

    @property
    def low(self) -> Address:
        return min(self.tokens, key=str.lower)


@lru_cache(maxsize=16_384)
def _address(pool: Pool) -> Address:
    one, other = pool.tokens
    return v3_pool(one, other, pool.fee) if pool.fee else v2_pair(one, other)


@dataclass(frozen=True, slots=True)
class Depth:
    """Reserves in smallest units, of the lower address first; of a V3 pool those at its price.

    The latter are L / sqrt(P) and L * sqrt(P) (https://uniswap.org/whitepaper-v3.pdf, 6.2).
    """

    low: int
    high: int

    def sides(self, pool: "Pool", sold: Address) -> tuple[int, int]:
        """Return the reserves of the sold and of the other token."""
        return (self.low, self.high) if sold == pool.low else (self.high, self.low)


Depths = Mapping[Pool, Depth]


@dataclass(frozen=True, slots=True)
class Path:
    """Pools from the sold to the bought token, all of the same version."""

    tokens: tuple[Address, ...]
    pools: tuple[Pool, ...]

    @property
    def is_v2(self) -> bool:
        return not self.pools[0].fee

    @property
    def gas(self) -> int:
        return _POOL_GAS[self.is_v2] * len(self.pools)

    def leg(self, amount: int) -> Leg:
        """Return the router's leg that sells `amount` over this path."""
        return Leg(amount, self.tokens, () if self.is_v2 else tuple(p.fee for p in self.pools))


@lru_cache(maxsize=4096)
def pools_of(one: Address, other: Address) -> tuple[Pool, ...]:
    return tuple(Pool(frozenset({one, other}), fee) for fee in (0, *V3_FEES))


def pairs(
    sell: Address, buy: Address, hubs: Iterable[Address]
) -> Iterator[tuple[Address, Address]]:
    """Yield the pairs of tokens whose pools a swap can use."""
    yield sell, buy
    for hub in hubs:
        if hub not in (sell, buy):
            yield sell, hub
            yield hub, buy


def gives(depth: Depth, pool: Pool, sold: Address, amount: int) -> int:
    """Return the output of `amount`: exact for V2, for V3 as if its liquidity had no end.

    UniswapV2Library.getAmountOut, with the fee of the pool.
    """
    paid, got = depth.sides(pool, sold)
    after_fee = amount * (_MILLION - (pool.fee or _V2_FEE))
    return after_fee * got // (paid * _MILLION + after_fee) if paid else 0


def path_gives(path: Path, depths: Depths, amount: int) -> int:
    """Return the output of `amount` over all pools of the path, as `gives`; 0 without a pool."""
    for sold, pool in zip(path.tokens, path.pools, strict=False):
        depth = depths.get(pool)
        amount = gives(depth, pool, sold, amount) if depth else 0
    return amount


def over_hubs(paths: Iterable[Path], depths: Depths, amount: int) -> list[Path]:
    """Return the V3 paths over a hub that can take a part of the amount, the deepest first."""
    promised = {
        path: path_gives(path, depths, sample_of(amount))
        for path in paths
        if not path.is_v2 and len(path.pools) > 1 and v3_steps(path, depths, amount)
    }
    return sorted(promised, key=lambda path: -promised[path])


def is_short(path: Path, depths: Depths, amount: int, outputs: Sequence[int]) -> bool:
    """Return whether the quoted outputs are far below what the depths of the pools promise."""
    step = min(SAMPLE_STEP, v3_steps(path, depths, amount))
    quoted = outputs[step - 1] if len(outputs) >= step else 0
    return quoted < _SHORT * path_gives(path, depths, amount_at(amount, step))


def untried(paths: Iterable[Path], tried: Iterable[Path]) -> list[Path]:
    """Return the first of the paths for each pool that no tried path has, at either of its ends."""
    seen = {(end, path.pools[end]) for path in tried for end in (0, -1)}
    chosen = []
    for path in paths:
        ends = {(end, path.pools[end]) for end in (0, -1)}
        if not ends <= seen:
            chosen.append(path)
            seen |= ends
    return chosen


def best_paths(outputs: Mapping[Path, Sequence[int]]) -> dict[Path, Sequence[int]]:
    """Return the paths that give most for the sample, or for what they take of it."""
    rows = [(path, known) for path, known in outputs.items() if any(known)]
    rows.sort(key=lambda row: -row[1][min(SAMPLE_STEP, len(row[1])) - 1])
    return dict(rows[:CANDIDATES])


def all_paths(
    sell: Address, buy: Address, hubs: Iterable[Address], depths: Depths
) -> Iterator[Path]:
    for pool in pools_of(sell, buy):
        if pool in depths:
            yield Path((sell, buy), (pool,))
    for hub in hubs:
        if hub in (sell, buy):
            continue
        for first, second in product(pools_of(sell, hub), pools_of(hub, buy)):
            if first in depths and second in depths and (not first.fee) is (not second.fee):
                yield Path((sell, hub, buy), (first, second))


def amount_at(amount: int, step: int) -> int:
    return amount * step // STEPS


def sample_of(amount: int) -> int:
    return max(1, amount_at(amount, SAMPLE_STEP))


def v2_outputs(path: Path, depths: Depths, amount: int) -> list[int]:
    """Return the outputs of a V2 path for 1 to STEPS parts of the amount."""
    return [path_gives(path, depths, amount_at(amount, n + 1)) for n in range(STEPS)]


def v3_steps(path: Path, depths: Depths, amount: int) -> int:
    """Return how many parts of the amount, at most, the pools of a V3 path are asked for."""
    return next((n for n in range(STEPS, 0, -1) if _is_deep(path, depths, amount_at(amount, n))), 0)


def _is_deep(path: Path, depths: Depths, amount: int) -> bool:
    for sold, pool in zip(path.tokens, path.pools, strict=False):
        if amount > _MOST_DEPTH * depths[pool].sides(pool, sold)[0]:
            return False
        amount = gives(depths[pool], pool, sold, amount)
    return True


@dataclass(frozen=True, slots=True)
class Split:
    """Paths with their parts of the amount, and the sum of their outputs in smallest units."""

    parts: Mapping[Path, int]
    output: int

    @property
    def gas(self) -> int:
        return BASE_GAS + sum(path.gas for path in self.parts)

    def legs(self, amount: int) -> list[Leg]:
        """Return the router's legs, the largest first; it sells what rounding left over."""
        shares = sorted(self.parts.items(), key=lambda part: -part[1])
        sold = [amount_at(amount, steps) for _, steps in shares]
        sold[0] += amount - sum(sold)
        return [path.leg(each) for (path, _), each in zip(shares, sold, strict=True)]


def best_split(outputs: Mapping[Path, Sequence[int]], gas_cost: Fraction | None) -> Split | None:
    """Return the split with the most output after gas; None if no path takes the amount.

    `outputs` are those of 1 to STEPS parts; fewer, if a path cannot take the rest. `gas_cost` is
    in smallest units of the bought token for one unit of gas; None for a single path: where it is
    not known, and where a part of the amount could be 0.
    """
    gains = {
        path: [now - before for before, now in pairwise((0, *known))]
        for path, known in outputs.items()
    }
    costs = {path: int((gas_cost or 0) * path.gas) for path in outputs}
    best: tuple[int, dict[Path, int]] | None = None
    for count in range(1, (1 if gas_cost is None else MOST_LEGS) + 1):
        for paths in combinations(outputs, count):
            pools = [pool for path in paths for pool in path.pools]
            if len(set(pools)) < len(pools):
                continue
            filled = _fill([gains[path] for path in paths])
            if filled is None or 0 in filled[1]:
                continue
            worth = filled[0] - sum(costs[path] for path in paths)
            if best is None or worth > best[0]:
                best = worth, dict(zip(paths, filled[1], strict=True))
    if best is None:
        return None
    return Split(best[1], sum(outputs[path][steps - 1] for path, steps in best[1].items()))


def _fill(gains: Sequence[Sequence[int]]) -> tuple[int, list[int]] | None:
    """Give each part to the path that pays most for it; return the sum and the parts."""
    parts, total, ends = [0] * len(gains), 0, [len(each) for each in gains]
    for _ in range(STEPS):
        most, at = -1, -1  # a part of few smallest units may add nothing
        for n, each in enumerate(gains):
            if parts[n] < ends[n] and each[parts[n]] > most:
                most, at = each[parts[n]], n
        if at < 0:
            return None
        parts[at] += 1
        total += most
    return total, parts


def per_wei(buy: Address, weth: Address, depths: Depths) -> Fraction | None:
    """Return how much of the bought token one wei is worth, by the deepest pool; None without."""
    if buy == weth:
        return Fraction(1)
    depth_by_pool = [(depths[pool], pool) for pool in pools_of(weth, buy) if pool in depths]
    if not depth_by_pool:
        return None
    depth, pool = max(depth_by_pool, key=lambda each: each[0].low * each[0].high)
    sold, bought = depth.sides(pool, weth)
    return Fraction(bought, sold) if sold else None
