"""Figures of the operator view, added up over all processes, and the processes' own reports.

Every process adds its counts every few seconds, sorted, so that parallel transactions lock rows
in one order. A read touches the rows of the wanted measures and time, through the primary key:
their number depends on the length of time and on the number of sources, not on the number of
orders.
"""

from collections.abc import Mapping, Sequence

import msgspec

from quietswap.rules.operator.figures import BUCKET_MS, Figure, FigureRow, Measure
from quietswap.rules.operator.operators import ProcessReport
from quietswap.service.storage.database import Store, Transaction

_ADD = """
INSERT INTO operator_figures (measure, bucket_ms, subject, detail, value, n)
VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (measure, bucket_ms, subject, detail, value)
DO UPDATE SET n = operator_figures.n + excluded.n
"""
_REPORT = """
INSERT INTO service_processes (process_id, seen_at_ms, changes, state) VALUES (?, ?, ?, ?)
ON CONFLICT (process_id) DO UPDATE SET seen_at_ms = excluded.seen_at_ms,
changes = excluded.changes, state = excluded.state
"""
READ = """
SELECT slot, measure, subject, detail, value, CAST(SUM(n) AS BIGINT) FROM (
    SELECT bucket_ms / ? AS slot, measure, subject, detail, value, n
    FROM operator_figures WHERE measure = ? AND bucket_ms >= ?
) AS found GROUP BY slot, measure, subject, detail, value
"""
"""Arguments: length of a slot in ms, measure, begin of the first slot in Unix ms."""


class FigureStore(Store):
    """Figures and reports of all processes. All methods raise StoreUnavailable."""

    async def record(self, figures: Mapping[Figure, int], report: ProcessReport) -> None:
        """Add figures to the bucket of the report's time, and replace the process's last report."""
        bucket = report.seen_at_ms // BUCKET_MS * BUCKET_MS
        state = msgspec.json.encode(report.state).decode()

        async def body(transaction: Transaction) -> None:
            for figure in sorted(figures):
                measure, subject, detail, value = figure
                added = figures[figure]
                await transaction.fetch(_ADD, measure.value, bucket, subject, detail, value, added)
            await transaction.fetch(
                _REPORT, report.process_id, report.seen_at_ms, report.changes, state
            )

        # a power failure may undo it: these are figures, not accounts
        await self._database.transact(body, durable=False)

    async def read(
        self, measures: Sequence[Measure], since_ms: int, step_ms: int
    ) -> Sequence[FigureRow]:
        """Return the sums of these measures since then, in slots of `step_ms`, oldest first."""
        first = since_ms // step_ms * step_ms
        figures = []
        for measure in measures:
            rows = await self._database.scan(READ, step_ms, measure.value, first)
            figures += [FigureRow(slot * step_ms, *rest) for slot, *rest in rows]
        return sorted(figures)

    async def reports(self, since_ms: int) -> Sequence[ProcessReport]:
        """Return the last report of each process that was seen since then, by process id."""
        rows = await self._database.fetch(
            "SELECT process_id, seen_at_ms, changes, state FROM service_processes "
            "WHERE seen_at_ms >= ? ORDER BY process_id",
            since_ms,
        )
        return [ProcessReport(row[0], row[1], row[2], msgspec.json.decode(row[3])) for row in rows]

    async def changes(self, since_ms: int) -> Mapping[str, int]:
        """Return `changes` by process id of the processes that were seen since then."""
        rows = await self._database.fetch(
            "SELECT process_id, changes FROM service_processes WHERE seen_at_ms >= ?", since_ms
        )
        return {row[0]: row[1] for row in rows}

    async def purge(self, before_ms: int) -> None:
        """Delete figures and reports that are older."""

        async def body(transaction: Transaction) -> None:
            for measure in Measure:  # each through the primary key
                await transaction.fetch(
                    "DELETE FROM operator_figures WHERE measure = ? AND bucket_ms < ?",
                    measure.value,
                    before_ms,
                )
            await transaction.fetch("DELETE FROM service_processes WHERE seen_at_ms < ?", before_ms)

        await self._database.transact(body, durable=False)
