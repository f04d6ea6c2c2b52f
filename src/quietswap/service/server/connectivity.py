"""Readiness check: whether TCP connections to the hosts of sources can be opened.

No request is sent, so the check uses no vendor's request budget. It proves a connection only: a
host can still return invalid responses, which only real requests show.
"""

import asyncio
import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from quietswap.service.base.clock import Clock

TcpAddress = tuple[str, int]
"""Host and port."""

_WITHIN_S = 1.0
_CACHED_S = 2.0
"""A result is reused for this time, so frequent readiness requests open one connection per host."""


def address_of(url: str) -> TcpAddress:
    """Return host and port of an http(s) URL. Raises ValueError for a URL without a host."""
    parts = urlsplit(url)
    if not parts.hostname:
        raise ValueError("a URL without a host")
    return parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


class ConnectivityProbe:
    """Checks `addresses` concurrently, in its own threads, because name resolution can block."""

    def __init__(self, addresses: Iterable[TcpAddress], clock: Clock) -> None:
        self._addresses = frozenset(addresses)
        self._clock = clock
        self._threads = ThreadPoolExecutor(max(1, len(self._addresses)), "reach")
        self._in_flight: dict[TcpAddress, asyncio.Future[bool]] = {}
        self._lock = asyncio.Lock()
        self._checked_at: float | None = None
        self._unreachable: frozenset[TcpAddress] = frozenset()

    async def unreachable(self) -> frozenset[TcpAddress]:
        """Return the addresses to which no connection could be opened within 1 s."""
        async with self._lock:
            now = self._clock.monotonic()
            if self._checked_at is None or now >= self._checked_at + _CACHED_S:
                self._unreachable = await self._check()
                self._checked_at = self._clock.monotonic()
            return self._unreachable

    async def _check(self) -> frozenset[TcpAddress]:
        loop = asyncio.get_running_loop()
        for address in self._addresses - self._in_flight.keys():
            self._in_flight[address] = loop.run_in_executor(self._threads, _connects, address)
        if not self._in_flight:
            return frozenset()
        done, _ = await asyncio.wait(self._in_flight.values(), timeout=_WITHIN_S)
        reached = {a for a, check in self._in_flight.items() if check in done and check.result()}
        self._in_flight = {a: check for a, check in self._in_flight.items() if check not in done}
        return self._addresses - reached


def _connects(address: TcpAddress) -> bool:
    try:
        socket.create_connection(address, timeout=_WITHIN_S).close()
    except (OSError, ValueError):  # UnicodeError: an invalid host name
        return False
    return True
