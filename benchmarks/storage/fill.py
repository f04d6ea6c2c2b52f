"""Filling an empty database quickly: rows in bulk, then indexes, then statistics.

The rows are made by the service's own functions, the schema by its own migrations.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

import asyncpg

from benchmarks.storage.content import Shape, diary
from quietswap.rules.orders.order import Order
from quietswap.service.storage.factory import migrate_storage
from quietswap.service.storage.order_rows import (
    COLUMNS,
    EVENT_COLUMNS,
    event_values,
    fixed_values,
    moving_values,
)
from quietswap.service.storage.quotes import STORED, quote_values

Rows = Iterable[Sequence[object]]
_AT_ONCE = 50_000

_TABLES = {
    "orders": COLUMNS,
    "order_events": ("version", *EVENT_COLUMNS.split(", ")),
    "order_bytes": ("order_id", "raw", "final_at_ms"),
    "order_counts": ("client_id", "wallet", "status", "n"),
    "quotes": STORED,
}

_POSTGRES_INDEXES = """
SELECT format('DROP INDEX %s', indexrelid::regclass), pg_get_indexdef(indexrelid)
FROM pg_index LEFT JOIN pg_constraint ON conindid = indexrelid
WHERE indrelid = ANY ($1::regclass[]) AND conindid IS NULL
UNION ALL
SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname),
    format('ALTER TABLE %s ADD CONSTRAINT %I ', conrelid::regclass, conname)
        || pg_get_constraintdef(oid)
FROM pg_constraint WHERE contype IN ('p', 'u') AND conrelid = ANY ($1::regclass[])
"""
_SQLITE_INDEXES = """
SELECT 'DROP INDEX ' || name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL
"""

_WARM = (
    ("COUNT(failure_message)", "orders WHERE ctid >= '(0,0)'"),
    ("order_id", "orders ORDER BY 1"),
    ("tx_hash", "orders ORDER BY 1"),
    (
        "1",
        "orders WHERE kind = 'swap' ORDER BY client_id, wallet, created_at_ms DESC, order_id DESC",
    ),
    ("1", "orders WHERE kind = 'swap' ORDER BY client_id, wallet, status, created_at_ms DESC"),
    ("client_id, wallet, status", "order_counts ORDER BY 1, 2, 3"),
)
"""Read `orders`, its indexes and the counters from end to end: a range of rows is read into the
server's own memory, unlike a whole table."""


async def fill_postgres(url: str, shape: Shape) -> None:
    """Migrate the database at `url` and fill it; vacuumed, analysed and in memory afterwards."""
    await migrate_storage(url)
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("SET maintenance_work_mem = '1GB'")
        indexes = await connection.fetch(_POSTGRES_INDEXES, list(_TABLES))
        for drop, _ in indexes:
            await connection.execute(drop)
        for table, rows in _batches(shape):
            await connection.copy_records_to_table(table, records=rows, columns=_TABLES[table])
        for _, create in indexes:
            await connection.execute(create)
        for table in _TABLES:
            await connection.execute(f"VACUUM (ANALYZE) {table}")
        await connection.execute("CHECKPOINT")
        await connection.execute("SET enable_seqscan = off; SET enable_sort = off")
        for what, where in _WARM:
            await connection.execute(f"SELECT COUNT(*) FROM (SELECT {what} FROM {where} OFFSET 0)")
    finally:
        await connection.close()


async def fill_sqlite(url: str, shape: Shape) -> None:
    """Migrate the file at `url` and fill it; in the system's file cache afterwards."""
    await migrate_storage(url)
    _fill_file(Path(url.removeprefix("sqlite:///")), shape)


def _fill_file(path: Path, shape: Shape) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -1048576")
        indexes = connection.execute(_SQLITE_INDEXES).fetchall()
        connection.execute("BEGIN")
        for drop, _ in indexes:
            connection.execute(drop)
        for table, rows in _batches(shape):
            names = _TABLES[table]
            marks = ", ".join("?" for _ in names)
            connection.executemany(
                f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", rows
            )
        for _, create in indexes:
            connection.execute(create)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("rb") as file:
        while file.read(2**24):
            pass


def _batches(shape: Shape) -> Iterator[tuple[str, Rows]]:
    """Return rows for a table at a time, in the order in which the service would write them."""
    counts: Counter[tuple[str, ...]] = Counter()
    stored = shape.stored()
    while orders := list(islice(stored, _AT_ONCE)):
        counts.update((order.client_id, order.wallet, order.status.value) for order in orders)
        yield "orders", map(_order_row, orders)
        yield "order_events", (row for order in orders for row in _event_rows(order))
        yield "order_bytes", [_bytes_row(order) for order in orders if order.raw]
    yield "order_counts", [(*key, n) for key, n in counts.items()]
    yield "quotes", map(quote_values, shape.quotes())


def _order_row(order: Order) -> Sequence[object]:
    return *fixed_values(order), *moving_values(order), order.version


def _event_rows(order: Order) -> Iterator[Sequence[object]]:
    for version, event in enumerate(diary(order)):
        yield version, *event_values(event)


def _bytes_row(order: Order) -> Sequence[object]:
    return order.order_id, order.raw, None if order.watched else diary(order)[-1].at_ms
