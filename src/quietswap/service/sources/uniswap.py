"""Uniswap's pools, read from the operator's own node: no vendor, no key.

A quote needs one batch (two for a pair of tokens that is not known yet): the state of the pools,
and QuoterV2's outputs of each V3 path for every part of the amount. Two more where the depth of
pools was false (`routing`).
https://github.com/Uniswap/v3-periphery/blob/main/contracts/lens/QuoterV2.sol

A quote runs the code of its tokens, which may burn all gas that they get. So each has a limit, and
a path or a token that used it up is remembered.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

from cachetools import LRUCache, TTLCache

from quietswap.rules.amounts import less_slippage
from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.chain.rpc_wire import NodeCall, Result, RpcErrorObject
from quietswap.rules.quotes.indicative_price import SourcePriceRequest
from quietswap.rules.quotes.quote import NoRoute, NoRouteReason, Route, RouteRequest
from quietswap.rules.quotes.scoring import SourcePrice
from quietswap.rules.routers.pool_routing import (
    OVER_HUBS,
    STEPS,
    Depth,
    Depths,
    Pair,
    Path,
    Pool,
    Split,
    all_paths,
    amount_at,
    best_paths,
    best_split,
    is_short,
    over_hubs,
    pairs,
    per_wei,
    pools_of,
    sample_of,
    untried,
    v2_outputs,
    v3_steps,
)
from quietswap.rules.routers.swap_router02 import abi_bytes, encode, v3_path
from quietswap.rules.tokens.erc20 import read_uint, word
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors.uniswap import VENDOR
from quietswap.service.base.clock import Clock
from quietswap.service.node import multicall
from quietswap.service.node.multicall import LimitedAnswer, LimitedCall, ViewCall
from quietswap.service.node.rpc import NodeReads
from quietswap.service.node.work import TokenCosts

QUOTER = Address("0x61fFE014bA17989E743c5F6cB21bF9697530B21e")
"""QuoterV2 (https://docs.uniswap.org/contracts/v3/reference/deployments)."""
ABSENT_S = 600.0
"""How long a pool that was not there is not looked for again."""
REMEMBERED_S = 300.0
"""How long an amount that ran out of gas, or a token of which every quote did, is not asked for."""
QUOTE_GAS = 500_000
"""Gas of one quote for each of its pools: some 100,000 are usual, 25,000 more for each tick."""
CHEAP_GAS = 300_000
"""The most gas of a quote, for each of its pools, whose tokens count as cheap."""
_STATE_GAS = 50_000
"""Gas of one view of a pool. The code of pools is Uniswap's."""
_USED_UP = Fraction(3, 4)
"""A failed quote that used so much of its gas ran out of it: an inner call gets 63 of 64 parts."""
_QUOTE = bytes.fromhex("cdca1753")
_RESERVES = bytes.fromhex("0902f1ac")
_PRICE = bytes.fromhex("3850c7bd")
_LIQUIDITY = bytes.fromhex("1a686502")
_MOST_PAIRS = 4096
_Q96 = 2**96

_Parts = Mapping[Path, Sequence[int]]
"""Paths with the amounts that they are quoted for."""
_Outputs = dict[Path, Sequence[int]]


@dataclass(slots=True)
class _Pair:
    """The pools of two tokens: the depth of those that exist, and when all were looked for."""

    looked_at: float
    depths: dict[Pool, Depth] = field(default_factory=dict)


class Adapter:
    """A `VendorAdapter` over the node. `hubs`: tokens that a path may cross."""

    vendor = VENDOR
    name = VENDOR.name
    slippage_bps = (0, 10_000)
    needs_decimals = False

    def __init__(
        self,
        node: NodeReads,
        clock: Clock,
        hubs: Sequence[Address],
        costs: TokenCosts | None = None,
    ) -> None:
        self._costs = costs or TokenCosts(clock, hubs)
        self._node = node
        self._clock = clock
        self._hubs = tuple(hubs)
        self._pairs: LRUCache[frozenset[Address], _Pair] = LRUCache(_MOST_PAIRS)
        self._ran_out: TTLCache[Path, int]
        self._ran_out = TTLCache(_MOST_PAIRS, REMEMBERED_S, timer=clock.monotonic)
        self._burning: TTLCache[frozenset[Address], None]
        self._burning = TTLCache(_MOST_PAIRS, REMEMBERED_S, timer=clock.monotonic)

    async def route(self, request: RouteRequest) -> Route:
        split = await self._split(request)
        legs = split.legs(request.sell_amount)
        least = less_slippage(split.output, request.slippage_bps)
        return Route(
            source=self.name,
            dex=_dex(split),
            target=VENDOR.router,
            spender=VENDOR.router,
            value=0,
            data=encode(legs, request.deadline, least, request.wallet),
            path=legs[0].tokens,
            buy_amount=split.output,
            min_buy_amount=least,
            gas=split.gas,
            impact_percent=None,  # not in the pools' answers; computed from independent prices
        )

    async def price(self, request: SourcePriceRequest) -> SourcePrice:
        split = await self._split(request)
        return SourcePrice(self.name, split.output, split.gas)

    async def _split(self, request: RouteRequest | SourcePriceRequest) -> Split:
        sell, buy, amount = request.sell.address, request.buy.address, request.sell_amount
        used = list(pairs(sell, buy, self._hubs))
        unread = [pair for pair in used if frozenset(pair) not in self._pairs]
        try:
            if unread:
                await self._read([pool for pair in unread for pool in pools_of(*pair)], {})
            outputs = await self._quoted(sell, buy, amount, used)
        except NodeUnavailable as error:
            raise NoRoute(NoRouteReason.UNAVAILABLE, f"the node: {error}"[:120]) from None
        rate = per_wei(buy, WETH, self._depths(used))
        is_whole = rate is None or amount < STEPS
        cost = None if rate is None or is_whole else rate * Fraction(request.gas_price_wei)
        split = best_split(best_paths(outputs), cost)
        if split is None or split.output <= 0:
            raise NoRoute(NoRouteReason.NO_ROUTE, "no pool of Uniswap V2 or V3 takes this amount")
        return split

    async def _quoted(
        self, sell: Address, buy: Address, amount: int, used: Sequence[Pair]
    ) -> _Outputs:
        """Return the outputs of all V2 paths, and of the V3 paths that were quoted."""
        depths = self._depths(used)
        paths = list(all_paths(sell, buy, self._hubs, depths))
        if not paths:
            raise NoRoute(NoRouteReason.NO_ROUTE, "no pool of Uniswap V2 or V3")
        foreign = {sell, buy}.difference(self._hubs)
        quotable = [] if self._is_burning(foreign) else [path for path in paths if not path.is_v2]
        direct = [path for path in quotable if len(path.pools) == 1]
        deepest = over_hubs(quotable, depths, amount)
        chosen, others = deepest[:OVER_HUBS], deepest[OVER_HUBS:]
        calls = self._parts([*direct, *chosen], depths, amount)
        outputs = await self._read(self._due(used), calls)
        if foreign and calls and all(map(self._ran_out_of, calls.items())):
            self._burning[frozenset(foreign)] = None
        elif others:
            short = [p for p in chosen if p in calls and is_short(p, depths, amount, outputs[p])]
            if short:
                others = untried(others, [path for path in chosen if path not in short])
                outputs |= await self._quoted_instead(others, depths, amount)
        depths = self._depths(used)
        return outputs | {path: v2_outputs(path, depths, amount) for path in paths if path.is_v2}

    async def _quoted_instead(
        self, others: Sequence[Path], depths: Depths, amount: int
    ) -> _Outputs:
        """Return the outputs of those of the paths that give most for a part of the amount."""
        sample = [sample_of(amount)]
        sampled = await self._read((), dict.fromkeys(others, sample))
        best = sorted((path for path in others if any(sampled[path])), key=lambda p: -sampled[p][0])
        return await self._read((), self._parts(best[:OVER_HUBS], depths, amount))

    def _parts(self, paths: Sequence[Path], depths: Depths, amount: int) -> _Parts:
        """Return for each path the parts that it may take, below what ran out of gas lately."""
        parts: dict[Path, list[int]] = {}
        for path in paths:
            end = self._ran_out.get(path, amount + 1)
            steps = range(1, v3_steps(path, depths, amount) + 1)
            amounts = [part for step in steps if (part := amount_at(amount, step)) < end]
            if any(amounts):
                parts[path] = amounts
        return parts

    def _is_burning(self, foreign: set[Address]) -> bool:
        keys = [frozenset({token}) for token in foreign]
        return any(key in self._burning for key in (*keys, frozenset(foreign)))

    def _ran_out_of(self, asked: tuple[Path, Sequence[int]]) -> bool:
        """Return whether not even the least amount had enough gas."""
        path, amounts = asked
        return self._ran_out.get(path, amounts[-1] + 1) <= next(filter(None, amounts))

    def _depths(self, used: Sequence[Pair]) -> dict[Pool, Depth]:
        read = [self._pairs.get(frozenset(pair)) for pair in used]
        return {pool: depth for pair in read if pair for pool, depth in pair.depths.items()}

    def _due(self, used: Sequence[Pair]) -> list[Pool]:
        """Return the pools to read: those that exist, and from time to time the others."""
        due: list[Pool] = []
        for pair in used:
            read = self._pairs.get(frozenset(pair))
            if read is None or self._clock.monotonic() - read.looked_at >= ABSENT_S:
                due += pools_of(*pair)
            else:
                due += read.depths
        return due

    async def _read(self, pools: Sequence[Pool], asked: _Parts) -> _Outputs:
        """Read pools into the cache; return the outputs of V3 paths. Raises NodeUnavailable."""
        states = [view for pool in pools for view in state_views(pool)]
        quotes = [_quotes(path, amounts) for path, amounts in asked.items()]
        first = [multicall.call(states, gas=_STATE_GAS * (1 + len(states)))] if states else []
        calls = [multicall.limited_call(quote) for quote in quotes]
        results = iter(await self._node.batch([*first, *calls]))
        for call in first:
            self._store(pools, call.value(next(results)))
        rows = zip(asked, quotes, calls, results, strict=True)
        answers = {path: _limited(result, quote, call) for path, quote, call, result in rows}
        for path, answered in answers.items():
            cheap = CHEAP_GAS * len(path.pools)
            self._costs.measured(path.tokens, is_cheap=all(one.gas <= cheap for one in answered))
        return {path: self._outputs(path, asked[path], each) for path, each in answers.items()}

    def _store(self, pools: Sequence[Pool], answers: Sequence[bytes | None]) -> None:
        left, now = iter(answers), self._clock.monotonic()
        for pool in pools:
            depth = depth_of(pool, [next(left) for _ in state_views(pool)])
            pair = self._pairs.setdefault(pool.tokens, _Pair(now))
            pair.depths.pop(pool, None)
            if depth is not None:
                pair.depths[pool] = depth
        for tokens, count in Counter(pool.tokens for pool in pools).items():
            if count == len(pools_of(*tokens)):
                self._pairs[tokens].looked_at = now

    def _outputs(
        self, path: Path, amounts: Sequence[int], answers: Sequence[LimitedAnswer]
    ) -> list[int]:
        """Return the outputs up to the first part that adds nothing: the pools cannot take it.

        Parts of few smallest units may add nothing, too.
        """
        outputs: list[int] = []
        remaining = iter(answers)
        for before, amount in pairwise((0, *amounts)):
            data, gas = next(remaining) if amount else (None, 0)
            if data is None and gas >= _USED_UP * QUOTE_GAS * len(path.pools):
                self._ran_out[path] = min(amount, self._ran_out.get(path, amount))
            output, last = read_uint(data) or 0, outputs[-1] if outputs else 0
            if output < last or (amount > before and last == output > len(outputs)):
                break
            outputs.append(output)
        return outputs


def state_views(pool: Pool) -> list[ViewCall]:
    """Return the views that tell the depth of a pool."""
    if not pool.fee:
        return [ViewCall(pool.address, _RESERVES)]
    return [ViewCall(pool.address, _PRICE), ViewCall(pool.address, _LIQUIDITY)]


def depth_of(pool: Pool, answers: Sequence[bytes | None]) -> Depth | None:
    """Return the depth of a pool from the answers to `state_views`; None if it has none."""
    first = answers[0]
    if not first or len(first) < 64:
        return None
    one, other = int.from_bytes(first[:32]), int.from_bytes(first[32:64])
    if not pool.fee:
        return Depth(one, other) if one and other else None
    liquidity = read_uint(answers[1])
    if not one or not liquidity:
        return None
    return Depth(liquidity * _Q96 // one, liquidity * one // _Q96)


def _quotes(path: Path, amounts: Sequence[int]) -> list[LimitedCall]:
    """Return the call of `quoteExactInput(path, amount)` for each amount above 0."""
    start, packed = _QUOTE + word(64), abi_bytes(v3_path(path.leg(0)))
    gas = QUOTE_GAS * len(path.pools)
    return [LimitedCall(QUOTER, gas, start + word(each) + packed) for each in amounts if each]


def _limited(
    result: Result, quotes: Sequence[LimitedCall], call: NodeCall[list[LimitedAnswer]]
) -> Sequence[LimitedAnswer]:
    """Return the answers; where the node ended the whole call, each used all its gas."""
    if isinstance(result, RpcErrorObject) and result.is_verdict:
        return [LimitedAnswer(None, quote.gas) for quote in quotes]
    return call.value(result)


def _dex(split: Split) -> str:
    versions = {"uniswap-v2" if path.is_v2 else "uniswap-v3" for path in split.parts}
    return versions.pop() if len(versions) == 1 else "uniswap"
