"""Statistics: domain values to contract Structs."""

from quietswap.rules.amounts import BPS
from quietswap.rules.contract import exports as contract
from quietswap.rules.contract.exports import (
    OrderStatsEnvelope,
    OrderStatsQuery,
)
from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.orders.statistics import GroupStatistics, Measure, OrderStatistics
from quietswap.service.api.json import amount, iso_timestamp
from quietswap.service.api.operation import ApiRequest, operation
from quietswap.service.api.parsing import requests


def order_stats_response(found: OrderStatistics) -> contract.OrderStatsResponse:
    """Return `data` of GET /api/v1/mev/stats."""
    return contract.OrderStatsResponse(
        since=iso_timestamp(found.since_ms),
        until=iso_timestamp(found.until_ms),
        orders=found.orders,
        complete=found.is_complete,
        sources=tuple(_group(name, group) for name, group in found.by_source),
        relays=tuple(_group(name, group) for name, group in found.by_relay),
    )


def _group(name: str, group: GroupStatistics) -> contract.StatsGroup:
    count, orders = group.statuses, group.orders
    confirmed, failed = count[OrderStatus.CONFIRMED], count[OrderStatus.FAILED]
    return contract.StatsGroup(
        name=name,
        orders=orders,
        open=sum(count[status] for status in OrderStatus if not status.is_terminal),
        confirmed=confirmed,
        reverted=group.reverted,
        failed=failed,
        cancelled=count[OrderStatus.CANCELLED],
        dropped=group.dropped,
        resent=group.resent,
        confirmed_bps=confirmed * BPS // orders,
        failed_bps=failed * BPS // orders,
        dropped_bps=group.dropped * BPS // orders,
        resent_bps=group.resent * BPS // orders,
        inclusion_blocks=_row(group, Measure.BLOCKS),
        inclusion_seconds=_row(group, Measure.SECONDS),
        delivered_bps=_row(group, Measure.DELIVERED),
        refunds=contract.RefundStats(
            reported=group.refunds["reported"],
            reported_wei=amount(group.refunds_wei["reported"]),
            paid=group.refunds["paid"],
            paid_wei=amount(group.refunds_wei["paid"]),
        ),
    )


def _row(group: GroupStatistics, measure: Measure) -> contract.PercentileRow | None:
    percentiles = group.percentiles(measure)
    if percentiles is None:
        return None
    return contract.PercentileRow(
        count=percentiles.count, p50=percentiles.p50, p90=percentiles.p90, p99=percentiles.p99
    )


@operation("GET /api/v1/mev/stats", "INVALID_PARAMETER SERVICE_UNAVAILABLE", query=OrderStatsQuery)
async def order_stats(request: ApiRequest) -> OrderStatsEnvelope:
    """Results per source and per relay."""
    query = request.query_values(OrderStatsQuery)
    days = requests.parse_int(query, OrderStatsQuery, "days")
    statistics = await request.use.order_statistics(request.key, days)
    return OrderStatsEnvelope(ok=True, data=order_stats_response(statistics))
