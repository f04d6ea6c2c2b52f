"""Orders and clients as the operator view reads them.

Each statement is a range of an index with a limit, so its cost does not depend on the number of
orders: ids sort by time within their prefix (the primary key), a wallet has `orders_of_any_client`,
a client `orders_by_time`. Open orders are counted through their partial index.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from quietswap.rules.clients import ApiKey, Client
from quietswap.rules.operator.figures import BUCKET_MS, Figure, FigureRow, Measure
from quietswap.rules.operator.operators import ClientRow, OrderPlace, ProcessReport
from quietswap.rules.orders.order import Order, OrderStatus
from quietswap.rules.orders.order_ids import PREFIXES
from quietswap.service.storage.client_usage import UsageStore, read_limits
from quietswap.service.storage.clients import KeyStore
from quietswap.service.storage.database import Database, Store, Transaction, Value
from quietswap.service.storage.order_rows import COLUMNS, order_from

_ORDERS = f"SELECT {', '.join(COLUMNS)}, NULL FROM orders "  # noqa: S608  only constants
OF_PREFIX = _ORDERS + "WHERE order_id > ? AND order_id < ? ORDER BY order_id DESC LIMIT ?"
OF_WALLET = (
    _ORDERS + "WHERE lower(wallet) = ? AND (created_at_ms, order_id) < (?, ?) "
    "ORDER BY created_at_ms DESC, order_id DESC LIMIT ?"
)
OF_CLIENT = (
    _ORDERS + "WHERE client_id = ? AND (created_at_ms, order_id) < (?, ?) "
    "ORDER BY created_at_ms DESC, order_id DESC LIMIT ?"
)
_MOST_OPEN = 100_000
OPEN = """
SELECT status, COUNT(*), MIN(created_at_ms) FROM (
    SELECT status, created_at_ms FROM orders
    WHERE status IN ('pending', 'submitted', 'mining') LIMIT ?
) AS open GROUP BY status
"""
CLIENTS = """
SELECT id, name, created_at_ms, disabled_at_ms FROM clients
WHERE substr(id, 1, 4) <> 'web_' AND (created_at_ms, id) < (?, ?)
ORDER BY created_at_ms DESC, id DESC LIMIT ?
"""
"""Sessions of the wallet page are clients, too: their ids begin with `web_`."""
_LATEST = OrderPlace(2**62, "")
_PREFIX_LENGTH = 4
"""Of an order id: three letters and the line below."""


class OperatorSearch(Store):
    """Reads over all clients, each bounded by an index and a limit. All raise StoreUnavailable."""

    async def newest(self, after: OrderPlace | None, limit: int) -> Sequence[Order]:
        """Return orders of all clients, newest first, without their signed bytes."""
        end = "g" if after is None else after.order_id[_PREFIX_LENGTH:]  # ids have hex digits
        found: list[Order] = []
        for prefix in PREFIXES:
            rows = await self._database.fetch(OF_PREFIX, f"{prefix}_", f"{prefix}_{end}", limit)
            found += map(order_from, rows)
        found.sort(key=lambda order: order.order_id[_PREFIX_LENGTH:], reverse=True)
        return found[:limit]

    async def of_wallet(self, wallet: str, after: OrderPlace | None, limit: int) -> Sequence[Order]:
        """Return the orders of a wallet in any case of letters, newest first."""
        return await self._following(OF_WALLET, wallet.lower(), after, limit)

    async def of_client(
        self, client_id: str, after: OrderPlace | None, limit: int
    ) -> Sequence[Order]:
        """Return the orders of a client, newest first."""
        return await self._following(OF_CLIENT, client_id, after, limit)

    async def _following(
        self, sql: str, owner: str, after: OrderPlace | None, limit: int
    ) -> Sequence[Order]:
        place = after or _LATEST
        rows = await self._database.fetch(sql, owner, place.created_at_ms, place.order_id, limit)
        return [order_from(row) for row in rows]

    async def open_orders(self) -> Mapping[str, tuple[int, int]]:
        """Return by open status the number of orders and the oldest creation in Unix ms."""
        rows = await self._database.scan(OPEN, _MOST_OPEN)
        return {status: (count, oldest) for status, count, oldest in rows}

    async def key(self, key_id: str) -> ApiKey | None:
        return await KeyStore(self._database).by_id(key_id)

    async def clients(
        self, after: tuple[int, str] | None, limit: int, day: int
    ) -> Sequence[ClientRow]:
        """Return clients, the newest first, behind this creation time and id.

        Sessions of the wallet page are not among them.
        """
        created, identity = after or (_LATEST.created_at_ms, "")
        rows = await self._database.fetch(CLIENTS, created, identity, limit)
        return [await self.client(Client(*row), day) for row in rows]

    async def client(self, client: Client, day: int) -> ClientRow:
        usage = UsageStore(self._database)
        return ClientRow(
            client,
            await KeyStore(self._database).of_client(client.id),
            await read_limits(self._database, client.id),
            await usage.day(client.id, day),
            await usage.open_orders(client.id),
        )


# Order search for the operator. It scans the whole table: do not use it in a request.


@dataclass(frozen=True, slots=True)
class OrderFilter:
    """Conditions on an order; None matches all. `since_ms` is the earliest creation in Unix ms."""

    wallet: str | None = None
    client_id: str | None = None
    status: OrderStatus | None = None
    since_ms: int | None = None


async def search_orders(database: Database, wanted: OrderFilter, limit: int) -> Sequence[Order]:
    """Return the newest `limit` matching orders, newest first, without their signed bytes."""
    conditions: list[tuple[str, Value]] = [
        ("wallet = ?", wanted.wallet),
        ("client_id = ?", wanted.client_id),
        ("status = ?", None if wanted.status is None else wanted.status.value),
        ("created_at_ms >= ?", wanted.since_ms),
    ]
    given = [(text, value) for text, value in conditions if value is not None]
    where = f"WHERE {' AND '.join(text for text, _ in given)} " if given else ""
    rows = await database.scan(
        f"SELECT {', '.join(COLUMNS)}, NULL FROM orders {where}"  # noqa: S608  our own constants
        "ORDER BY created_at_ms DESC, order_id DESC LIMIT ?",
        *(value for _, value in given),
        limit,
    )
    return [order_from(row) for row in rows]


# Figures of the operator view, added up over all processes, and the processes' own reports.
#
# Every process adds its counts every few seconds, sorted, so that parallel transactions lock rows
# in one order. A read touches the rows of the wanted measures and time, through the primary key:
# their number depends on the length of time and on the number of sources, not on the number of
# orders.

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
        found = []
        for measure in measures:
            rows = await self._database.scan(READ, step_ms, measure.value, first)
            found += [FigureRow(slot * step_ms, *rest) for slot, *rest in rows]
        return sorted(found)

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
