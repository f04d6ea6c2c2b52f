"""Market data of all venues: tokens, pools, prices in USD and gas."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from quietswap.domain.address import Address
from quietswap.sandbox.chain.local_chain import LocalChain
from quietswap.sandbox.contracts.tokens import BY_ADDRESS, USDC, WETH, SandboxToken
from quietswap.sandbox.venues.routes import PoolRoute, PricedRoute, amount_out, priced_routes

Taste = Callable[[Sequence[PricedRoute]], PricedRoute | None]
"""A vendor's choice among routes, which are sorted by output, the best first."""

_MAX_HOPS = 3
_SMALL_USD = Decimal(10)


@dataclass(frozen=True, slots=True)
class Worth:
    """USD values of a swap at the pools' prices: input, output and gas."""

    in_usd: Decimal
    out_usd: Decimal
    gas_usd: Decimal


class NoPrice(Exception):
    """No route to USDC can swap any amount of the token."""


@dataclass(frozen=True, slots=True)
class Market:
    """Market data of the latest block."""

    chain: LocalChain

    @staticmethod
    def token(address: Address) -> SandboxToken | None:
        """Return the token at an address, or None."""
        return BY_ADDRESS.get(address)

    async def route(
        self, sell: Address, buy: Address, amount: int, taste: Taste
    ) -> PricedRoute | None:
        """Return the route that a vendor chooses, with its output."""
        return taste(await priced_routes(self.chain, sell, buy, amount, _MAX_HOPS))

    async def delivers(self, route: PoolRoute, amount: int) -> int:
        """Return the output of a route."""
        return await amount_out(self.chain, route, amount)

    async def before_impact(self, route: PoolRoute, amount: int) -> int:
        """Return the output of `amount` without price impact."""
        small = max(amount // 10_000, 1)
        return await amount_out(self.chain, route, small) * amount // small

    async def usd_price(self, token: SandboxToken) -> Decimal:
        """Return the price of one whole token in USDC, without pool fees.

        Raises NoPrice.
        """
        if token is USDC:
            return Decimal(1)
        small = token.units(_SMALL_USD / token.usd)
        routes = await priced_routes(self.chain, token.address, USDC.address, small)
        if not routes:
            raise NoPrice(token.symbol)
        best = routes[0]
        kept = Decimal(1)
        for hop in best.route.hops:
            kept *= 1 - Decimal(hop.pool.fee) / 1_000_000
        whole_in, whole_out = (
            Decimal(amount).scaleb(-one.decimals)
            for amount, one in ((small, token), (best.amount_out, USDC))
        )
        return whole_out / kept / whole_in

    async def gas_price(self) -> int:
        """Return the base fee in wei per gas unit."""
        return int((await self.chain.head())["baseFeePerGas"], 16)

    async def block_number(self) -> int:
        """Return the number of the latest block."""
        return int((await self.chain.head())["number"], 16)

    async def worth(self, route: PoolRoute, amount_in: int, amount_out: int) -> Worth:
        """Return a swap's USD values; amounts in smallest units."""
        sell, buy = BY_ADDRESS[route.sell], BY_ADDRESS[route.buy]
        gas_wei = route.gas * await self.gas_price()
        return Worth(
            await self.usd_price(sell) * amount_in / 10**sell.decimals,
            await self.usd_price(buy) * amount_out / 10**buy.decimals,
            await self.usd_price(WETH) * gas_wei / 10**18,
        )


def best(routes: Sequence[PricedRoute]) -> PricedRoute | None:
    """Return the route with the highest output."""
    return next(iter(routes), None)


def prefers_v3(routes: Sequence[PricedRoute]) -> PricedRoute | None:
    """Return the best route with a V3 pool, or else the best route."""
    with_v3 = [one for one in routes if any(hop.pool.v3 for hop in one.route.hops)]
    return best(with_v3) or best(routes)


def only_v2(routes: Sequence[PricedRoute]) -> PricedRoute | None:
    """Return the best route on V2 pairs only."""
    return best([one for one in routes if not any(hop.pool.v3 for hop in one.route.hops)])


def direct_v2(routes: Sequence[PricedRoute]) -> PricedRoute | None:
    """Return the direct V2 pair of the two tokens, or else the best V2 route."""
    direct = [one for one in routes if len(one.route.hops) == 1]
    return only_v2(direct) or only_v2(routes)
