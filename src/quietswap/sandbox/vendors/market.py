"""Market data of all venues: tokens, pools, prices in USD and gas."""

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from quietswap.rules.time_units import DAY_S
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts import addresses as contract_addresses
from quietswap.sandbox.contracts.pools import (
    BY_ADDRESS,
    POOLS,
    TOKENS,
    USDC,
    WETH,
    Pool,
    SandboxToken,
)
from quietswap.sandbox.faults import ActiveFaults
from quietswap.sandbox.http_server import Answer, HttpRequest, json_reply

if TYPE_CHECKING:
    from quietswap.sandbox.chain.local_chain import LocalChain

_HOPS = "(address,address,address,bool)[]"
_BASE_GAS, _V2_GAS, _V3_GAS = 80_000, 65_000, 88_000


@dataclass(frozen=True, slots=True)
class Hop:
    pool: Pool
    token_in: Address

    @property
    def token_out(self) -> Address:
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
        return self.hops[0].token_in

    @property
    def buy(self) -> Address:
        return self.hops[-1].token_out

    @property
    def path(self) -> tuple[Address, ...]:
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
    routes = [PoolRoute(hops) for hops in _walks(sell, buy, max_hops, (sell,))]
    return tuple(sorted(routes, key=lambda route: len(route.hops)))


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
    chain: "LocalChain", sell: Address, buy: Address, amount: int, max_hops: int = 2
) -> list[PricedRoute]:
    """Return every route with an output for `amount`, the best first.

    A token's fee on transfer is not deducted.
    """
    routes = routes_between(sell, buy, max_hops)
    amounts = await amounts_out(chain, routes, amount)
    priced = [PricedRoute(r, out) for r, out in zip(routes, amounts, strict=True) if out > 0]
    return sorted(priced, key=lambda one: one.amount_out, reverse=True)


async def amount_out(chain: "LocalChain", route: PoolRoute, amount: int) -> int:
    """Return the output of a route at the latest block; 0 when its pools cannot swap `amount`."""
    return (await amounts_out(chain, [route], amount))[0]


async def amounts_out(chain: "LocalChain", routes: Sequence[PoolRoute], amount: int) -> list[int]:
    """Return the output of each route at the latest block, by one call of a contract."""
    hops = [[hop.words for hop in route.hops] for route in routes]
    calldata = abi.call(f"quote({_HOPS}[],uint256)", hops, amount)
    return abi.uints(await chain.call(contract_addresses.QUOTER, calldata))


_SMALL_USD = Decimal(10)


class NoPrice(Exception):
    """No route to USDC can swap any amount of the token."""


@dataclass(frozen=True, slots=True)
class Market:
    chain: "LocalChain"

    async def before_impact(self, route: PoolRoute, amount: int) -> int:
        """Return the output of `amount` without price impact."""
        small = max(amount // 10_000, 1)
        return await amount_out(self.chain, route, small) * amount // small

    async def usd_price(self, token: SandboxToken) -> Decimal:
        """Return the price of one whole token in USDC, without pool fees. Raises NoPrice."""
        if token is USDC:
            return Decimal(1)
        small = token.units(_SMALL_USD / token.usd)
        routes = await priced_routes(self.chain, token.address, USDC.address, small)
        if not routes:
            raise NoPrice(token.symbol)
        best = routes[0]
        after_fees = Decimal(1)
        for hop in best.route.hops:
            after_fees *= 1 - Decimal(hop.pool.fee) / 1_000_000
        whole_in = Decimal(small).scaleb(-token.decimals)
        whole_out = Decimal(best.amount_out).scaleb(-USDC.decimals)
        return whole_out / after_fees / whole_in

    async def gas_price(self) -> int:
        """Return the base fee in wei per gas unit."""
        return int((await self.chain.head())["baseFeePerGas"], 16)

    async def block_number(self) -> int:
        return int((await self.chain.head())["number"], 16)

    async def worth(
        self, route: PoolRoute, amount_in: int, amount_out: int
    ) -> tuple[Decimal, Decimal, Decimal]:
        """Return the USD values of a swap's input, output and gas; amounts in smallest units."""
        sell, buy = BY_ADDRESS[route.sell], BY_ADDRESS[route.buy]
        gas_wei = route.gas * await self.gas_price()
        return (
            await self.usd_price(sell) * amount_in / 10**sell.decimals,
            await self.usd_price(buy) * amount_out / 10**buy.decimals,
            await self.usd_price(WETH) * gas_wei / 10**18,
        )


def best(routes: Sequence[PricedRoute]) -> PricedRoute | None:
    return next(iter(routes), None)


def prefers_v3(routes: Sequence[PricedRoute]) -> PricedRoute | None:
    """Return the best route with a V3 pool, or else the best route."""
    with_v3 = [one for one in routes if any(hop.pool.v3 for hop in one.route.hops)]
    return best(with_v3) or best(routes)


def only_v2(routes: Sequence[PricedRoute]) -> PricedRoute | None:
    return best([one for one in routes if not any(hop.pool.v3 for hop in one.route.hops)])


def direct_v2(routes: Sequence[PricedRoute]) -> PricedRoute | None:
    """Return the direct V2 pair of the two tokens, or else the best V2 route."""
    direct = [one for one in routes if len(one.route.hops) == 1]
    return only_v2(direct) or only_v2(routes)


_FOLLOWING = {
    f"{name.removeprefix('W')} / USD": TOKENS[name] for name in ("WETH", "WBTC", "USDT", "DAI")
}
"""The feed of USDC stays at 1, because pool prices are in USDC."""


class FeedUpdater:
    """Writes the pools' prices to Chainlink's feeds, except to those that were set by `by_hand`."""

    def __init__(self, chain: "LocalChain") -> None:
        self._chain = chain
        self._market = Market(chain)
        self._by_hand: set[str] = set()

    def by_hand(self, pair: str) -> None:
        """Stop updates of the feed of `pair` until `follow`."""
        self._by_hand.add(pair)

    async def follow(self, pair: str) -> None:
        self._by_hand.discard(pair)
        await self._write(pair)

    async def update(self) -> None:
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


_LLAMA_PATH = "/prices/current/"
_LLAMA_ETH = "coingecko:ethereum"
_GECKO_PATH = "/api/v3/simple/token_price/ethereum"


@dataclass(frozen=True)
class _Quotes:
    """The prices of one source with its active fault."""

    market: Market
    active_faults: ActiveFaults
    name: ClassVar[str]

    def _known(self, texts: Iterable[str]) -> list[tuple[str, SandboxToken]]:
        if self.active_faults.shows(self.name, "absent"):
            return []
        return [(text, token) for text in texts if (token := _token(text))]

    async def _usd(self, token: SandboxToken) -> float:
        """Return the price as a JSON number, as the real APIs do."""
        price = await self.market.usd_price(token)
        return float(price * (2 if self.active_faults.shows(self.name, "2x") else 1))

    def _timestamp(self) -> int:
        return int(time.time()) - DAY_S * self.active_faults.shows(self.name, "stale")


class DefiLlamaStub(_Quotes):
    """`/prices/current/ethereum:0x…,ethereum:0x…` of https://api-docs.defillama.com."""

    name = "defillama"

    async def handle(self, request: HttpRequest) -> Answer:
        """Answer one request. Unknown coins are left out."""
        if request.method != "GET" or not request.path.startswith(_LLAMA_PATH):
            return json_reply({"message": "Not Found"}, 404)
        coins = request.path.removeprefix(_LLAMA_PATH).split(",")
        on_chain = [one.removeprefix("ethereum:") for one in coins if one.startswith("ethereum:")]
        coin_prices: dict[str, Any] = {}
        for text, token in self._known(on_chain):
            coin_prices[f"ethereum:{text}"] = {"decimals": token.decimals} | await self._coin(token)
        if _LLAMA_ETH in coins and self._known([WETH.address]):
            coin_prices[_LLAMA_ETH] = await self._coin(WETH) | {"symbol": "ETH"}
        return json_reply({"coins": coin_prices})

    async def _coin(self, token: SandboxToken) -> dict[str, Any]:
        usd, at = await self._usd(token), self._timestamp()
        return {"symbol": token.symbol, "price": usd, "timestamp": at, "confidence": 0.99}


class CoinGeckoStub(_Quotes):
    """https://docs.coingecko.com/reference/simple-token-price."""

    name = "coingecko"

    async def handle(self, request: HttpRequest) -> Answer:
        """Answer one request. Keys are lower case, and unknown tokens are left out."""
        if (request.method, request.path) != ("GET", _GECKO_PATH):
            return json_reply({"status": {"error_code": 404, "error_message": "Not Found"}}, 404)
        contracts = request.query.get("contract_addresses", "").split(",")
        if request.query.get("vs_currencies", "usd").lower() != "usd":
            return json_reply({})
        dated = request.query.get("include_last_updated_at", "false").lower() == "true"
        prices: dict[str, Any] = {}
        for text, token in self._known(contracts):
            when = {"last_updated_at": self._timestamp()} if dated else {}
            prices[text.lower()] = {"usd": await self._usd(token)} | when
        return json_reply(prices)


def _token(text: str) -> SandboxToken | None:
    try:
        return BY_ADDRESS.get(addresses.from_any_case(text))
    except addresses.BadAddress:
        return None
