"""Pauses of sources by an operator, read from the database by each process that quotes.

A pause counts for every quote that begins a second after it was stored. It is no failure: the
circuit of the source stays as it was, and requests that are in flight end as usual.
"""

from collections.abc import Sequence

from quietswap.rules.operator.operators import PausedSource
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.base.concurrency import SingleFlight
from quietswap.service.quoting.sources import Source
from quietswap.service.storage.paused_sources import PausedSourceStore

LASTS_S = 1.0
"""How long a read counts."""


class SourcePauses:
    def __init__(self, store: PausedSourceStore, sources: Sequence[Source], clock: Clock) -> None:
        self._store = store
        self._sources = sources
        self._clock = clock
        self._read_at: float | None = None
        self._in_flight: SingleFlight[None, None] = SingleFlight()

    async def refresh(self) -> None:
        """Read the pauses if the last read is a second old.

        If the database does not answer, the last known pauses stay.
        """
        now = self._clock.monotonic()
        if self._read_at is None or not 0 <= now - self._read_at < LASTS_S:
            await self._in_flight(None, self._read)

    async def _read(self) -> None:
        began = self._clock.monotonic()
        try:
            paused = {one.name: reason_text(one) for one in await self._store.list()}
        except StoreUnavailable as error:
            observe.pauses_unread(str(error))
            return
        for source in self._sources:
            source.pause_reason = paused.get(source.name)
        self._read_at = began


def reason_text(paused: PausedSource) -> str:
    stated_reason = f": {paused.reason}" if paused.reason else ""
    return f"paused by the operator of this service{stated_reason}"
