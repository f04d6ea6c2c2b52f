"""Uniswap's pools, read from the operator's own node: no vendor, no key.

A quote needs one `eth_call` (two for a pair of tokens that is not known yet): the state of the
pools, and QuoterV2's outputs of each V3 path for every part of the amount.
https://github.com/Uniswap/v3-periphery/blob/main/contracts/lens/QuoterV2.sol
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from cachetools import LRUCache

from quietswap.amounts import less_slippage
from quietswap.chain import multicall
from quietswap.chain.address import Address
from quietswap.chain.chain import NodeUnavailable
from quietswap.chain.erc20 import read_uint, word
from quietswap.chain.multicall import ViewCall
from quietswap.chain.rpc import NodeReads
from quietswap.chain.rpc_wire import RpcErrorObject
from quietswap.clock import Clock
from quietswap.quoting.quote import NoRoute, NoRouteReason, Route, RouteRequest
from quietswap.quoting.scoring import SourcePrice, SourcePriceRequest
from quietswap.routers.swap_router02 import abi_bytes, encode, v3_path
from quietswap.tokens.token import WETH
from quietswap.vendors.uniswap import VENDOR
from quietswap.vendors.uniswap.routing import (
    Depth,
    Pair,
    Path,
    Pool,
    Split,
    amount_at,
    best_split,
    candidates,
    pairs,
    per_wei,
    pools_of,
    v2_outputs,
    v3_steps,
)

QUOTER = Address("0x61fFE014bA17989E743c5F6cB21bF9697530B21e")
"""QuoterV2 (https://docs.uniswap.org/contracts/v3/reference/deployments)."""
ABSENT_S = 600.0
"""How long a pool that was not there is not looked for again."""
_QUOTE = bytes.fromhex("cdca1753")
_RESERVES = bytes.fromhex("0902f1ac")
_PRICE = bytes.fromhex("3850c7bd")
_LIQUIDITY = bytes.fromhex("1a686502")
_MOST_PAIRS = 4096
_GAS_CAP = 50_000_000
"""geth's `--rpc.gascap`."""
_OUT_OF_GAS = re.compile(r"out ?of ?gas", re.IGNORECASE)
_Q96 = 2**96


@dataclass(slots=True)
class _Pair:
    """The pools of two tokens: the depth of those that exist, and when all were looked for."""

    looked_at: float
    depths: dict[Pool, Depth] = field(default_factory=dict)


class Adapter:
    """Implements quietswap.vendors.adapter.VendorAdapter. `hubs`: tokens that a path may cross."""

    vendor = VENDOR
    name = VENDOR.name
    slippage_bps = (0, 10_000)

    def __init__(self, node: NodeReads, clock: Clock, hubs: Sequence[Address]) -> None:
        self._node = node
        self._clock = clock
        self._hubs = tuple(hubs)
        self._known: LRUCache[frozenset[Address], _Pair] = LRUCache(_MOST_PAIRS)

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
        wanted = list(pairs(sell, buy, self._hubs))
        unknown = [pair for pair in wanted if frozenset(pair) not in self._known]
        if unknown:
            await self._read([pool for pair in unknown for pool in pools_of(*pair)], {}, amount)
        depths = self._depths(wanted)
        paths = candidates(sell, buy, amount, self._hubs, depths)
        if not paths:
            raise NoRoute(NoRouteReason.NO_ROUTE, "no pool of Uniswap V2 or V3")
        asked = {path: v3_steps(path, depths, amount) for path in paths if not path.is_v2}
        quoted = await self._read(self._due(wanted), asked, amount)
        depths = self._depths(wanted)
        quoted |= {path: v2_outputs(path, depths, amount) for path in paths if path.is_v2}
        rate = per_wei(buy, WETH, depths)
        cost = None if rate is None else rate * Fraction(request.gas_price_wei)
        split = best_split({path: outs for path, outs in quoted.items() if any(outs)}, cost)
        if split is None or split.output <= 0:
            raise NoRoute(NoRouteReason.NO_ROUTE, "no pool of Uniswap V2 or V3 takes this amount")
        return split

    def _depths(self, wanted: Sequence[Pair]) -> dict[Pool, Depth]:
        known = [self._known.get(frozenset(pair)) for pair in wanted]
        return {pool: depth for one in known if one for pool, depth in one.depths.items()}

    def _due(self, wanted: Sequence[Pair]) -> list[Pool]:
        """Return the pools to read: those that exist, and from time to time the others."""
        due: list[Pool] = []
        for pair in wanted:
            known = self._known.get(frozenset(pair))
            if known is None or self._clock.monotonic() - known.looked_at >= ABSENT_S:
                due += pools_of(*pair)
            else:
                due += known.depths
        return due

    async def _read(
        self, pools: Sequence[Pool], paths: Mapping[Path, int], amount: int
    ) -> dict[Path, list[int]]:
        """Read pools into the cache; return V3 paths' outputs for so many parts. Raises NoRoute."""
        states = [view for pool in pools for view in state_views(pool)]
        quotes = [
            _quotes(path, [amount_at(amount, step + 1) for step in range(steps)])
            for path, steps in paths.items()
        ]
        try:
            answers = iter(await self._answers([states, *quotes]))
        except NodeUnavailable as error:
            raise NoRoute(NoRouteReason.UNAVAILABLE, f"the node: {error}"[:120]) from None
        now = self._clock.monotonic()
        for pool in pools:
            depth = depth_of(pool, [next(answers) for _ in state_views(pool)])
            known = self._known.setdefault(pool.tokens, _Pair(now))
            known.depths.pop(pool, None)
            if depth is not None:
                known.depths[pool] = depth
        for tokens, read in Counter(pool.tokens for pool in pools).items():
            if read == len(pools_of(*tokens)):
                self._known[tokens].looked_at = now
        return {
            path: _outputs([next(answers) for _ in range(steps)]) for path, steps in paths.items()
        }

    async def _answers(self, parts: Sequence[Sequence[ViewCall]]) -> list[bytes | None]:
        """Return the answers to all views, of one call. Raises NodeUnavailable.

        If they need more gas than the node gives to one, each part has a call of its own: a pool
        whose liquidity ends then costs only its own path.
        """
        views = [view for part in parts for view in part]
        [result] = await self._node.batch([multicall.call(views, gas=_GAS_CAP)])
        if not isinstance(result, RpcErrorObject) or not _OUT_OF_GAS.search(result.message):
            return multicall.answers(result, len(views))
        calls = [multicall.call(part, gas=_GAS_CAP) for part in parts]
        found: list[bytes | None] = []
        for part, each in zip(parts, await self._node.batch(calls), strict=True):
            is_over = isinstance(each, RpcErrorObject) and _OUT_OF_GAS.search(each.message)
            found += [None] * len(part) if is_over else multicall.answers(each, len(part))
        return found


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


def _quotes(path: Path, amounts: Sequence[int]) -> list[ViewCall]:
    """Return the call of `quoteExactInput(path, amount)` for each amount."""
    start, packed = _QUOTE + word(64), abi_bytes(v3_path(path.leg(0)))
    return [ViewCall(QUOTER, start + word(amount) + packed) for amount in amounts]


def _outputs(answers: Sequence[bytes | None]) -> list[int]:
    """Return the outputs up to the first part that adds nothing: the pools cannot take it."""
    found: list[int] = []
    for answer in answers:
        output = read_uint(answer) or 0
        if output <= (found[-1] if found else 0):
            break
        found.append(output)
    return found


def _dex(split: Split) -> str:
    versions = {"uniswap-v2" if path.is_v2 else "uniswap-v3" for path in split.parts}
    return versions.pop() if len(versions) == 1 else "uniswap"
