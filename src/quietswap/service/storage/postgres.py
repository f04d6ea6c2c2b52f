"""PostgreSQL through a pool of asyncpg connections.

Every call ends within `patience_s`, including the wait for a connection. A connection with an
interrupted call is closed and not reused.

After a failover the former primary may live on as a read-only server that no longer gets the
writes. What such a session reads is discarded, all connections of the pool are replaced, and
`target_session_attrs` of the URL finds the new primary.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg  # type: ignore[import-untyped]

from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.storage.database import Body, LockTimeout, Row, T, Value, numbered

_CLOSE_WITHIN_S = 5.0
_LOCK_EVERY_S = 0.5
_TOO_MANY = "too many calls are waiting for PostgreSQL"

_CUT = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InternalClientError,  # the server ended the session between two messages of one call
)
AWAY = (
    *_CUT,
    asyncpg.TargetServerAttributeNotMatched,  # no primary among the hosts of the URL
    asyncpg.OperatorInterventionError,  # shutting down, starting up, statement_timeout
    asyncpg.InsufficientResourcesError,  # disk full, too many connections
    asyncpg.TransactionRollbackError,  # deadlock, serialisation
    asyncpg.ReadOnlySQLTransactionError,  # a standby
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.LockNotAvailableError,
    asyncpg.PostgresSystemError,  # its disk cannot be read or written
    asyncpg.InternalServerError,  # its files are damaged
    asyncpg.InsufficientPrivilegeError,  # the rights of our role were revoked
    asyncpg.InvalidSchemaNameError,  # the schema of our tables was dropped
)
"""The database is unavailable or overloaded. Other errors are faults of our SQL."""
_WRONG_SERVER = (asyncpg.ReadOnlySQLTransactionError, asyncpg.TargetServerAttributeNotMatched)
"""The server takes no writes, so that another one may be the primary by now."""
TRY_LOCK = "SELECT pg_try_advisory_lock($1)"

_IN_WORDS = {
    "28P01": "user or password is wrong",
    "28000": "this user may not log in from here",
    "3D000": "there is no such database",
    "55000": "the database takes no connections",
    "42501": "the user lacks rights",
    "25006": "it is read-only",
}
"""Errors that an operator can fix, by SQLSTATE (https://www.postgresql.org/docs/current/
errcodes-appendix.html). The text of the server is not shown, because it may contain values."""


_NO_LIMITS = """
SET LOCAL statement_timeout = 0;
SET LOCAL idle_in_transaction_session_timeout = 0
"""


async def _keep(_connection: object) -> None:
    """Do not reset the session: our statements do not change it, and a reset is a round trip."""


def session_settings(patience_s: float) -> dict[str, str]:
    """Return the settings of a session. PostgreSQL ends a statement after `patience_s` seconds."""
    limit = str(int(patience_s * 1000))
    return {
        "application_name": "quietswap",
        "timezone": "UTC",
        "random_page_cost": "1.1",  # random reads are cheap on SSD and in memory
        "jit": "off",  # compilation of short statements costs more than it saves
        "statement_timeout": limit,
        "idle_in_transaction_session_timeout": limit,  # a lost host must not keep its locks
    }


class Session(asyncpg.Connection):  # type: ignore[misc]
    """A session that notices when its server becomes read-only.

    PostgreSQL from version 14 reports both settings with the first answer after their change
    (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-ASYNC).
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._was_read_only = self._is_read_only()

    def _is_read_only(self) -> bool:
        reported = self.get_settings()
        names = ("in_hot_standby", "default_transaction_read_only")
        return any(getattr(reported, name, "off") == "on" for name in names)

    @property
    def is_demoted(self) -> bool:
        """Whether its server took writes at the login and takes none now.

        A server that is read-only at the login is the one that the URL names: its reads are right.
        """
        return self._is_read_only() and not self._was_read_only


class _Demoted(StoreUnavailable):
    """The server is no longer the primary, and this call changed nothing there."""


class PostgresDatabase:
    """A database of any number of processes and hosts. Implements Database."""

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
        """Create a pool of at most `connections`, which connect at first use.

        `patience_s` limits every call in seconds, `waiting` the number of calls in flight and in
        the queue. Raises ValueError for an invalid URL.
        """
        pool = await asyncpg.create_pool(
            url,
            min_size=0,
            max_size=connections,
            reset=_keep,
            connection_class=Session,
            timeout=patience_s,
            server_settings=session_settings(patience_s),
        )
        return cls(pool, patience_s, waiting)

    async def fetch(self, sql: str, *args: Value) -> Sequence[Row]:
        async def read(connection: Any) -> Sequence[Row]:
            rows = await connection.fetch(numbered(sql), *args)
            if _is_demoted(connection):
                raise _Demoted("PostgreSQL: the server is no longer the primary")
            return rows  # type: ignore[no-any-return]

        return await self._call(read)

    scan = fetch

    async def change(self, sql: str, *args: Value, durable: bool = True) -> Sequence[Row]:
        # The server's configuration decides about durability.
        async def write(connection: Any) -> Sequence[Row]:
            return await connection.fetch(numbered(sql), *args)  # type: ignore[no-any-return]

        return await self._call(write)

    async def transact(self, body: Body[T], *, bounded: bool = True, durable: bool = True) -> T:
        async def transaction(connection: Any) -> T:
            async with connection.transaction():
                if not bounded:
                    await connection.execute(_NO_LIMITS)
                return await body(_Inside(connection))

        return await self._call(transaction, bounded)

    async def has_table(self, name: str) -> bool:
        rows = await self.fetch("SELECT to_regclass(CAST(? AS text)) IS NOT NULL", name)
        return bool(rows[0][0])

    async def alone(self, lock: int, body: Body[T]) -> T:
        async def run(connection: Any) -> T:
            try:
                await connection.execute("SET statement_timeout = 0")
                # A statement that waits for the lock would have a snapshot, for which the building
                # of an index by the lock's holder waits.
                while not await connection.fetchval(TRY_LOCK, lock):  # noqa: ASYNC110
                    await asyncio.sleep(_LOCK_EVERY_S)
                return await body(_Inside(connection))
            finally:
                connection.terminate()  # its setting and its lock end with it

        return await self._call(run, bounded=False)

    async def close(self) -> None:
        try:
            async with asyncio.timeout(_CLOSE_WITHIN_S):
                await self._pool.close()
        except AWAY:
            self._pool.terminate()

    async def _call(self, work: Callable[[Any], Awaitable[T]], bounded: bool = True) -> T:
        """Run `work` on a connection; if its server was demoted, once more on a new connection."""
        if self._users >= self._limit:
            raise StoreUnavailable(_TOO_MANY)
        self._users += 1
        try:
            async with asyncio.timeout(self._patience_s if bounded else None):
                try:
                    return await self._attempt(work)
                except _Demoted:
                    return await self._attempt(work)
        except TimeoutError as error:
            await self._pool.expire_connections()
            raise StoreUnavailable(_told(error)) from error
        finally:
            self._users -= 1

    async def _attempt(self, work: Callable[[Any], Awaitable[T]]) -> T:
        try:
            async with self._pooled() as connection:
                done = await work(connection)
                was_demoted = _is_demoted(connection)
        except (_Demoted, *AWAY) as error:
            if isinstance(error, (_Demoted, *_WRONG_SERVER, *_CUT)):
                # Replace the other connections at their next use. A failover then fails one call
                # instead of one call per connection.
                await self._pool.expire_connections()
            if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
                raise _Demoted(_told(error)) from error
            if isinstance(error, (_Demoted, TimeoutError)):
                raise
            if isinstance(error, asyncpg.LockNotAvailableError):
                raise LockTimeout(_told(error)) from error
            raise StoreUnavailable(_told(error)) from error
        except asyncpg.InterfaceError as error:
            if not self._pool.is_closing():
                raise
            raise StoreUnavailable("the database is closed") from error
        if was_demoted:  # the write was committed there, and the new primary may lack it
            await self._pool.expire_connections()
            raise StoreUnavailable("PostgreSQL: the server was demoted during a write")
        return done

    async def _login(self) -> Any:
        """Return a connection. Every login error is an outage."""
        try:
            return await self._pool.acquire()
        except AWAY:
            raise
        except (asyncpg.PostgresError, asyncpg.InterfaceError, ValueError) as error:
            if self._pool.is_closing():
                raise
            raise StoreUnavailable(_told(error)) from error

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
        except Exception:  # of the body, which rolled its transaction back
            clean = not _is_gone(connection) and not connection.is_in_transaction()
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


def _is_demoted(connection: Any) -> bool:
    # The pool may already have released a connection that broke after its answer.
    return bool(getattr(connection, "is_demoted", False))


def _is_gone(connection: Any) -> bool:
    try:
        return bool(connection.is_closed())
    except asyncpg.InterfaceError:  # the pool already released a broken connection
        return True


class _Inside:
    dialect = "postgresql"

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def fetch(self, sql: str, *args: Value) -> Sequence[Row]:
        rows: Sequence[Row] = await self._connection.fetch(numbered(sql), *args)
        return rows
