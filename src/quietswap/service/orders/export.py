"""GET /api/v1/mev/orders/user/:userAddress/export, and `quietswap orders export`."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from cachetools import TTLCache

from quietswap.rules.chain.records import ChainReader, NodeUnavailable
from quietswap.rules.clients import ApiKey
from quietswap.rules.orders.statistics import (
    TWO_RELAYS,
    ExportFilter,
    ExportPage,
    ExportRow,
    Measure,
    OrderStatistics,
    grouped,
)
from quietswap.rules.tokens.token import NATIVE, Token
from quietswap.rules.tx.address import Address
from quietswap.service.base.clock import Clock
from quietswap.service.base.concurrency import bounded_gather
from quietswap.service.storage.order_export import OrderExportStore, OrderStatisticsStore

if TYPE_CHECKING:
    from quietswap.service.relays.relay import Relay

_PARALLEL = 8
_ETHER = Token(NATIVE, 18, "ETH")


class ExportOrders:
    """The orders come from the store, decimals and symbols of their tokens from the node.

    Without `chain`, or once the node does not answer, the tokens of the rest are missing: an export
    does not wait for a node that is away.
    """

    def __init__(self, orders: OrderExportStore, chain: ChainReader | None) -> None:
        self._orders = orders
        self._chain = chain

    async def __call__(self, wanted: ExportFilter) -> AsyncGenerator[ExportPage]:
        """Yield pages of the orders. Raises StoreUnavailable."""
        chain = self._chain
        async with aclosing(self._orders.pages(wanted)) as pages:
            async for rows in pages:
                tokens, is_away = await _tokens(chain, rows)
                chain = None if is_away else chain
                yield ExportPage(rows, tokens)


async def _tokens(
    chain: ChainReader | None, rows: Sequence[ExportRow]
) -> tuple[dict[Address, Token], bool]:
    """Return the known tokens of some orders, and whether the node did not answer."""
    found = {NATIVE: _ETHER}
    if chain is None:
        return found, False
    wanted = {row.order.sell_token for row in rows} | {row.order.buy_token for row in rows}
    reader, is_away = chain, False

    async def look(address: Address) -> None:
        nonlocal is_away
        if is_away:
            return
        try:
            token = await reader.token(address)
        except NodeUnavailable:
            is_away = True
            return
        if token is not None:
            found[address] = token

    await bounded_gather(sorted(wanted - {NATIVE}), look, limit=_PARALLEL)
    return found, is_away


# GET /api/v1/mev/stats: results of the client's orders per source and per relay.

DAY_MS = 86_400_000
MOST_ORDERS = 20_000
"""Orders counted for one answer; of more, the newest."""
_CLIENTS = 256
_TTL_S = 10.0


class GetOrderStatistics:
    """An answer is kept for ten seconds, so that a page that polls does not count again."""

    def __init__(
        self, orders: OrderStatisticsStore, relays: Mapping[int, "Relay"], clock: Clock
    ) -> None:
        self._orders = orders
        self._relays = relays
        self._clock = clock
        self._kept: TTLCache[tuple[str, int], OrderStatistics]
        self._kept = TTLCache(_CLIENTS, _TTL_S, timer=clock.monotonic)

    async def __call__(self, key: ApiKey, days: int) -> OrderStatistics:
        """Return the statistics of the last `days` days. Raises StoreUnavailable."""
        place = key.client_id, days
        kept = self._kept.get(place)
        if kept is None:
            kept = self._kept[place] = await self._count(*place)
        return kept

    async def _count(self, client_id: str, days: int) -> OrderStatistics:
        now_ms = self._clock.now_ms()
        since_ms = now_ms - days * DAY_MS
        tallies = await self._orders.tallies(client_id, since_ms, MOST_ORDERS)
        by_source, by_tier = grouped(tallies)
        orders = sum(tally.orders for tally in tallies if tally.measure == Measure.ORDERS)
        return OrderStatistics(
            since_ms,
            now_ms,
            is_complete=orders < MOST_ORDERS,
            orders=orders,
            by_source=[*by_source.items()],
            by_relay=[(self._name(tier), group) for tier, group in by_tier.items()],
        )

    def _name(self, tier: int) -> str:
        if tier == TWO_RELAYS:
            return "both relays"
        relay = self._relays.get(tier)
        return f"tier {tier}" if relay is None else relay.name
