"""One source with its circuit breaker and request budget, and its answer to one request."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

from quietswap import observe
from quietswap.clients.client import ApiKey
from quietswap.clock import Clock
from quietswap.concurrency import SingleFlight
from quietswap.operator.operators import PausedSource
from quietswap.orders.stores import StoreUnavailable
from quietswap.quoting.quote import NoRoute, NoRouteReason
from quietswap.quoting.source_limits import FairBudget, SourceCircuit
from quietswap.storage.quotes import PausedSourceStore
from quietswap.vendors.adapter import VendorAdapter
from quietswap.vendors.vendor import RequestBudget

_SILENCE = frozenset({NoRouteReason.TIMED_OUT, NoRouteReason.UNAVAILABLE})
"""What counts as a failure for the circuit breaker. A bad reply does not: it may depend on the
request (such as a slippage that the vendor rejects), and one client must not disable a source for
the others."""
_LONGEST_PAUSE_S = 300.0
_MOST_LATE = 16
"""Late requests per source that may continue after the quote was answered."""


class FromSource(Protocol):
    """A route or a price, with the name of its source."""

    @property
    def source(self) -> str:
        """Return the name of the source."""


F = TypeVar("F", bound=FromSource)


class SourceAnswer(msgspec.Struct, Generic[F], frozen=True):
    """The result of one source: either `found` or `miss`. `skipped`: it was not asked."""

    source: str
    latency_ms: int
    found: F | None = None
    miss: NoRoute | None = None
    skipped: bool = False


class Source:
    """An adapter with its circuit breaker and its budget, both shared fairly between keys.

    Market results (no route, unknown token) are no failures.
    """

    def __init__(
        self,
        adapter: VendorAdapter,
        budget: RequestBudget,
        clock: Clock,
        *,
        failures: int = 5,
        pause_s: float = 15.0,
    ) -> None:
        self.adapter = adapter
        self.name = adapter.name
        self._clock = clock
        self._budget = FairBudget(budget, clock)
        self._circuit = SourceCircuit(clock, failures=failures, pause_s=pause_s)
        self._late: set[asyncio.Task[None]] = set()
        self.pause_reason: str | None = None
        """Why an operator paused it; None if it is not paused. Clients see the text."""
        self.last_miss: tuple[int, str] | None = None
        """When it gave no route for the last time, in Unix ms, and outcome and reason."""

    @property
    def is_up(self) -> bool:
        """Return whether the circuit breaker is closed for every client."""
        return self._circuit.is_answering

    @property
    def may_be_asked(self) -> bool:
        """Return whether a client with a share and without failures of its own may ask it."""
        return self.pause_reason is None and self._circuit.is_closed

    @property
    def circuit_state(self) -> str:
        """Return `closed`, `open`, or `open for some clients`, in this process."""
        if not self._circuit.is_closed:
            return "open"
        return "closed" if self._circuit.is_answering else "open for some clients"

    async def refusal(self, client_id: str) -> str | None:
        """Return why this client may not ask it now; None takes one request of its budget.

        It may wait for at most LONGEST_WAIT_S until the client's share allows the request.
        """
        if self.pause_reason is not None:
            return self.pause_reason
        if not self._circuit.admits(client_id):
            return "circuit open after failures or a rate limit"
        wait_s = self._budget.take(client_id)
        if wait_s is None:
            return "its own rate limit is spent"
        self._circuit.asked(client_id)
        if wait_s:
            await self._clock.sleep(wait_s)
        return None

    def note(self, client_id: str, miss: NoRoute | None) -> None:
        """Count an answer to this client for the circuit, and keep why it was no route."""
        if miss is not None:
            self.last_miss = (self._clock.now_ms(), str(miss))
        if miss is not None and miss.miss is NoRouteReason.RATE_LIMITED:
            seconds = min(miss.retry_after or 1.0, _LONGEST_PAUSE_S)
            self._circuit.pause(seconds)
            observe.source_paused(self.name, seconds)
        elif miss is None or miss.miss not in _SILENCE:
            self._circuit.answered()
        else:
            paused = self._circuit.silent(client_id)
            if paused is not None:
                observe.source_paused(self.name, paused)

    def let_finish(
        self, task: "asyncio.Task[SourceAnswer[F]]", client_id: str, left_s: float
    ) -> None:
        """Let a late request continue for `left_s`, to learn whether the source answers at all.

        A source that is slower than the others is no failure; one that never answers is.
        """
        if left_s > 0 and len(self._late) >= _MOST_LATE:
            task.cancel()
            return
        late = asyncio.create_task(self._await_late(task, client_id, left_s))
        self._late.add(late)
        late.add_done_callback(self._late.discard)

    async def _await_late(
        self, task: "asyncio.Task[SourceAnswer[F]]", client_id: str, left_s: float
    ) -> None:
        try:
            if left_s > 0:
                await asyncio.wait({task}, timeout=left_s)
            if not task.done():
                self.note(
                    client_id,
                    NoRoute(NoRouteReason.TIMED_OUT, "no answer before the hard deadline"),
                )
        finally:
            task.cancel()


# Pauses of sources by an operator, read from the database by each process that quotes.
#
# A pause counts for every quote that begins a second after it was stored. It is no failure: the
# circuit of the source stays as it was, and requests that are in flight end as usual.


Request = TypeVar("Request")
Result = TypeVar("Result")
LASTS_S = 1.0
"""How long a read counts."""


class SourcePauses:
    """Puts the stored pauses on the sources of this process."""

    def __init__(self, store: PausedSourceStore, sources: Sequence[Source], clock: Clock) -> None:
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
