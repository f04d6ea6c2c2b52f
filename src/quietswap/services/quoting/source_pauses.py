"""Pauses of sources by an operator, read from the database by each process that quotes.

A pause counts for every quote that begins a second after it was stored. It is no failure: the
circuit of the source stays as it was, and requests that are in flight end as usual.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from quietswap import observe
from quietswap.ports.clients import ApiKey
from quietswap.ports.clock import Clock
from quietswap.ports.operator_view import PausedSource, PausedSourceStore
from quietswap.ports.stores import StoreUnavailable
from quietswap.resilience.single_flight import SingleFlight
from quietswap.services.quoting.sources import AggregatorSource

Request = TypeVar("Request")
Result = TypeVar("Result")
LASTS_S = 1.0
"""How long a read counts."""


class SourcePauses:
    """Puts the stored pauses on the sources of this process."""

    def __init__(
        self, store: PausedSourceStore, sources: Sequence[AggregatorSource], clock: Clock
    ) -> None:
        self._store = store
        self._sources = sources
        self._clock = clock
        self._read_at: float | None = None
        self._in_flight: SingleFlight[None, None] = SingleFlight()

    def read_first(
        self, quote: Callable[[ApiKey, Request], Awaitable[Result]]
    ) -> Callable[[ApiKey, Request], Awaitable[Result]]:
        """Return the use case `quote`, preceded by `refresh`."""

        async def quote_with_pauses(key: ApiKey, request: Request) -> Result:
            await self.refresh()
            return await quote(key, request)

        return quote_with_pauses

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
    """Return the reason that a quote's `sources` show."""
    said = f": {paused.reason}" if paused.reason else ""
    return f"paused by the operator of this service{said}"
