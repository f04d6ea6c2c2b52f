"""HTTP access to a price service, shared by DefiLlama and CoinGecko."""

from collections.abc import Mapping
from decimal import Decimal
from urllib.parse import urlsplit

import msgspec

from quietswap.chain import erc20, multicall
from quietswap.chain.address import Address
from quietswap.chain.chain import NodeUnavailable
from quietswap.chain.multicall import BLOCK_TIMESTAMP, MULTICALL3, ViewCall
from quietswap.chain.rpc import NodeRpcClient
from quietswap.clock import Clock
from quietswap.concurrency import CircuitBreaker
from quietswap.foreign_text import T
from quietswap.http_client import HttpClient, HttpError
from quietswap.prices import feeds
from quietswap.prices.feeds import FEEDS

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


# Chainlink USD feeds on mainnet (https://docs.chain.link/data-feeds/price-feeds/addresses).


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
            block_time, round_data = await multicall.read_views(self._rpc, views)
        except NodeUnavailable:
            return None
        when, clock_s = erc20.read_uint(block_time), self._clock.now_ms() // 1000
        return feeds.usd(feed, round_data, block_time=when, clock_s=clock_s)


# CoinGecko token prices (https://docs.coingecko.com/reference/simple-token-price).


_PRO_HOST = "pro-api.coingecko.com"


class _CoinWire(msgspec.Struct, frozen=True):
    usd: Decimal | None = None
    last_updated_at: int = 0


class CoinGecko:
    """USD prices by token address. A key is optional; paid keys have a separate host."""

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
        found = answer.get(address) if answer else None
        if found is None or found.usd is None:
            return None
        return validated_price(found.usd, found.last_updated_at, self._clock.now_ms() // 1000)


# DefiLlama prices (https://api-docs.defillama.com/, `GET /prices/current/{coins}`).


_LEAST_CONFIDENCE = Decimal("0.9")


class _DefiLlamaCoinWire(msgspec.Struct, frozen=True):
    price: Decimal
    timestamp: int
    confidence: Decimal = Decimal(0)


class _AnswerWire(msgspec.Struct, frozen=True):
    coins: dict[str, _DefiLlamaCoinWire]


class DefiLlama:
    """USD prices by token address, without a key."""

    def __init__(self, http: HttpClient, clock: Clock, *, url: str, timeout_s: float = 1.0) -> None:
        self._api = PriceApiClient(http, clock, url, timeout_s=timeout_s)
        self._clock = clock

    async def usd(self, token: Address) -> Decimal | None:
        """Return USD per whole token; None if unknown, stale, uncertain or unavailable."""
        coin = f"ethereum:{token}"
        answer = await self._api.get(f"/prices/current/{coin}?searchWidth=4h", _AnswerWire)
        found = answer.coins.get(coin) if answer else None
        if found is None or not found.confidence >= _LEAST_CONFIDENCE:
            return None
        return validated_price(found.price, found.timestamp, self._clock.now_ms() // 1000)
