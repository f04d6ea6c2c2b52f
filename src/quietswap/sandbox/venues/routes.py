"""Routes on the sandbox's pools. A contract on the chain computes their outputs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from quietswap.domain.address import Address
from quietswap.sandbox.chain.local_chain import LocalChain
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.contracts.pools import POOLS, Pool

_HOPS = "(address,address,address,bool)[]"
_BASE_GAS, _V2_GAS, _V3_GAS = 80_000, 65_000, 88_000


@dataclass(frozen=True, slots=True)
class Hop:
    """One swap on one pool."""

    pool: Pool
    token_in: Address

    @property
    def token_out(self) -> Address:
        """The token that is bought."""
        return self.pool.other(self.token_in)

    @property
    def words(self) -> tuple[Address, Address, Address, bool]:
        """The fields of `Hop` in contracts/Pools.sol."""
        return (self.pool.address, self.token_in, self.token_out, self.pool.v3)


@dataclass(frozen=True, slots=True)
class PoolRoute:
    """One or more hops. The output of each is the input of the next."""

    hops: tuple[Hop, ...]

    @property
    def sell(self) -> Address:
        """The token that is sold."""
        return self.hops[0].token_in

    @property
    def buy(self) -> Address:
        """The token that is bought."""
        return self.hops[-1].token_out

    @property
    def path(self) -> tuple[Address, ...]:
        """Every token of the route, including both ends."""
        return (self.sell, *(hop.token_out for hop in self.hops))

    @property
    def gas(self) -> int:
        """A rough estimate in gas units, as vendors report it."""
        return _BASE_GAS + sum(_V3_GAS if hop.pool.v3 else _V2_GAS for hop in self.hops)

    def coded(self, deadline: int, to: Address) -> bytes:
        """Return the plan for an executor (contracts/Executor.sol).

        It reverts after `deadline` (Unix seconds, 0: none). `to` receives the output.
        """
        hops = [hop.words for hop in self.hops]
        return abi.encode(f"(uint256,address,{_HOPS})", (deadline, to, hops))


@dataclass(frozen=True, slots=True)
class PricedRoute:
    """A route and its output at the latest block, in smallest units of `route.buy`."""

    route: PoolRoute
    amount_out: int


@lru_cache(maxsize=1024)
def routes_between(sell: Address, buy: Address, max_hops: int = 2) -> tuple[PoolRoute, ...]:
    """Return every route without a repeated token, the shortest first."""
    found = [PoolRoute(hops) for hops in _walks(sell, buy, max_hops, (sell,))]
    return tuple(sorted(found, key=lambda route: len(route.hops)))


def _walks(
    at: Address, to: Address, left: int, seen: tuple[Address, ...]
) -> Iterator[tuple[Hop, ...]]:
    if at == to or left == 0:
        return
    for pool in POOLS:
        if at not in (pool.first.address, pool.second.address) or pool.other(at) in seen:
            continue
        hop, onward = Hop(pool, at), pool.other(at)
        if onward == to:
            yield (hop,)
        yield from ((hop, *rest) for rest in _walks(onward, to, left - 1, (*seen, onward)))


async def priced_routes(
    chain: LocalChain, sell: Address, buy: Address, amount: int, max_hops: int = 2
) -> list[PricedRoute]:
    """Return every route with an output for `amount`, the best first.

    A token's fee on transfer is not deducted.
    """
    routes = routes_between(sell, buy, max_hops)
    amounts = await amounts_out(chain, routes, amount)
    priced = [PricedRoute(r, out) for r, out in zip(routes, amounts, strict=True) if out > 0]
    return sorted(priced, key=lambda one: one.amount_out, reverse=True)


async def best_route(
    chain: LocalChain, sell: Address, buy: Address, amount: int, max_hops: int = 2
) -> PricedRoute | None:
    """Return the route with the highest output, or None."""
    return next(iter(await priced_routes(chain, sell, buy, amount, max_hops)), None)


async def amount_out(chain: LocalChain, route: PoolRoute, amount: int) -> int:
    """Return the output of a route at the latest block; 0 when its pools cannot swap `amount`."""
    return (await amounts_out(chain, [route], amount))[0]


async def amounts_out(chain: LocalChain, routes: Sequence[PoolRoute], amount: int) -> list[int]:
    """Return the output of each route at the latest block, with one call of the quoter."""
    hops = [[hop.words for hop in route.hops] for route in routes]
    asked = abi.call(f"quote({_HOPS}[],uint256)", hops, amount)
    return abi.uints(await chain.call(addresses.QUOTER, asked))
