"""HTTP access to an aggregator, shared by all adapters."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from quietswap.adapters.aggregators import reply_fields as read
from quietswap.adapters.http import HttpClient, HttpReply
from quietswap.domain.quote.indicative_price import SourcePrice, SourcePriceRequest
from quietswap.domain.quote.route import Route, RouteRequest

_SHORTEST_KEY = 8


class HttpAggregator(ABC):
    """Base of the adapters. A subclass sets `name`, `default_url`, and `slippage_bps` if limited.

    It implements `route` and `price`. `timeout_s` limits one request; an adapter neither retries
    nor has a deadline of its own.
    """

    name: ClassVar[str]
    default_url: ClassVar[str]
    slippage_bps: ClassVar[tuple[int, int]] = (0, 10_000)

    def __init__(
        self,
        http: HttpClient,
        *,
        base_url: str | None = None,
        client_name: str = "quietswap",
        timeout_s: float = 3.0,
        api_key: str | None = None,
    ) -> None:
        self._http = http
        self._base = (base_url or self.default_url).rstrip("/")
        self._client = client_name
        self._timeout_s = timeout_s
        self._api_key = api_key
        self._headers = self._auth()

    @abstractmethod
    async def route(self, request: RouteRequest) -> Route:
        """Return one complete route. Raises NoRoute."""

    @abstractmethod
    async def price(self, request: SourcePriceRequest) -> SourcePrice:
        """Return an indicative price without a wallet, in one call. Raises NoRoute."""

    def _auth(self) -> dict[str, str]:
        """Return the headers that identify the operator to the vendor."""
        return {}

    async def _get(self, path: str, params: Mapping[str, str]) -> HttpReply:
        """Return the response of any status. Raises NoRoute if there is none."""
        asking = self._http.get(
            self._base + path, params=params, headers=self._headers, timeout_s=self._timeout_s
        )
        return self._without_key(await read.fetch(asking))

    async def _post(self, path: str, body: bytes) -> HttpReply:
        """Return the response of any status. Raises NoRoute if there is none."""
        asking = self._http.post(
            self._base + path,
            body,
            headers=self._headers,
            timeout_s=self._timeout_s,
            repeatable=True,
        )
        return self._without_key(await read.fetch(asking))

    def _without_key(self, reply: HttpReply) -> HttpReply:
        """Return the response without the operator's key: clients see a vendor's sentences."""
        key = (self._api_key or "").encode()
        if len(key) < _SHORTEST_KEY or key not in reply.body:
            return reply
        return replace(reply, body=reply.body.replace(key, b"***"))
