"""DNS lookups that cannot block the process, however long a name server takes."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from quietswap.rules.webhooks.addresses import IpAddress
from quietswap.rules.webhooks.webhook import DeliveryFailed, SenderBusy

MAX_LOOKUPS = 16
"""Lookups at the same time. A lookup cannot be cancelled: it keeps its thread until it ends."""
PER_CLIENT = 4
"""Lookups of one client at the same time: name servers that hang hold no place of others."""


class ResolutionFailed(DeliveryFailed):
    """The name has no address, or no name server answered; the message is the reason."""


class TooManyLookups(SenderBusy):
    """No lookup can begin now. This says nothing about the name."""

    def __init__(self) -> None:
        super().__init__("too many host names are being resolved; try again in a few seconds")


_Result = Sequence[IpAddress] | ResolutionFailed


@dataclass(frozen=True, slots=True)
class _Lookup:
    client_id: str
    result: asyncio.Future[_Result]


class SystemResolver:
    """Resolves host names by the system's `getaddrinfo`, for one event loop.

    Each lookup has a daemon thread. A thread pool would wait for hanging lookups when the process
    ends. A lookup of a name that is being resolved already waits for that result.
    """

    def __init__(self, max_lookups: int = MAX_LOOKUPS, per_client: int = PER_CLIENT) -> None:
        self._max_lookups = max_lookups
        self._per_client = per_client
        self._running: dict[str, _Lookup] = {}

    async def resolve(self, host: str, client_id: str) -> Sequence[IpAddress]:
        """Return all addresses of a name, or the address itself, in the system's order, each once.

        `client_id` is the client that the lookup counts for. Raises ResolutionFailed and
        TooManyLookups.
        """
        try:
            return (ip_address(host),)
        except ValueError:
            pass
        lookup = self._running.get(host) or self._begin(host, client_id)
        # Shielded: a caller that waits no longer must not take the result from the others.
        result = await asyncio.shield(lookup.result)
        if isinstance(result, ResolutionFailed):
            raise ResolutionFailed(str(result))
        return result

    def _begin(self, host: str, client_id: str) -> _Lookup:
        mine = sum(lookup.client_id == client_id for lookup in self._running.values())
        if mine >= self._per_client or len(self._running) >= self._max_lookups:
            raise TooManyLookups
        loop = asyncio.get_running_loop()
        lookup = _Lookup(client_id, loop.create_future())
        threading.Thread(
            target=self._look_up, args=(host, loop), name="webhook-dns", daemon=True
        ).start()
        self._running[host] = lookup
        return lookup

    def _look_up(self, host: str, loop: asyncio.AbstractEventLoop) -> None:
        result: _Result = ResolutionFailed("its host has no address: no valid name")
        try:
            result = _addresses(host)
        except OSError as error:
            result = ResolutionFailed(f"its host has no address: {error.strerror}")
        except ValueError:
            pass  # UnicodeError: the name cannot be written in DNS
        finally:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._settle, host, result)

    def _settle(self, host: str, result: _Result) -> None:
        self._running.pop(host).result.set_result(result)


def _addresses(host: str) -> Sequence[IpAddress]:
    entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(ip_address(str(entry[4][0])) for entry in entries))
