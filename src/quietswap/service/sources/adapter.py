"""What an adapter is, and HTTP access to a vendor, shared by all that have it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import ClassVar, Protocol, TypeVar

from quietswap.rules.amounts import less_slippage
from quietswap.rules.quotes.indicative_price import SourcePriceRequest
from quietswap.rules.quotes.quote import NoRoute, NoRouteReason, Route, RouteRequest
from quietswap.rules.quotes.scoring import SourcePrice
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors.vendor import Vendor
from quietswap.service.base.http_client import HttpClient, HttpError, HttpReply, HttpTimeout
from quietswap.service.sources import answers as read

T = TypeVar("T")


class VendorAdapter(Protocol):
    """How a source is asked. The use case, not the adapter, owns retries and deadlines."""

    @property
    def name(self) -> str:
        """Return its configured name, such as `kyberswap`."""

    @property
    def slippage_bps(self) -> tuple[int, int]:
        """Return the smallest and the largest slippage in basis points that its vendor takes."""

    @property
    def needs_decimals(self) -> bool:
        """Return whether `route` reads the decimals of the tokens, and so waits for a new token."""

    async def route(self, request: RouteRequest) -> Route:
        """Return one complete route. Raises quietswap.rules.quotes.quote.NoRoute."""

    async def price(self, request: SourcePriceRequest) -> SourcePrice:
        """Return an indicative price, in one call. Raises quietswap.rules.quotes.quote.NoRoute."""


_SHORTEST_KEY = 8


@dataclass(eq=False, repr=False)  # no key in a log
class HttpAdapter:
    """Base of the adapters. A subclass sets `vendor`, and `slippage_bps` if its vendor limits it.

    It implements `route` and `price`, and `_refused` for what `_answered` does not take.
    `takes_proprietary_amms`: routes may lead through the vendor's proprietary AMMs.
    `timeout_s` limits one request; an adapter neither retries nor has a deadline of its own.
    """

    vendor: ClassVar[Vendor]
    slippage_bps: ClassVar[tuple[int, int]] = (0, 10_000)
    needs_decimals: ClassVar[bool] = False

    http: HttpClient
    base_url: str | None = None
    client_name: str = "quietswap"
    timeout_s: float = 3.0
    api_key: str | None = None
    takes_proprietary_amms: bool = False

    def __post_init__(self) -> None:
        self._base = (self.base_url or self.vendor.url or "").rstrip("/")
        self._headers = self._auth()

    @property
    def name(self) -> str:
        return self.vendor.name

    def _auth(self) -> dict[str, str]:
        return {}

    def _refused(self, reply: HttpReply) -> NoRoute:
        """Return what a response with another status than 200 means."""
        return read.no_route_for_status(reply)

    async def _answered(
        self,
        path: str,
        shape: type[T],
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> T:
        """Return the body of a response with status 200, to a POST of `body`. Raises NoRoute."""
        url, headers, timeout_s = self._base + path, self._headers, self.timeout_s
        try:
            if body is None:
                asking = self.http.get(url, params=params, headers=headers, timeout_s=timeout_s)
            else:
                asking = self.http.post(
                    url, body, headers=headers, timeout_s=timeout_s, repeatable=True
                )
            reply = self._without_key(await asking)
        except HttpTimeout as error:
            raise NoRoute(NoRouteReason.TIMED_OUT, str(error)) from None
        except HttpError as error:
            raise NoRoute(NoRouteReason.UNAVAILABLE, str(error)) from None
        if reply.status != 200:
            raise self._refused(reply)
        return read.parse(reply, shape)

    def _without_key(self, reply: HttpReply) -> HttpReply:
        """Return the response without the operator's key: clients see a vendor's sentences."""
        key = (self.api_key or "").encode()
        if len(key) < _SHORTEST_KEY or key not in reply.body:
            return reply
        return replace(reply, body=reply.body.replace(key, b"***"))

    def _route(
        self,
        request: RouteRequest,
        *,
        target: Address,
        value: int,
        data: bytes,
        buy_amount: int,
        gas: int | None,
        spender: Address | None = None,
        min_buy_amount: int | None = None,
        dex: object = None,
        tokens: Sequence[object] = (),
        impact_percent: Decimal | None = None,
        exchanges: Sequence[object] = (),
    ) -> Route:
        """Return a route; `tokens` are those on its path as the vendor wrote them, as `exchanges`.

        By default the router is approved, and the minimum is the amount less slippage. Without
        `impact_percent` the price impact is computed from independent prices.
        """
        if min_buy_amount is None:
            min_buy_amount = less_slippage(buy_amount, request.slippage_bps)
        return Route(
            source=self.vendor.name,
            dex=read.text(dex, self.vendor.name),
            target=target,
            spender=spender or target,
            value=value,
            data=data,
            path=read.path(tokens, request.sell.address, request.buy.address),
            buy_amount=buy_amount,
            min_buy_amount=min_buy_amount,
            gas=gas,
            impact_percent=impact_percent,
            proprietary_amms=tuple(
                name for name in self.vendor.proprietary_amms if name in exchanges
            ),
        )
