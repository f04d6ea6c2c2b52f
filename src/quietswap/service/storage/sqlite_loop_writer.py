"""SQLite writes on the event loop: those that need not wait for the disk, while they are short.

The write of a quote takes less time than its handover to the writer thread and back. What cannot
be written here within the limits of this module is undone and left to that thread, which can
wait.
"""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.storage.database import Body, T
from quietswap.service.storage.loop_time import LoopTime, is_for_a_thread
from quietswap.service.storage.sqlite_connection import connect, translated
from quietswap.service.storage.sqlite_transaction import SqliteTransaction

CHECKPOINT_EVERY = 100
"""Of so many writes one is left to the thread, which moves a long WAL into the file and waits for
the disk (https://www.sqlite.org/wal.html#ckpt). The thread does so after orders, too. The write
after a checkpoint begins the WAL anew and waits for the disk once, also on the loop."""
_LOOP_WRITER_CACHE_KIB = 1024


class NotOnLoop(Exception):
    """The transaction is undone: the writer thread must run it."""


class SqliteLoopWriter:
    """Writes to `path`. Only `__init__` waits for a lock, at most `lock_wait_ms`.

    `monotonic` is a clock in seconds.
    """

    def __init__(
        self, path: Path, *, lock_wait_ms: int, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._connection = connect(path, lock_wait_ms, _LOOP_WRITER_CACHE_KIB)
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute("PRAGMA wal_autocheckpoint = 0")
        self._connection.execute("PRAGMA busy_timeout = 0")
        self._transaction = SqliteTransaction(self._connection)
        self._time = LoopTime(self._connection, monotonic)
        self._written = 0

    def run(self, body: Body[T]) -> T:
        """Run `body` in one transaction. Raises NotOnLoop and StoreUnavailable.

        A power failure may undo it. An exception of the body rolls back and is raised unchanged.
        """
        self._written += 1
        if self._written % CHECKPOINT_EVERY == 0 or not self._time.begin():
            raise NotOnLoop
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            result = self._transaction.run(body)
        except sqlite3.Error as error:
            self._undo()
            if is_for_a_thread(error):
                raise NotOnLoop from error
            raise _known(error) from error
        except BaseException:
            self._undo()
            raise
        self._commit()
        self._time.end()
        return result

    def _commit(self) -> None:
        """Commit. What fails here is never repeated: it may have been written."""
        self._time.lift_limit()
        try:
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._undo()
            raise _known(error) from error

    def _undo(self) -> None:
        self._time.lift_limit()
        # An error of the disk may have ended the transaction.
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        self._connection.close()


def _known(error: sqlite3.Error) -> Exception:
    domain_error = translated(error)
    if isinstance(domain_error, StoreUnavailable):
        return StoreUnavailable(f"SQLite did not commit: {error}")
    return domain_error
