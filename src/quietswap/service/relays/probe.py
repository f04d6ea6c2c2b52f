"""Whether the relays answer, before anybody signs: each is asked for its chain."""

import asyncio
from collections.abc import Collection
from contextlib import suppress

from quietswap.service.base.clock import Clock
from quietswap.service.base.http_client import HttpError
from quietswap.service.relays.relay import Relay

_LASTS_S = 2.0
_WITHIN_S = 3.0
"""A relay that answers later is taken for silent; the readiness probe of a replica waits longer."""


class ProbeRelays:
    """Asks all relays together, at most once in 2 s however many ask. Each keeps the result."""

    def __init__(self, relays: Collection[Relay], clock: Clock) -> None:
        self._relays = relays
        self._clock = clock
        self._lock = asyncio.Lock()
        self._probed_at: float | None = None

    async def __call__(self) -> None:
        async with self._lock:
            now = self._clock.monotonic()
            if self._probed_at is not None and now < self._probed_at + _LASTS_S:
                return
            await asyncio.gather(*map(_probe, self._relays))
            self._probed_at = self._clock.monotonic()


async def _probe(relay: Relay) -> None:
    with suppress(HttpError):  # the relay keeps it
        await relay.probe(_WITHIN_S)
