"""From a URL to a storage: the one place that knows both databases."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

from quietswap.ports.outside import Clock
from quietswap.ports.stores import Leadership, RateStore
from quietswap.storage import migrate
from quietswap.storage.database import Database
from quietswap.storage.kept_orders import KeptOrders
from quietswap.storage.keys import DatabaseKeys
from quietswap.storage.leader import FileLead
from quietswap.storage.orders import DatabaseOrders
from quietswap.storage.quotes import DatabaseQuotes
from quietswap.storage.rates import MemoryRates
from quietswap.storage.sqlite import SqliteDatabase
from quietswap.storage.traced import traced

if TYPE_CHECKING:
    from quietswap.storage.redis_rates import RedisRates

_SQLITE = "sqlite:///"
_POSTGRES = ("postgresql://", "postgres://")
_REDIS = ("redis://", "rediss://", "valkey://", "unix://")
_WORDS = {
    "sslmode": {"disable", "allow", "prefer", "require", "verify-ca", "verify-full"},
    "target_session_attrs": {
        "any", "primary", "standby", "prefer-standby", "read-write", "read-only",
    },
}  # fmt: skip
"""https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS"""
_LAST_PORT = 65_535
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[^:\[\]]*)(?::\d{1,5})?")

_WRITES_NOTHING = "UPDATE orders SET version = version WHERE 1 = 0"
"""Refused by a standby, a read-only database and a role without rights, as real writes are."""
PATIENCE_S = 3.0
"""How long a call waits for the database before it gives up with StoreDown."""
CONNECTIONS = 8
"""PostgreSQL connections of one process, besides the one that holds the tracker's lead."""
_STRANGERS = 50_000
"""Client addresses whose wrong keys are counted in memory, some 200 bytes each."""
WAITING = 1000
"""Calls that may be under way or queued: beyond, they fail at once instead of filling memory."""


class BadDatabaseUrl(ValueError):
    """The URL names no database we know; the message says which forms there are."""


@dataclass(frozen=True, slots=True)
class Storage:
    """All stores on one database.

    `rates` count keys; `guesses` count client addresses, apart, so that a flood of those cannot
    push a key's window out of memory. `leadership` is for the tracker, `alone` for a process that
    counts in memory.
    """

    database: Database
    keys: DatabaseKeys
    quotes: DatabaseQuotes
    orders: DatabaseOrders
    rates: RateStore
    guesses: RateStore
    shared_rates: "RedisRates | None"
    leadership: Leadership
    alone: Leadership

    async def ping(self) -> None:
        """Return when the database, and Redis where there is one, take writes. Raises StoreDown."""
        await self.database.change(_WRITES_NOTHING, durable=False)
        if self.shared_rates:
            await self.shared_rates.ping()

    async def close(self) -> None:
        """Finish what was accepted, then give up the locks: whoever takes them finds it written."""
        try:
            if self.shared_rates:
                await self.shared_rates.close()
            await self.database.close()
        finally:
            await self.leadership.release()
            await self.alone.release()


def is_embedded(url: str, name: str = "storage.url") -> bool:
    """Return whether `url` is a SQLite file. Raises BadDatabaseUrl for one that is neither.

    `name` is how whoever gave the URL knows it.
    """
    if url.startswith(_SQLITE) and len(url) > len(_SQLITE):
        if "?" in url or "\0" in url:
            raise BadDatabaseUrl(f"{name}: a SQLite URL is a path and takes no ?options")
        return True
    if url.startswith(_POSTGRES):
        _check_hosts(url, name)
        _check_words(url, name)
        return False
    raise BadDatabaseUrl(
        f"{name}: a database URL is sqlite:///path/to/file, sqlite:////absolute/path, "
        "sqlite:///:memory: or postgresql://user:password@host/name"
    )


def check_redis_url(url: str | None) -> None:
    """Raise BadDatabaseUrl unless `url` is one of a Redis or Valkey, or None."""
    if url is None:
        return
    if not url.startswith(_REDIS):
        raise BadDatabaseUrl("storage.redis_url: it is redis://, rediss://, valkey:// or unix://")
    if not url.startswith("unix://"):
        _check_hosts(url, "storage.redis_url")
    from quietswap.storage.redis_rates import RedisRates

    path = urlsplit(url).path.strip("/")
    try:
        if path.isdecimal() or not path or url.startswith("unix://"):
            RedisRates.open(url).check()
            return
    except (ValueError, TypeError, AttributeError):
        pass  # its words may quote the password
    raise BadDatabaseUrl(
        "storage.redis_url: the database is a number, as in /0, and each ?option one of redis-py's"
    )


def _check_hosts(url: str, name: str) -> None:
    """Refuse what the drivers would, in words that do not repeat the password they stumble over."""
    try:
        hosts = urlsplit(url).netloc.rpartition("@")[2].split(",")
    except ValueError:
        hosts = [":"]
    if not all(_HOST.fullmatch(host) and _port(host) <= _LAST_PORT for host in hosts):
        raise BadDatabaseUrl(
            f"{name}: its host and port cannot be read; write special characters of a password as "
            "%2F and the like"
        )


def _port(host: str) -> int:
    _, colon, port = host.rpartition("]")[2].partition(":")
    return int(port) if colon else 0


def _check_words(url: str, name: str) -> None:
    if "\0" in unquote(url):
        raise BadDatabaseUrl(f"{name}: %00 cannot stand in it")
    for word, values in parse_qs(urlsplit(url).query).items():
        if word in _WORDS and not _WORDS[word].issuperset(values):
            raise BadDatabaseUrl(f"{name}: {word} is one of {', '.join(sorted(_WORDS[word]))}")


async def open_storage(
    url: str,
    *,
    clock: Clock,
    rates_url: str | None = None,
    connections: int = CONNECTIONS,
    patience_s: float = PATIENCE_S,
    alone: bool = False,
) -> Storage:
    """Open all stores on `url`; rate windows in memory, or in the Redis or Valkey at `rates_url`.

    Where a process serves `alone`, what was read of orders is kept in memory while it holds both
    locks: then nobody else writes them.

    A SQLite schema is migrated on the way, a PostgreSQL one is by `migrate_storage` alone. Raises
    BadDatabaseUrl, StoreDown, and SchemaTooOld or SchemaTooNew of quietswap.storage.migrate.
    """
    database = await open_database(url, connections=connections, patience_s=patience_s)
    try:
        if is_embedded(url):
            await migrate.migrate(database)
        await migrate.check(database)
        shared_rates = _shared_rates(rates_url) if rates_url else None
    except BaseException:
        await database.close()
        raise
    stored = traced(database)
    leadership, only = _locks(url, database)

    def term() -> tuple[int, int] | None:
        following, serving = leadership.term, only.term
        return None if following is None or serving is None else (following, serving)

    return Storage(
        database=database,
        keys=DatabaseKeys(stored),
        quotes=DatabaseQuotes(stored),
        orders=KeptOrders(stored, clock, term) if alone else DatabaseOrders(stored),
        rates=shared_rates or MemoryRates(clock),
        guesses=shared_rates or MemoryRates(clock, _STRANGERS),
        shared_rates=shared_rates,
        leadership=leadership,
        alone=only,
    )


async def migrate_storage(url: str) -> list[str]:
    """Bring the schema at `url` to this release's and return the names of the steps taken.

    Raises BadDatabaseUrl, StoreDown and SchemaTooNew.
    """
    database = await open_database(url, connections=1)
    try:
        return await migrate.migrate(database)
    finally:
        await database.close()


async def open_database(
    url: str, *, connections: int = CONNECTIONS, patience_s: float = PATIENCE_S
) -> Database:
    """Open the database at `url`, whatever its schema. Raises BadDatabaseUrl and StoreDown."""
    if is_embedded(url):
        path = url.removeprefix(_SQLITE)
        return await SqliteDatabase.open(path, patience_s=patience_s, waiting=WAITING)
    from quietswap.storage.postgres import PostgresDatabase

    try:
        return await PostgresDatabase.open(
            url, connections=connections, patience_s=patience_s, waiting=WAITING
        )
    except ValueError as error:
        raise BadDatabaseUrl("storage.url: the PostgreSQL URL cannot be read") from error


def _shared_rates(url: str) -> "RedisRates":
    from quietswap.storage.redis_rates import RedisRates

    return RedisRates.open(url)


def _locks(url: str, database: Database) -> tuple[Leadership, Leadership]:
    """Return the tracker's lock and the one of who serves alone; neither is asked for yet."""
    if isinstance(database, SqliteDatabase):
        return FileLead(database.path), FileLead(database.path, "server")
    from quietswap.storage.postgres_leader import SERVER, AdvisoryLead

    return AdvisoryLead(url), AdvisoryLead(url, SERVER)
