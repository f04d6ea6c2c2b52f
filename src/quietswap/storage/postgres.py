"""PostgreSQL through a bounded pool of asyncpg connections.

Every call ends within `patience_s`, waiting for a connection included; a connection that was cut
off in the middle is thrown away and not given to anybody else.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg  # type: ignore[import-untyped]

from quietswap.ports.stores import StoreDown
from quietswap.storage.database import Body, Row, T, Value, numbered

_CLOSE_WITHIN_S = 5.0

_CUT = (OSError, TimeoutError, asyncpg.PostgresConnectionError)
AWAY = (
    *_CUT,
    asyncpg.TargetServerAttributeNotMatched,  # no primary among the hosts of the URL
    asyncpg.OperatorInterventionError,  # shutting down, starting up, statement_timeout
    asyncpg.InsufficientResourcesError,  # disk full, too many connections
    asyncpg.TransactionRollbackError,  # deadlock, serialisation
    asyncpg.ReadOnlySQLTransactionError,  # a standby that is not the primary (yet)
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.LockNotAvailableError,
    asyncpg.PostgresSystemError,  # its disk cannot be read or written
    asyncpg.InternalServerError,  # its files are damaged
    asyncpg.InsufficientPrivilegeError,  # rights of our role were taken
    asyncpg.InvalidSchemaNameError,  # the schema our tables go to is gone
)
"""What says that the database is away or too busy, not that we asked something wrong."""

_IN_WORDS = {
    "28P01": "user or password is wrong",
    "28000": "this user may not log in from here",
    "3D000": "there is no such database",
    "55000": "the database takes no connections",
    "42501": "the user lacks rights",
    "25006": "it is read-only",
}
"""By SQLSTATE: what an operator can mend. https://www.postgresql.org/docs/current/
errcodes-appendix.html. The server's own text is not passed on: it may quote what it was given."""


_NO_LIMITS = """
SET LOCAL statement_timeout = 0;
SET LOCAL idle_in_transaction_session_timeout = 0
"""


async def _keep(_connection: object) -> None:
    """Reset nothing: no statement of ours changes a session, so a reset is a wasted round trip."""


def session_settings(patience_s: float) -> dict[str, str]:
    """Return settings of a session: the server, too, gives up after `patience_s` seconds."""
    limit = str(int(patience_s * 1000))
    return {
        "application_name": "quietswap",
        "timezone": "UTC",
        "random_page_cost": "1.1",  # an index entry is near, on flash and in memory alike
        "jit": "off",  # short statements: compiling them costs more than running them
        "statement_timeout": limit,
        "idle_in_transaction_session_timeout": limit,  # a lost host must not keep its locks
    }


class PostgresDatabase:
    """One database, any number of processes and machines. Implements Database."""

    dialect = "postgresql"

    def __init__(self, pool: Any, patience_s: float, waiting: int) -> None:
        self._pool = pool
        self._patience_s = patience_s
        self._limit = waiting
        self._users = 0

    @classmethod
    async def open(
        cls, url: str, *, connections: int, patience_s: float, waiting: int
    ) -> "PostgresDatabase":
        """Prepare a pool of at most `connections`; none is made before it is needed.

        `patience_s` bounds every call in seconds, `waiting` how many calls may be under way or
        in the queue. Raises ValueError for a URL that cannot be read.
        """
        pool = await asyncpg.create_pool(
            url,
            min_size=0,
            max_size=connections,
            reset=_keep,
            timeout=patience_s,
            server_settings=session_settings(patience_s),
        )
        return cls(pool, patience_s, waiting)

    async def fetch(self, sql: str, *args: Value) -> Sequence[Row]:
        async with self._connection() as connection:
            rows: Sequence[Row] = await connection.fetch(numbered(sql), *args)
            return rows

    scan = fetch

    async def change(self, sql: str, *args: Value, durable: bool = True) -> Sequence[Row]:
        return await self.fetch(sql, *args)  # when to wait for the disk is for the server to say

    async def transact(self, body: Body[T], *, bounded: bool = True, durable: bool = True) -> T:
        async with self._connection(bounded) as connection, connection.transaction():
            if not bounded:
                await connection.execute(_NO_LIMITS)
            return await body(_Inside(connection))

    async def has_table(self, name: str) -> bool:
        rows = await self.fetch("SELECT to_regclass(CAST(? AS text)) IS NOT NULL", name)
        return bool(rows[0][0])

    async def close(self) -> None:
        try:
            async with asyncio.timeout(_CLOSE_WITHIN_S):
                await self._pool.close()
        except AWAY:
            self._pool.terminate()

    @asynccontextmanager
    async def _connection(self, bounded: bool = True) -> AsyncIterator[Any]:
        if self._users >= self._limit:
            raise StoreDown("too many calls are waiting for PostgreSQL")
        self._users += 1
        try:
            patience_s = self._patience_s if bounded else None
            async with asyncio.timeout(patience_s), self._pooled() as connection:
                yield connection
        except AWAY as error:
            if isinstance(error, _CUT):
                # After one connection broke, the idle ones are suspect: each is replaced when next
                # used, so that a failover costs one failed call and not one per connection.
                await self._pool.expire_connections()
            raise StoreDown(_told(error)) from error
        except asyncpg.InterfaceError as error:
            if not self._pool.is_closing():
                raise
            raise StoreDown("the database is closed") from error
        finally:
            self._users -= 1

    async def _login(self) -> Any:
        """Return a connection. Whatever speaks against a login is an outage: we asked nothing."""
        try:
            return await self._pool.acquire()
        except AWAY:
            raise
        except (asyncpg.PostgresError, asyncpg.InterfaceError, ValueError) as error:
            if self._pool.is_closing():
                raise
            raise StoreDown(_told(error)) from error

    @asynccontextmanager
    async def _pooled(self) -> AsyncIterator[Any]:
        connection = await self._login()
        clean = False
        try:
            yield connection
            clean = True
        except asyncpg.PostgresError:
            clean = not _is_gone(connection) and not connection.is_in_transaction()
            raise
        except asyncpg.InterfaceError as error:
            if _is_gone(connection):
                raise ConnectionResetError(str(error)) from error
            raise
        finally:
            if not clean and not _is_gone(connection):
                connection.terminate()
            await self._pool.release(connection)


def _told(error: Exception) -> str:
    words = _IN_WORDS.get(getattr(error, "sqlstate", None) or "")
    if isinstance(error, ValueError):
        words = "the URL cannot be used"
    return f"PostgreSQL: {type(error).__name__}" + (f" ({words})" if words else "")


def _is_gone(connection: Any) -> bool:
    try:
        return bool(connection.is_closed())
    except asyncpg.InterfaceError:  # the pool took a broken connection back by itself
        return True


class _Inside:
    """The Transaction handed to bodies."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def fetch(self, sql: str, *args: Value) -> Sequence[Row]:
        rows: Sequence[Row] = await self._connection.fetch(numbered(sql), *args)
        return rows
