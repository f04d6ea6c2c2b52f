"""Bounds of connections: request heads in bytes and time, and the number that one address holds.

granian accepts connections up to a number of all clients together (its option `backpressure`); then
nobody is accepted until one ends. A connection without a complete request ends after ten seconds,
so one address that renews them would keep the service from everybody. granian has no limit by
address and hands no connection out, but its sockets are file descriptors of this process. So this
process looks at them, and shuts down those that are too many and have no request.
"""

import os
import resource
import socket
import stat
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from granian.http import HTTP1Settings

from quietswap.service import observe
from quietswap.service.api.parsing.headers import Network, address_block, is_trusted
from quietswap.service.base.clock import Clock

_MOST_HEAD_BYTES = 128 * 1024
"""Buffer size of a request head. granian rejects larger heads without the error envelope.

granian compares the size before each read, so one more read may pass: request heads above 256 KiB
are always rejected."""

_HEAD_WITHIN_MS = 10_000
"""Time limit for a complete request head, and for an idle connection."""
HEAD_BOUNDS = HTTP1Settings(max_buffer_size=_MOST_HEAD_BYTES, header_read_timeout=_HEAD_WITHIN_MS)
LOOK_EVERY_S = 1.0
PATIENCE_S = 2.0
"""So long a new connection of an address with too many has for TLS and its first request."""
_MOST = 16_384
_LEAST = 256
_OWN_FILES = 1024
"""File descriptors that are left to connections to vendors, the node and the database."""
_MOST_FILES = 1 << 16
_CROWDED = 0.9
"""Above this part of all connections, those without a request go, whatever their address."""
_FILES = "/proc/self/fd"
"""Of Linux. Elsewhere nothing is bounded."""

Peer = tuple[str, int]
"""Address and port of a client."""


def raise_file_limit() -> None:
    """Raise the limit of open files of this process, and of those that it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


_FEWEST_FILES = 512
"""Fewer do not serve one busy client: a request takes a connection of its own and some of ours."""


def too_few_files() -> str | None:
    """Return why the hard limit of open files does not do; None if it does."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard >= _FEWEST_FILES:
        return None
    return (
        f"the process may open {hard} files (hard limit nofile), and needs at least"
        f" {_FEWEST_FILES}: raise it with ulimit -Hn, LimitNOFILE= of systemd or the container's"
    )


def most_connections() -> int:
    """Return the connections that one process accepts, so that files are left for its own ones."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return _MOST
    return min(max(soft - _OWN_FILES, _LEAST), _MOST)


@dataclass(eq=False, slots=True)
class _Connection:
    """A connection to this server; `inode` is the identity of its socket."""

    inode: int
    peer: Peer
    since: float
    """When it was first seen."""


class ConnectionLimits:
    """Closes connections without a request: those of an address above `of_address`, and others
    while there are nearly `total`.

    First go those that never had a request, in the order of their age, then the idle ones. A new
    one has time for its request (`PATIENCE_S`), unless all together are too many. Trusted proxies
    may have as many as they need. `port` is the one that the process listens on.
    """

    def __init__(
        self,
        port: int,
        clock: Clock,
        *,
        of_address: int,
        total: int,
        trusted: Collection[Network],
    ) -> None:
        self._port = port
        self._clock = clock
        self._of_address = of_address
        self._total = total
        self._trusted = trusted
        self._address = lru_cache(maxsize=4096)(self._address_of)
        self._busy: set[Peer] = set()
        self._served: set[Peer] = set()
        self._known: dict[int, _Connection | None] = {}
        """Sockets of the last look by inode; None is no connection, or one that was shut down."""

    def begin(self, client: tuple[str, int] | None) -> Peer:
        """Note a request; its connection stays open until `end`. A connection has one at a time."""
        peer = (self._address(client[0]), client[1]) if client else ("", 0)
        self._busy.add(peer)
        return peer

    def end(self, peer: Peer) -> None:
        """Note the end of a request."""
        self._busy.discard(peer)
        self._served.add(peer)

    async def keep(self) -> None:
        """Look at the connections again and again."""
        while True:
            await self._clock.sleep(LOOK_EVERY_S)
            try:
                self.look()
            except Exception as fault:  # noqa: BLE001  logged; the next look begins anew
                observe.background_task_failed("connections", fault)

    def look(self) -> None:
        """Close what is too much."""
        files = os.listdir(_FILES) if os.path.isdir(_FILES) else []  # noqa: PTH112, PTH208  quicker
        if len(files) <= self._of_address:  # so no address has more
            self._known.clear()
            self._served.clear()
            return
        now = self._clock.monotonic()
        by_inode, file_of = dict[int, _Connection | None](), dict[_Connection, int]()
        for file in map(int, files):
            inode = _inode(file)
            if inode is None:
                continue
            connection = by_inode[inode] = (
                self._known[inode] if inode in self._known else self._read(file, inode, now)
            )
            if connection is not None:
                file_of[connection] = file
        self._known = by_inode
        self._served &= {connection.peer for connection in file_of}
        self._close(self._too_many(list(file_of), now), file_of)

    def _too_many(self, held: list[_Connection], now: float) -> list[_Connection]:
        """Return the connections to close."""
        of_address = Counter(one.peer[0] for one in held)
        surplus = len(held) - int(self._total * _CROWDED)
        if surplus <= 0 and max(of_address.values(), default=0) <= self._of_address:
            return []
        idle = [one for one in held if one.peer not in self._busy]
        idle.sort(key=lambda one: (one.peer in self._served, one.since))
        chosen: list[_Connection] = []
        for one in idle:
            address = one.peer[0]
            may_stay = now - one.since < PATIENCE_S or is_trusted(address, self._trusted)
            is_over = of_address[address] > self._of_address and not may_stay
            if is_over or len(chosen) < surplus:
                chosen.append(one)
                of_address[address] -= 1
        return chosen

    def _close(self, chosen: list[_Connection], files: dict[_Connection, int]) -> None:
        for one in chosen:
            self._known[one.inode] = None
            _shut_down(files[one], one.inode)
        if chosen:
            observe.connections_closed(len(chosen))

    def _address_of(self, text: str) -> str:
        """Return the address that counts, a whole one for a trusted proxy."""
        return text if is_trusted(text, self._trusted) else address_block(text)

    def _read(self, file: int, inode: int, now: float) -> _Connection | None:
        """Return the connection of a socket; None if it is none to this server."""
        try:
            sock = socket.socket(fileno=file)
        except OSError:  # closed by now
            return None
        try:
            if sock.family not in (socket.AF_INET, socket.AF_INET6):
                return None
            if sock.getsockname()[1] != self._port:
                return None
            address, port, *_ = sock.getpeername()
            return _Connection(inode, (self._address(address), port), now)
        except OSError:  # it listens, or ended by now
            return None
        finally:
            sock.detach()


def _inode(file: int) -> int | None:
    """Return the inode of a file if it is a socket."""
    try:
        status = os.fstat(file)
    except OSError:  # closed by now
        return None
    return status.st_ino if stat.S_ISSOCK(status.st_mode) else None


def _shut_down(file: int, inode: int) -> None:
    """Shut down a connection, unless the file is another one by now.

    The server's threads may close the file at any moment, and reuse its number for a request to a
    relay. A duplicate stays what it is, so its inode is compared, and it is shut down.
    """
    try:
        copy = os.dup(file)
    except OSError:
        return
    try:
        if _inode(copy) == inode:
            sock = socket.socket(fileno=copy)
            try:
                sock.shutdown(socket.SHUT_RDWR)
            finally:
                sock.detach()
    except OSError:  # it ended by itself
        pass
    finally:
        os.close(copy)
