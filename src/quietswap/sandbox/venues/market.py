"""What every venue knows of the market: tokens, pools, prices in USD, gas."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from quietswap.domain.address import Address
from quietswap.sandbox.chain import Chain
from quietswap.sandbox.routes import PoolRoute, PricedRoute, amount_out, priced_routes
from quietswap.sandbox.tokens import BY_ADDRESS, USDC, WETH, SandboxToken

Taste = Callable[[Sequence[PricedRoute]], PricedRoute | None]
"""Chooses among routes, given the best first, by a vendor's own lights."""

_MAX_HOPS = 3
_SMALL_USD = Decimal(10)


@dataclass(frozen=True, slots=True)
class Worth:
    """What a swap moves in USD, at the pools' own prices: in, out, and its gas."""

    in_usd: Decimal
    out_usd: Decimal
    gas_usd: Decimal


class Market:
    """Asks the chain; everything is as of the latest block."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain

    @staticmethod
    def token(address: Address) -> SandboxToken | None:
        """Return the token at an address, if there is one."""
        return BY_ADDRESS.get(address)

    async def route(
        self, sell: Address, buy: Address, amount: int, taste: Taste
    ) -> PricedRoute | None:
        """Return the route a vendor would take, with what it delivers."""
        return taste(await priced_routes(self.chain, sell, buy, amount, _MAX_HOPS))

    async def delivers(self, route: PoolRoute, amount: int) -> int:
        """Return what a known route delivers now."""
        return await amount_out(self.chain, route, amount)

    async def before_impact(self, route: PoolRoute, amount: int) -> int:
        """Return what `amount` would bring if it moved no price."""
        small = max(amount // 10_000, 1)
        return await amount_out(self.chain, route, small) * amount // small

    async def usd_price(self, token: SandboxToken) -> Decimal:
        """Return what one whole token is worth in USDC, at the middle of the pools' prices."""
        if token is USDC:
            return Decimal(1)
        small = token.units(_SMALL_USD / token.usd)
        best = (await priced_routes(self.chain, token.address, USDC.address, small))[0]
        kept = Decimal(1)
        for hop in best.route.hops:
            kept *= 1 - Decimal(hop.pool.fee) / 1_000_000
        whole_in, whole_out = (
            Decimal(amount).scaleb(-one.decimals)
            for amount, one in ((small, token), (best.amount_out, USDC))
        )
        return whole_out / kept / whole_in

    async def gas_price(self) -> int:
        """Return wei per gas unit."""
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
    """Take what delivers most."""
    return next(iter(routes), None)


def prefers_v3(routes: Sequence[PricedRoute]) -> PricedRoute | None:
    """Take the best route over a V3 pool, or the best at all where no V3 pool helps."""
    with_v3 = [one for one in routes if any(hop.pool.v3 for hop in one.route.hops)]
    return best(with_v3) or best(routes)


def only_v2(routes: Sequence[PricedRoute]) -> PricedRoute | None:
    """Take the best route that stays on V2 pairs."""
    return best([one for one in routes if not any(hop.pool.v3 for hop in one.route.hops)])


def direct_v2(routes: Sequence[PricedRoute]) -> PricedRoute | None:
    """Take the pair of the two tokens, or the best V2 route where there is none."""
    direct = [one for one in routes if len(one.route.hops) == 1]
    return only_v2(direct) or only_v2(routes)
