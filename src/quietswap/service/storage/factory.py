"""Opens the stores of a database. Only this module knows both."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quietswap.rules.orders.stores import LeaderLock, RateStore, StoreUnavailable
from quietswap.service.base.clock import Clock
from quietswap.service.storage import migrate
from quietswap.service.storage.api_keys import KeyStore
from quietswap.service.storage.audit_log import AuditStore
from quietswap.service.storage.client_usage import UsageStore
from quietswap.service.storage.clients import ClientStore
from quietswap.service.storage.database import Database
from quietswap.service.storage.database_urls import SQLITE, BadDatabaseUrl, is_embedded
from quietswap.service.storage.events import EventStore
from quietswap.service.storage.figures import FigureStore
from quietswap.service.storage.file_lock import FileLeaderLock
from quietswap.service.storage.operators import OperatorStore
from quietswap.service.storage.orders import OrderStore
from quietswap.service.storage.paused_sources import PausedSourceStore
from quietswap.service.storage.quotes import QuoteStore
from quietswap.service.storage.rate_limits import MemoryRateStore, SharedOrOwnShare
from quietswap.service.storage.relay_health import RelayHealthStore
from quietswap.service.storage.sqlite import SqliteDatabase
from quietswap.service.storage.wallet_rpc_tokens import WalletRpcTokenStore
from quietswap.service.storage.watches import WatchStore
from quietswap.service.storage.web_sessions import WebSessionStore
from quietswap.service.storage.webhooks import WebhookStore

if TYPE_CHECKING:
    from quietswap.service.storage.redis_rate_limits import RedisRateStore

_PROBES = {
    "postgresql": """
UPDATE orders SET version = version WHERE 1 = 0 AND EXISTS (
  SELECT 1 FROM api_keys, clients, client_limits, client_usage, quotes, order_bytes, order_counts,
    order_events, events, event_counters
)
""",
    "sqlite": "PRAGMA user_version = 0",
}
"""Writes that change nothing. PostgreSQL's is refused by a standby, a read-only database, a role
without rights, and where a table is missing that each client needs. SQLite's writes a page, which a
full disk refuses: an UPDATE to the same value writes none.
"""
PATIENCE_S = 3.0
"""Time limit of a database call in seconds, after which it raises StoreUnavailable."""
LOCK_PATIENCE_S = 2.0
"""Time limit of a PostgreSQL lock's renewal in seconds, after which the lock is given up."""
CONNECTIONS = 8
"""PostgreSQL connections of one process, without those of the leader locks."""
_STRANGERS = 50_000
"""Client addresses whose wrong keys are counted in memory, about 200 bytes each."""
WAITING = 1000
"""Most calls in flight or in the queue. Further calls fail at once, which limits memory."""


class Storage:
    """All stores of one database; `traced`: each of their calls is a span of the request's trace.

    `rates` counts requests of keys. `guesses` counts failed authentication by client address, in a
    separate store, so that many addresses cannot displace the windows of keys. `leadership` is the
    lock of the tracker. `serving` is the lock of the processes that serve: shared by those with a
    shared rate store, exclusive for one that counts in memory.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        shared_rates: "RedisRateStore | None",
        locks: tuple[LeaderLock, LeaderLock],
        *,
        traced: bool,
    ) -> None:
        self.database = database
        self.shared_rates = shared_rates
        self.rates: RateStore = MemoryRateStore(clock)
        self.guesses: RateStore = MemoryRateStore(clock, _STRANGERS)
        self.shares: Sequence[SharedOrOwnShare] = ()
        if shared_rates is not None:
            both = (self.rates, self.guesses)
            self.shares = tuple(SharedOrOwnShare(shared_rates, own, clock) for own in both)
            self.rates, self.guesses = self.shares
        self.leadership, self.serving = locks
        stored = database
        if traced:
            from quietswap.service.storage.tracing import (  # its metrics take time to import
                TracedDatabase,
            )

            stored = TracedDatabase(database)
        self.clients = ClientStore(stored)
        self.usage = UsageStore(stored)
        self.audit = AuditStore(stored)
        self.operators = OperatorStore(stored)
        self.paused_sources = PausedSourceStore(stored)
        self.figures = FigureStore(stored)
        self.relay_health = RelayHealthStore(stored)
        self.keys = KeyStore(stored)
        self.quotes = QuoteStore(stored)
        self.orders = OrderStore(stored)
        self.rpc_tokens = WalletRpcTokenStore(stored)
        self.events = EventStore(stored)
        self.webhooks = WebhookStore(stored)
        self.watches = WatchStore(stored)
        self.web_sessions = WebSessionStore(stored)

    async def ping(self) -> None:
        """Check that the database accepts writes. Raises StoreUnavailable."""
        try:
            await self.database.change(_PROBES[self.database.dialect], durable=False)
        except StoreUnavailable:
            raise
        except Exception as error:
            kind = type(error).__name__
            text = f"the tables are not those of this release ({kind}): run quietswap migrate"
            raise StoreUnavailable(text) from error

    async def ping_all(self) -> None:
        """Check that database and Redis accept writes. Raises StoreUnavailable."""
        await self.ping()
        if self.shared_rates:
            await self.shared_rates.ping()

    async def serving_processes(self) -> int:
        """Return how many processes hold the lock of those that serve; 1 where none can be seen."""
        if self.database.dialect == "sqlite":
            return 1
        from quietswap.service.storage.postgres_locks import HOLDERS, SERVER

        rows = await self.database.fetch(HOLDERS, SERVER)
        return max(int(rows[0][0]), 1)

    async def clock_ahead_ms(self, clock: Clock) -> int | None:
        """Return `clock` less the database's; None with SQLite, which has this host's clock."""
        if self.database.dialect == "sqlite":
            return None
        sql = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
        asked_ms = clock.now_ms()
        answered_ms = int((await self.database.fetch(sql))[0][0])
        return (asked_ms + clock.now_ms()) // 2 - answered_ms

    async def close(self) -> None:
        """Finish accepted work, then release the locks: the next holder finds all of it stored."""
        try:
            if self.shared_rates:
                await self.shared_rates.close()
            await self.database.close()
        finally:
            await self.leadership.release()
            await self.serving.release()


async def open_storage(
    url: str,
    *,
    clock: Clock,
    rates_url: str | None = None,
    connections: int = CONNECTIONS,
    patience_s: float = PATIENCE_S,
    lock_patience_s: float = LOCK_PATIENCE_S,
    traced: bool = False,
    checked: bool = True,
) -> Storage:
    """Open all stores of `url`, with rate windows in memory or in Redis or Valkey at `rates_url`.

    `patience_s` limits a call in seconds, `lock_patience_s` the renewal of a PostgreSQL lock.
    With `traced`, each call is a span of the request's trace.

    An empty SQLite file gets the schema here; another one is changed by `serve` and `migrate` only,
    because an older release could not open it again. Without `checked` any schema is opened. Raises
    BadDatabaseUrl, StoreUnavailable, SchemaTooOld, SchemaTooNew and ForeignDatabase.
    """
    database = await open_database(url, connections=connections, patience_s=patience_s)
    try:
        if checked:
            if is_embedded(url) and await migrate.current_version(database) == 0:
                await migrate.migrate(database)
            await migrate.check(database)
        shared_rates = None
        if rates_url:
            from quietswap.service.storage.redis_rate_limits import RedisRateStore

            shared_rates = RedisRateStore.open(rates_url)
    except BaseException:
        await database.close()
        raise
    locks = _locks(url, database, lock_patience_s, shared=rates_url is not None)
    return Storage(database, clock, shared_rates, locks, traced=traced)


async def migrate_storage(url: str) -> list[str]:
    """Migrate the schema at `url` to this release and return the names of the migrations. Raises
    BadDatabaseUrl, StoreUnavailable, SchemaTooNew and ForeignDatabase.
    """
    database = await open_database(url, connections=1)
    try:
        return await migrate.migrate(database)
    finally:
        await database.close()


async def open_database(
    url: str, *, connections: int = CONNECTIONS, patience_s: float = PATIENCE_S
) -> Database:
    """Open the database at `url` with any schema. Raises BadDatabaseUrl, StoreUnavailable and
    ForeignDatabase.
    """
    if is_embedded(url):
        path = url.removeprefix(SQLITE)
        return await SqliteDatabase.open(path, patience_s=patience_s, waiting=WAITING)
    from quietswap.service.storage.postgres import PostgresDatabase

    try:
        return await PostgresDatabase.open(
            url, connections=connections, patience_s=patience_s, waiting=WAITING
        )
    except ValueError as error:
        raise BadDatabaseUrl("storage.url: the PostgreSQL URL cannot be read") from error


def _locks(
    url: str, database: Database, patience_s: float, *, shared: bool
) -> tuple[LeaderLock, LeaderLock]:
    """Return the locks of the tracker and of the processes that serve, not yet acquired."""
    if isinstance(database, SqliteDatabase):
        path = database.path
        return FileLeaderLock(path), FileLeaderLock(path, "server", shared=shared)
    from quietswap.service.storage.postgres_locks import SERVER, AdvisoryLeaderLock

    return (
        AdvisoryLeaderLock(url, patience_s=patience_s),
        AdvisoryLeaderLock(url, SERVER, patience_s=patience_s, shared=shared),
    )
