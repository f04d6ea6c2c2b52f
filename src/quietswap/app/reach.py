"""Whether connections to the hosts of relays and sources can be made: what readiness looks at.

No request is sent, so a look costs no vendor's budget. It proves a way there and no more: what lies
behind may still answer nonsense, which only real requests show.
"""

import asyncio
import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from quietswap.ports.outside import Clock

Address = tuple[str, int]
"""Host and port."""

_WITHIN_S = 1.0
_BELIEVED_S = 2.0
"""How long a look counts: however often readiness is asked, the hosts see one connection in it."""


def address_of(url: str) -> Address:
    """Return where an http(s) URL connects to. Raises ValueError for one without a host."""
    parts = urlsplit(url)
    if not parts.hostname:
        raise ValueError("a URL without a host")
    return parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


class Reach:
    """Looks at `addresses`, all at once, in threads of its own: a resolver may hang for long."""

    def __init__(self, addresses: Iterable[Address], clock: Clock) -> None:
        self._addresses = frozenset(addresses)
        self._clock = clock
        self._threads = ThreadPoolExecutor(max(1, len(self._addresses)), "reach")
        self._under_way: dict[Address, asyncio.Future[bool]] = {}
        self._one_at_a_time = asyncio.Lock()
        self._looked_at: float | None = None
        self._away: frozenset[Address] = frozenset()

    async def away(self) -> frozenset[Address]:
        """Return the addresses no connection can be made to, within a second or so."""
        async with self._one_at_a_time:
            now = self._clock.monotonic()
            if self._looked_at is None or now >= self._looked_at + _BELIEVED_S:
                self._away = await self._look()
                self._looked_at = self._clock.monotonic()
            return self._away

    async def _look(self) -> frozenset[Address]:
        loop = asyncio.get_running_loop()
        for address in self._addresses - self._under_way.keys():
            self._under_way[address] = loop.run_in_executor(self._threads, _connects, address)
        if not self._under_way:
            return frozenset()
        done, _ = await asyncio.wait(self._under_way.values(), timeout=_WITHIN_S)
        there = {a for a, look in self._under_way.items() if look in done and look.result()}
        self._under_way = {a: look for a, look in self._under_way.items() if look not in done}
        return self._addresses - there


def _connects(address: Address) -> bool:
    try:
        socket.create_connection(address, timeout=_WITHIN_S).close()
    except (OSError, ValueError):  # UnicodeError: a host name no resolver takes
        return False
    return True
