"""The audit log: one JSON line per action of an operator, in a separate file.

Each line is appended by one write and is on disk, or in a pipe that has a reader, before the action
is reported. An account that can write the file can also change it: copy the log to another host if
that matters.
"""

import contextlib
import errno
import fcntl
import json
import os
import pwd
import socket
import stat
from datetime import UTC, datetime
from pathlib import Path

from quietswap.rules.operator.operators import AuditUnavailable

_ROOM = 1 << 16
"""Bytes that must be free before an action, many times a record."""


class AuditFile:
    """Appends records, one JSON line each. Without a file it does nothing.

    Both methods raise AuditUnavailable.
    """

    def __init__(self, file: str | None) -> None:
        self._file = file

    def check(self) -> None:
        """Check that a record can be written now."""
        if self._file is None:
            return
        handle = self._open(self._file)
        try:
            if not has_room(self._file):
                raise self._unavailable(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        finally:
            os.close(handle)

    def write(self, event: str, **details: object) -> None:
        """Append one record with time, event, account, host and `details`.

        Details are names and ids, never secrets.
        """
        if self._file is None:
            return
        line = json.dumps(
            {
                "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "event": event,
                **actor(),
                **details,
            }
        )
        handle = self._open(self._file)
        try:
            _append(handle, line.encode() + b"\n")
            _sync(handle)
        except OSError as error:
            raise self._unavailable(error) from error
        finally:
            os.close(handle)

    def _open(self, file: str) -> int:
        flags = os.O_APPEND | os.O_CREAT
        try:
            if os.path.exists(file) and stat.S_ISFIFO(os.stat(file).st_mode):  # noqa: PTH110, PTH116
                # a pipe without a reader fails at once, and so does one that is full
                return os.open(file, os.O_WRONLY | os.O_NONBLOCK)
            with contextlib.suppress(PermissionError):
                return os.open(file, os.O_RDWR | flags, 0o600)
            return os.open(file, os.O_WRONLY | flags, 0o600)  # it may be appended to, not read
        except OSError as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: OSError) -> AuditUnavailable:
        return AuditUnavailable(f"observe.audit_file: {self._file}: {error.strerror or error}")


def has_room(path: Path | str) -> bool:
    """Return whether the file system of a file or folder has space for some records.

    A pipe or a device, such as /dev/stdout, has no file system to ask. Some file systems do not
    know their size.
    """
    if not (os.path.isfile(path) or os.path.isdir(path)):  # noqa: PTH112, PTH113  a str, too
        return True
    file_system = os.statvfs(path)
    return file_system.f_blocks == 0 or file_system.f_bavail * file_system.f_frsize >= _ROOM


def _append(handle: int, line: bytes) -> None:
    """Write a whole line. One that a full disk cut off before stays a line of its own.

    That cannot be seen in a file that this account may write, but not read.
    """
    if _ends_within_line(handle):
        line = b"\n" + line
    while line:
        line = line[os.write(handle, line) :]


def _ends_within_line(handle: int) -> bool:
    size = os.fstat(handle).st_size
    is_readable = fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDWR
    return size > 0 and is_readable and os.pread(handle, 1, size - 1) != b"\n"


def _sync(handle: int) -> None:
    """Wait for the disk; a pipe or a device has none (fsync(2): EINVAL)."""
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def actor() -> dict[str, object]:
    """Return the account of the process's user id, independent of $USER, and the sudo user."""
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = str(os.getuid())
    account: dict[str, object] = {"user": user, "host": socket.gethostname(), "pid": os.getpid()}
    if sudo := os.environ.get("SUDO_USER"):
        account["sudoUser"] = sudo
    return account
