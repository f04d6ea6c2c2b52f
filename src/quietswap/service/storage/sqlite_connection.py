"""Connections to a SQLite file, and what their errors mean."""

import sqlite3
from pathlib import Path

from quietswap.rules.orders.stores import StoreUnavailable

_LOGIC = {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH}
"""Primary result codes of faults in our SQL (https://www.sqlite.org/rescode.html)."""


_CACHE_KIB = 4 * 1024


def connect(path: Path, busy_ms: int, cache_kib: int = _CACHE_KIB) -> sqlite3.Connection:
    """Return a connection without transactions of its own; it waits `busy_ms` for a lock.

    It keeps pages of `cache_kib` KiB. The system's cache holds the file once for all connections.
    """
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {busy_ms}")
    connection.execute(f"PRAGMA cache_size = -{cache_kib}")  # negative: KiB, not pages
    return connection


def is_locked(error: sqlite3.Error) -> bool:
    """Return whether another connection has a lock that the statement needs."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def translated(error: sqlite3.Error) -> Exception:
    """Return StoreUnavailable for an error of file or disk; return a fault of our SQL unchanged."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None or code & 0xFF in _LOGIC:
        return error
    return StoreUnavailable(f"SQLite: {error}")
