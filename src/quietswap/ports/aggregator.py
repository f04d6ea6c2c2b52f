"""Port: a DEX aggregator."""

from typing import Protocol

from quietswap.domain.quote.indicative_price import SourcePrice, SourcePriceRequest
from quietswap.domain.quote.route import Route, RouteRequest


class Aggregator(Protocol):
    """A DEX aggregator. The use case, not the adapter, owns retries and deadlines."""

    @property
    def name(self) -> str:
        """Return its configured name, such as `kyberswap`."""

    @property
    def slippage_bps(self) -> tuple[int, int]:
        """Return the smallest and the largest slippage in basis points that its vendor takes."""

    async def route(self, request: RouteRequest) -> Route:
        """Return one complete route. Raises quietswap.domain.quote.route.NoRoute."""

    async def price(self, request: SourcePriceRequest) -> SourcePrice:
        """Return an indicative price. Raises quietswap.domain.quote.route.NoRoute."""
