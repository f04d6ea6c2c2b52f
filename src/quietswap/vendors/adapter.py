"""What an adapter is, and HTTP access to a vendor, shared by all that have it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Protocol, TypeVar

from quietswap.http_client import HttpClient, HttpReply
from quietswap.quoting.quote import NoRoute, Route, RouteRequest
from quietswap.quoting.scoring import SourcePrice, SourcePriceRequest
from quietswap.vendors.answers import fetch, no_route_for_status, parse
from quietswap.vendors.vendor import Vendor

T = TypeVar("T")


class VendorAdapter(Protocol):
    """How a source is asked. The use case, not the adapter, owns retries and deadlines."""

    @property
    def name(self) -> str:
        """Return its configured name, such as `kyberswap`."""

    @property
    def slippage_bps(self) -> tuple[int, int]:
        """Return the smallest and the largest slippage in basis points that its vendor takes."""

    async def route(self, request: RouteRequest) -> Route:
        """Return one complete route. Raises quietswap.quoting.quote.NoRoute."""

    async def price(self, request: SourcePriceRequest) -> SourcePrice:
        """Return an indicative price. Raises quietswap.quoting.quote.NoRoute."""


_SHORTEST_KEY = 8


class HttpAdapter(ABC):
    """Base of the adapters. A subclass sets `vendor`, and `slippage_bps` if its vendor limits it.

    It implements `route` and `price`, and `_refused` for what `_answered` does not take.
    `timeout_s` limits one request; an adapter neither retries nor has a deadline of its own.
    """

    vendor: ClassVar[Vendor]
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
        self._base = (base_url or self.vendor.url or "").rstrip("/")
        self._client = client_name
        self._timeout_s = timeout_s
        self._api_key = api_key
        self._headers = self._auth()

    @property
    def name(self) -> str:
        """Return the vendor's name, such as `kyberswap`."""
        return self.vendor.name

    @abstractmethod
    async def route(self, request: RouteRequest) -> Route:
        """Return one complete route. Raises NoRoute."""

    @abstractmethod
    async def price(self, request: SourcePriceRequest) -> SourcePrice:
        """Return an indicative price without a wallet, in one call. Raises NoRoute."""

    def _auth(self) -> dict[str, str]:
        """Return the headers that identify the operator to the vendor."""
        return {}

    def _refused(self, reply: HttpReply) -> NoRoute:
        """Return what a response with another status than 200 means."""
        return no_route_for_status(reply)

    async def _answered(self, path: str, params: Mapping[str, str], shape: type[T]) -> T:
        """Return the body of a response with status 200. Raises NoRoute."""
        reply = await self._get(path, params)
        if reply.status != 200:
            raise self._refused(reply)
        return parse(reply, shape)

    async def _get(self, path: str, params: Mapping[str, str]) -> HttpReply:
        """Return the response of any status. Raises NoRoute if there is none."""
        asking = self._http.get(
            self._base + path, params=params, headers=self._headers, timeout_s=self._timeout_s
        )
        return self._without_key(await fetch(asking))

    async def _post(self, path: str, body: bytes) -> HttpReply:
        """Return the response of any status. Raises NoRoute if there is none."""
        asking = self._http.post(
            self._base + path,
            body,
            headers=self._headers,
            timeout_s=self._timeout_s,
            repeatable=True,
        )
        return self._without_key(await fetch(asking))

    def _without_key(self, reply: HttpReply) -> HttpReply:
        """Return the response without the operator's key: clients see a vendor's sentences."""
        key = (self._api_key or "").encode()
        if len(key) < _SHORTEST_KEY or key not in reply.body:
            return reply
        return replace(reply, body=reply.body.replace(key, b"***"))
