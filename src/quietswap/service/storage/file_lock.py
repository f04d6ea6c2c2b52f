"""File locks of a SQLite database: one process tracks its orders, one process serves from it."""

import fcntl
import os
from pathlib import Path


class FileLeaderLock:
    """A lock on `<file>.<purpose>`. The system releases it when the process ends.

    flock belongs to the open file, not to the process (https://man7.org/linux/man-pages/man2/
    flock.2.html), so that two instances in one process exclude each other too. A `shared` lock
    excludes only those that are not.
    """

    def __init__(
        self, database_file: Path, purpose: str = "tracker", *, shared: bool = False
    ) -> None:
        self._path = database_file.with_name(f"{database_file.name}.{purpose}")
        self._mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        self._file: int | None = None
        self.is_elsewhere = False

    @property
    def is_held(self) -> bool:
        return self._file is not None

    async def acquire_or_renew(self) -> bool:
        if self._file is not None and not self._is_in_place(self._file):
            await self.release()
        if self._file is None:
            self._file = self._lock()
        return self._file is not None

    async def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _is_in_place(self, file: int) -> bool:
        """Whether the path still names the locked file, which may have been deleted."""
        try:
            return os.path.samestat(os.fstat(file), self._path.stat())
        except OSError:
            return False

    def _lock(self) -> int | None:
        self.is_elsewhere = False
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return None
        try:
            fcntl.flock(file, self._mode | fcntl.LOCK_NB)
        except OSError as error:
            self.is_elsewhere = isinstance(error, BlockingIOError)
            os.close(file)
            return None
        return file
