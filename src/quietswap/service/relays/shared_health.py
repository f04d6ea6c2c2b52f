"""One process meets that a relay is down, and all processes of the database leave it."""

from collections.abc import Collection
from dataclasses import dataclass, field

from quietswap.service.base.clock import Clock
from quietswap.service.relays.relay import Relay
from quietswap.service.storage.relay_health import RelayHealthStore

_NEWS_MS = 2_000
"""A pause that began again is written if it ends so much later."""
_LONGEST_MS = 60_000
"""Twice a relay's pause: the clock of another host counts for no longer."""


@dataclass(slots=True)
class SharedRelayHealth:
    """`exchange` once a second or two: it tells what this process met, and heeds the others."""

    store: RelayHealthStore
    relays: Collection[Relay]
    clock: Clock
    _written: dict[str, int] = field(default_factory=dict)

    async def exchange(self) -> None:
        """Raises StoreUnavailable: what was met is told at the next call."""
        now = self.clock.now_ms()
        for relay in self.relays:
            until = now + round(relay.down_for_s * 1000) if relay.down_for_s else 0
            if until and until > self._written.get(relay.name, 0) + _NEWS_MS:
                await self.store.write(relay.name, until)
                self._written[relay.name] = until
            elif not until and relay.has_recovered:
                await self.store.write(relay.name, 0)
                relay.has_recovered = False
        pauses = await self.store.read()
        for relay in self.relays:
            left_ms = min(pauses.get(relay.name, 0) - now, _LONGEST_MS)
            relay.heed(max(left_ms, 0) / 1000)
