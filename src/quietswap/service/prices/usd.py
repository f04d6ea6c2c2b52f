"""USD prices from independent sources, and what they agree on.

The order of trust is Chainlink (for tokens with a feed), Uniswap's pools, DefiLlama, CoinGecko. The
first price is compared with the others: a difference above 2 % from the next is reported, and one
that none of the others is within 5 % of is no price.

The pools alone give a price to `hubs` only. Whoever owns most of a token's pools decides there, and
a worthless token must not look priced.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Protocol
from urllib.parse import urlsplit

import msgspec
from cachetools import TLRUCache

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.foreign_text import T
from quietswap.rules.routers import feeds
from quietswap.rules.routers.feeds import FEEDS
from quietswap.rules.tokens import erc20
from quietswap.rules.tx.address import Address
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.base.concurrency import CircuitBreaker, SingleFlight
from quietswap.service.base.http_client import HttpClient, HttpError
from quietswap.service.node import multicall
from quietswap.service.node.multicall import BLOCK_TIMESTAMP, MULTICALL3, ViewCall
from quietswap.service.node.rpc import NodeRpcClient
from quietswap.service.node.work import asking_party, shared

_REPORT = Decimal("0.02")
_REFUSE = Decimal("0.05")
_NO_PRICE_TTL_S = 5.0
_CACHED = 2_000


class PriceSource(Protocol):
    """One price source. It never raises."""

    async def usd(self, token: Address) -> Decimal | None:
        """Return USD per whole token; None without a recent, plausible price."""


class UsdPrices:
    """USD prices. A missing, stale or contradicted price is None.

    `feeds` serves the tokens in FEEDS; `pools` and then `web` are the other sources in their order
    of trust. A token with a feed is compared with the first of them that has a price. A
    price is cached for `ttl_s` seconds from the request, a missing one for at most 5 s.
    `on_doubt(token, first, second)` is called for a difference above 2 %.
    """

    def __init__(
        self,
        feeds: PriceSource,
        pools: PriceSource,
        web: Sequence[PriceSource],
        clock: Clock,
        *,
        hubs: Collection[Address] = (),
        ttl_s: float,
        on_doubt: Callable[[str, str, str], None] = observe.price_doubted,
    ) -> None:
        self._feeds = feeds
        self._pools = pools
        self._hubs = frozenset(hubs)
        self._others = [pools, *web]
        self._clock = clock
        self._on_doubt = on_doubt
        self._in_flight: SingleFlight[tuple[Address, str], Decimal | None] = SingleFlight()

        def expires(_: Address, entry: tuple[Decimal | None, float], __: float) -> float:
            price, asked_at = entry
            return asked_at + (min(ttl_s, _NO_PRICE_TTL_S) if price is None else ttl_s)

        self._cache: TLRUCache[Address, tuple[Decimal | None, float]]
        self._cache = TLRUCache(_CACHED, expires, timer=clock.monotonic)

    async def usd(self, *tokens: Address) -> list[Decimal | None]:
        """Return USD per whole token, in order."""
        usd_of = {token: entry[0] for token in tokens if (entry := self._cache.get(token))}
        missing = [token for token in dict.fromkeys(tokens) if token not in usd_of]
        if missing:
            party = asking_party()
            lookups = (self._in_flight((each, party), partial(self._ask, each)) for each in missing)
            usd_of |= zip(missing, await asyncio.gather(*lookups), strict=True)
        return [usd_of[token] for token in tokens]

    async def by_pools(self, *tokens: Address) -> list[Decimal | None]:
        """Return USD per whole token by the pools alone, in order: no vendor can bend it."""
        return await asyncio.gather(*(self._pools.usd(token) for token in tokens))

    async def _ask(self, token: Address) -> Decimal | None:
        asked_at = self._clock.monotonic()
        price = self._agreed(token, await self._answers(token))
        self._cache[token] = price, asked_at
        return price

    async def _answers(self, token: Address) -> list[Decimal]:
        """Return prices, the most trusted one first; with a feed until one is near it."""
        has_feed = token in FEEDS
        others = self._others
        now, later = (others[:1], others[1:]) if has_feed else (others, [])
        at_once = [self._feeds, *now] if has_feed else list(now)
        answers = await asyncio.gather(*(source.usd(token) for source in at_once))
        prices = [price for price in answers if price is not None]
        if len(prices) == 1 and not has_feed and answers[0] is not None and token not in self._hubs:
            return []  # by the pools alone
        for source in later:
            is_enough = len(prices) > 1 and _least_apart(prices) <= _REFUSE
            if not is_enough and (price := await source.usd(token)) is not None:
                prices.append(price)
        return prices

    def _agreed(self, token: Address, answers: Sequence[Decimal]) -> Decimal | None:
        if len(answers) < 2:
            return answers[0] if answers else None
        first, second, *_ = answers
        if _least_apart(answers[:2]) > _REPORT:
            self._on_doubt(token, str(first), str(second))
        return first if _least_apart(answers) <= _REFUSE else None


def _least_apart(prices: Sequence[Decimal]) -> Decimal:
    """Return the least relative difference of the first price from any other."""
    first, *others = prices
    return min(abs(first - other) / min(first, other) for other in others)


MAX_AGE_S = 900
"""Both services update within minutes: a price older than 15 minutes is not used."""

_MAX_BYTES = 64 * 1024
_PAUSE_S = 15.0
_RATE_LIMITED_S = 60.0
_LEAST = Decimal("1e-18")
_MOST = Decimal("1e12")


class PriceApiClient:
    """A JSON API behind a circuit breaker, so that quotes do not wait for a failed service."""

    def __init__(
        self,
        http: HttpClient,
        clock: Clock,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 1.0,
    ) -> None:
        self._http = http
        self._url = url.rstrip("/")
        self._headers = {"accept": "application/json", **(headers or {})}
        self._timeout_s = timeout_s
        self._circuit = CircuitBreaker(clock, pause_s=_PAUSE_S)

    async def get(self, path: str, shape: type[T]) -> T | None:
        """Return the body of `path` as `shape`; None after a failure and while the circuit is open.

        The circuit opens for 15 s after a failure, for 60 s after HTTP status 429.
        """
        if self._circuit.is_open:
            return None
        try:
            reply = await self._http.get(
                self._url + path,
                headers=self._headers,
                timeout_s=self._timeout_s,
                max_bytes=_MAX_BYTES,
            )
            if reply.status == 200:
                return reply.read(shape)
            self._circuit.open_for(_RATE_LIMITED_S if reply.status == 429 else _PAUSE_S)
        except HttpError:
            self._circuit.open_for(_PAUSE_S)
        return None


def validated_price(price: Decimal, updated_at: int, now: int) -> Decimal | None:
    """Return the price if it is plausible and at most MAX_AGE_S old; times in Unix seconds."""
    if not (price.is_finite() and _LEAST <= price <= _MOST):
        return None
    return price if abs(now - updated_at) <= MAX_AGE_S else None


class Chainlink:
    """USD prices of the tokens in FEEDS."""

    def __init__(self, rpc: NodeRpcClient, clock: Clock) -> None:
        self._rpc = rpc
        self._clock = clock

    async def usd(self, token: Address) -> Decimal | None:
        """Return USD per whole token; None without a feed, if stale, or if the node fails."""
        feed = FEEDS.get(token)
        if feed is None:
            return None
        views = [
            ViewCall(MULTICALL3, BLOCK_TIMESTAMP),
            ViewCall(feed.address, feeds.LATEST_ROUND_DATA),
        ]
        try:
            with shared():
                block_time, round_data = await multicall.read_views(self._rpc, views)
        except NodeUnavailable:
            return None
        when, clock_s = erc20.read_uint(block_time), self._clock.now_ms() // 1000
        return feeds.usd(feed, round_data, block_time=when, clock_s=clock_s)


_PRO_HOST = "pro-api.coingecko.com"


class _CoinWire(msgspec.Struct, frozen=True):
    usd: Decimal | None = None
    last_updated_at: int = 0


class CoinGecko:
    """USD prices by token address (https://docs.coingecko.com/reference/simple-token-price).

    A key is optional; paid keys have a separate host.
    """

    def __init__(
        self,
        http: HttpClient,
        clock: Clock,
        *,
        url: str,
        key: str | None = None,
        timeout_s: float = 1.0,
    ) -> None:
        header = "x-cg-pro-api-key" if urlsplit(url).hostname == _PRO_HOST else "x-cg-demo-api-key"
        headers = {header: key} if key else {}
        self._api = PriceApiClient(http, clock, url, headers=headers, timeout_s=timeout_s)
        self._clock = clock

    async def usd(self, token: Address) -> Decimal | None:
        """Return USD per whole token; None if unknown, stale or unavailable."""
        address = token.lower()
        query = f"contract_addresses={address}&vs_currencies=usd&include_last_updated_at=true"
        path = f"/api/v3/simple/token_price/ethereum?{query}"
        answer = await self._api.get(path, dict[str, _CoinWire])
        coin = answer.get(address) if answer else None
        if coin is None or coin.usd is None:
            return None
        return validated_price(coin.usd, coin.last_updated_at, self._clock.now_ms() // 1000)


_LEAST_CONFIDENCE = Decimal("0.9")


class _DefiLlamaCoinWire(msgspec.Struct, frozen=True):
    price: Decimal
    timestamp: int
    confidence: Decimal = Decimal(0)


class _AnswerWire(msgspec.Struct, frozen=True):
    coins: dict[str, _DefiLlamaCoinWire]


class DefiLlama:
    """USD prices by token address, without a key (https://api-docs.defillama.com)."""

    def __init__(self, http: HttpClient, clock: Clock, *, url: str, timeout_s: float = 1.0) -> None:
        self._api = PriceApiClient(http, clock, url, timeout_s=timeout_s)
        self._clock = clock

    async def usd(self, token: Address) -> Decimal | None:
        """Return USD per whole token; None if unknown, stale, uncertain or unavailable."""
        coin = f"ethereum:{token}"
        answer = await self._api.get(f"/prices/current/{coin}?searchWidth=4h", _AnswerWire)
        coin_price = answer.coins.get(coin) if answer else None
        if coin_price is None or not coin_price.confidence >= _LEAST_CONFIDENCE:
            return None
        return validated_price(coin_price.price, coin_price.timestamp, self._clock.now_ms() // 1000)
