"""The record of inclusion as CSV that operators can publish together.

A row has no order, no wallet and no time: a day and a range of blocks at most. A group of fewer
than five orders has no row.
"""

from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from datetime import UTC, datetime

import msgspec

from quietswap.rules.contract.exports import InclusionRow
from quietswap.rules.operator.inclusion import LEAST_OF_GROUP, Group, InclusionReport
from quietswap.rules.orders.statistics import percentiles
from quietswap.rules.wire import member_names
from quietswap.service.orders.exported_orders import csv_lines

BLOCKS_OF_A_DAY = 7_200
"""Ranges of blocks begin and end at multiples of it."""


async def csv_table(report: InclusionReport) -> AsyncGenerator[bytes]:
    """Yield the whole table: its head, then one row for each group of five orders or more."""
    rows = [msgspec.structs.astuple(row) for row in _rows(report)]
    yield csv_lines([member_names(InclusionRow), *rows])


def _rows(report: InclusionReport) -> Iterator[InclusionRow]:
    kinds = {
        "all": (report.total,),
        "endpoint": report.endpoints,
        "relay": report.relays,
        "builder": report.builders,
    }
    for kind, groups in kinds.items():
        for group in groups:
            if group.orders >= LEAST_OF_GROUP:
                yield _row(report, kind, group)


def _row(report: InclusionReport, kind: str, group: Group) -> InclusionRow:
    assert report.blocks is not None  # a group has orders
    first, last = report.blocks
    return InclusionRow(
        _day(report.since_ms),
        _day(report.until_ms),
        first // BLOCKS_OF_A_DAY * BLOCKS_OF_A_DAY,
        (last // BLOCKS_OF_A_DAY + 1) * BLOCKS_OF_A_DAY - 1,
        kind,
        group.name,
        group.tip,
        group.orders,
        report.expired if kind == "all" else None,
        group.within(1),
        group.within(2),
        group.within(5),
        group.within(25),
        *_quantiles(group.waited),
        *_quantiles(group.fees),
        *_quantiles(group.fullness),
    )


def _quantiles(values: Counter[int]) -> tuple[int | None, int | None, int | None]:
    ranked = percentiles(values)
    return (None,) * 3 if ranked is None else (ranked.p50, ranked.p90, ranked.p99)


def _day(unix_ms: int) -> str:
    return datetime.fromtimestamp(unix_ms / 1000, UTC).date().isoformat()
