"""Leader locks on PostgreSQL: advisory locks, each held by a separate connection.

The server releases the lock when the connection ends: at once if the process ends, after the
keepalive times below if its host is lost. They do not work through a pooler in transaction
mode. https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS.
"""

import asyncio
from typing import Any

import asyncpg  # type: ignore[import-untyped]

from quietswap.service.storage.postgres import AWAY, TRY_LOCK, Session, session_settings

TRACKER = 0x7175_6965_7474
"""Number of the tracker's lock, per database: `quiett` in ASCII."""
SERVER = 0x7175_6965_7475
"""Number of the lock of the processes that serve."""

HOLDERS = """
SELECT count(*) FROM pg_locks
WHERE locktype = 'advisory' AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (CAST(classid AS bigint) << 32 | CAST(objid AS bigint)) = ?
"""
"""How many sessions hold the advisory lock of a number."""
_TRY_SHARED = "SELECT pg_try_advisory_lock_shared($1)"
_LOST_HOST = {
    "tcp_keepalives_idle": "2",
    "tcp_keepalives_interval": "1",
    "tcp_keepalives_count": "2",
    "tcp_user_timeout": "4000",
}
"""The server detects the loss of our host within 4 s, so that another one can take over in 5 s."""


class AdvisoryLeaderLock:
    """Implements `LeaderLock`. `patience_s` limits every call in seconds.

    A `shared` lock excludes only those that are not.
    """

    def __init__(
        self, url: str, lock: int = TRACKER, *, patience_s: float, shared: bool = False
    ) -> None:
        self._url = url
        self._lock = lock
        self._take = _TRY_SHARED if shared else TRY_LOCK
        self._patience_s = patience_s
        self._connection: Any = None
        self._is_held = False
        self.is_elsewhere = False
        self._one_at_a_time = asyncio.Lock()

    @property
    def is_held(self) -> bool:
        return self._is_held and not self._connection.is_closed()

    async def acquire_or_renew(self) -> bool:
        async with self._one_at_a_time:
            self.is_elsewhere = False
            try:
                async with asyncio.timeout(self._patience_s):
                    self._is_held = await self._ask()
                self.is_elsewhere = not self._is_held
            except (*AWAY, asyncpg.PostgresError, asyncpg.InterfaceError):
                self._drop()
            except BaseException:
                self._drop()  # the call was interrupted, so its result is unknown
                raise
            return self._is_held

    async def release(self) -> None:
        async with self._one_at_a_time:
            connection = self._connection
            if connection is not None and not connection.is_closed():
                self._is_held = False
                try:
                    await connection.close(timeout=self._patience_s)
                except (*AWAY, asyncpg.PostgresError, asyncpg.InterfaceError):
                    connection.terminate()
            self._drop()

    async def _ask(self) -> bool:
        if self._connection is None or self._connection.is_closed():
            self._drop()
            self._connection = await self._connect()
        if self.is_held:
            # The lock lasts as long as the session, so a response of the session proves it.
            await self._connection.fetchval("SELECT 1")
            is_ours = True
        else:
            is_ours = await self._taken_by(self._connection)
        if self._connection.is_demoted:
            return await self._move()
        return is_ours

    async def _move(self) -> bool:
        """Take the lock at the new primary, which has locks of its own; keep the old until then."""
        successor = await self._connect()
        try:
            is_ours = await self._taken_by(successor)
        except BaseException:
            successor.terminate()
            raise
        self._connection.terminate()
        self._connection = successor
        return is_ours

    async def _taken_by(self, connection: Any) -> bool:
        return bool(await connection.fetchval(self._take, self._lock))

    async def _connect(self) -> Any:
        return await asyncpg.connect(
            self._url,
            timeout=self._patience_s,
            connection_class=Session,
            server_settings={**session_settings(self._patience_s), **_LOST_HOST},
        )

    def _drop(self) -> None:
        self._is_held = False
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None
