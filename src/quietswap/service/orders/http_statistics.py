"""Statistics: domain values to contract Structs."""

from typing import Any

from quietswap.rules.amounts import BPS
from quietswap.rules.contract import exports as contract
from quietswap.rules.contract.exports import (
    INCLUSION_FORMATS,
    InclusionEnvelope,
    InclusionQuery,
    InclusionRow,
    OrderStatsEnvelope,
    OrderStatsQuery,
)
from quietswap.rules.operator.inclusion import WITHIN, Group, InclusionReport
from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.orders.statistics import (
    GroupStatistics,
    Measure,
    OrderStatistics,
    Percentiles,
    percentiles,
)
from quietswap.service.api.json import StreamedAnswer, amount, iso_timestamp
from quietswap.service.api.operation import ApiRequest, operation
from quietswap.service.api.parsing import requests
from quietswap.service.orders.exported_orders import CSV_TYPE
from quietswap.service.orders.inclusion_table import csv_table


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


def inclusion_response(report: InclusionReport) -> contract.InclusionResponse:
    """Return `data` of GET /api/v1/inclusion."""
    return contract.InclusionResponse(
        since=iso_timestamp(report.since_ms),
        until=iso_timestamp(report.until_ms),
        orders=report.total.orders,
        complete=report.is_complete,
        expired=report.expired,
        usual_wait=report.usual_wait,
        groups=tuple(
            contract.InclusionGroup(endpoint=group.name, tip=group.tip, **_figures(group))
            for group in report.endpoints
        ),
        relays=tuple(map(_named_group, report.relays)),
        builders=tuple(map(_named_group, report.builders)),
    )


def _named_group(group: Group) -> contract.NamedInclusionGroup:
    return contract.NamedInclusionGroup(name=group.name, **_figures(group))


def _figures(group: Group) -> dict[str, Any]:
    within = [contract.InclusionShare(blocks=most, orders=group.within(most)) for most in WITHIN]
    return {
        "blocks": _percentile_row(percentiles(group.waited)),
        "within": tuple(within),
        "base_fee_bps": _percentile_row(percentiles(group.fees)),
        "fullness_bps": _percentile_row(percentiles(group.fullness)),
    }


def _row(group: GroupStatistics, measure: Measure) -> contract.PercentileRow | None:
    return _percentile_row(group.percentiles(measure))


def _percentile_row(percentiles: Percentiles | None) -> contract.PercentileRow | None:
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


_TABLE_HEADERS = (
    (b"content-type", CSV_TYPE.encode()),
    (b"content-disposition", b'attachment; filename="inclusion.csv"'),
)


@operation(
    "GET /api/v1/inclusion",
    "INVALID_PARAMETER SERVICE_UNAVAILABLE",
    query=InclusionQuery,
    rows=InclusionRow,
)
async def order_inclusion(request: ApiRequest) -> InclusionEnvelope | StreamedAnswer:
    """How long orders waited for a block, by endpoint, relay and builder."""
    query = request.query_values(InclusionQuery)
    form = requests.parse_choice(query, "format", INCLUSION_FORMATS)
    report = await request.use.inclusion(requests.parse_int(query, InclusionQuery, "days"))
    if form == "csv":
        return StreamedAnswer(_TABLE_HEADERS, csv_table(report))
    return InclusionEnvelope(ok=True, data=inclusion_response(report))
