"""Ask every source at once; skip the ones that keep failing or have no budget left."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from quietswap import observe
from quietswap.domain.route import Miss, Route, SourceMiss, SwapRequest
from quietswap.ports.outside import Aggregator, Clock

_SILENCE = frozenset({Miss.TIMED_OUT, Miss.UNAVAILABLE})
"""What opens the circuit. A bad reply may be bad for this request alone (a slippage the vendor does
not take), and one client's request must not switch a source off for the others."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one source said; exactly one of `route` and `miss` is set. `skipped` was not asked."""

    source: str
    latency_ms: int
    route: Route | None = None
    miss: SourceMiss | None = None
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class Budget:
    """A vendor's request limits: `per_second` sustained (with that burst), `per_day` or None."""

    per_second: float
    per_day: int | None = None


class Source:
    """One aggregator with its circuit breaker and its token bucket.

    `failures` silences in a row open the circuit for `pause_s`; then one request probes. The
    market's own answers (no route, unknown token) are not failures.
    """

    def __init__(
        self,
        aggregator: Aggregator,
        budget: Budget,
        clock: Clock,
        *,
        failures: int = 5,
        pause_s: float = 15.0,
    ) -> None:
        self.aggregator = aggregator
        self.name = aggregator.name
        self._budget = budget
        self._clock = clock
        self._failures_allowed = failures
        self._pause_s = pause_s
        self._failures = 0
        self._closed_at = 0.0
        self._tokens = max(budget.per_second, 1.0)
        self._refilled_at = clock.monotonic()
        self._day = 0
        self._today = 0

    @property
    def is_up(self) -> bool:
        """Whether its circuit is closed."""
        return self._clock.monotonic() >= self._closed_at

    def refusal(self) -> str | None:
        """Return why the source is not to be asked now, or take one request from its budget."""
        now = self._clock.monotonic()
        if not self.is_up:
            return "paused for a while after failures or a rate limit"
        if not self._take(now):
            return "its own rate limit is spent"
        if self._failures >= self._failures_allowed:
            self._closed_at = now + self._pause_s  # half open: only this request probes
        return None

    def _take(self, now: float) -> bool:
        burst = max(self._budget.per_second, 1.0)
        self._tokens = min(
            burst, self._tokens + (now - self._refilled_at) * self._budget.per_second
        )
        self._refilled_at = now
        day = self._clock.now_ms() // 86_400_000
        if day != self._day:
            self._day, self._today = day, 0
        limit = self._budget.per_day
        if self._tokens < 1 or (limit is not None and self._today >= limit):
            return False
        self._tokens -= 1
        self._today += 1
        return True

    def note(self, miss: SourceMiss | None) -> None:
        """Count an answer for the circuit."""
        if miss is not None and miss.miss is Miss.RATE_LIMITED:
            self._pause(miss.retry_after or 1.0)
        elif miss is None or miss.miss not in _SILENCE:
            self._failures, self._closed_at = 0, 0.0
        else:
            self._failures += 1
            if self._failures >= self._failures_allowed:
                self._pause(self._pause_s)

    def _pause(self, seconds: float) -> None:
        self._closed_at = self._clock.monotonic() + min(seconds, 300.0)
        observe.source_paused(self.name, seconds)


class Round:
    """One request put to all sources. Use as a context manager: leaving cancels the losers."""

    def __init__(self, sources: Sequence[Source], request: SwapRequest, clock: Clock) -> None:
        self._clock = clock
        self._started = clock.monotonic()
        self._order = [source.name for source in sources]
        self._answers: dict[str, Answer] = {}
        self._taken: set[str] = set()
        self._tasks: dict[asyncio.Task[Answer], Source] = {}
        for source in sources:
            refusal = source.refusal()
            if refusal is None:
                task = asyncio.create_task(self._ask(source, request))
                self._tasks[task] = source
            else:
                miss = SourceMiss(Miss.RATE_LIMITED, refusal)
                self._answers[source.name] = Answer(source.name, 0, miss=miss, skipped=True)

    def __enter__(self) -> "Round":
        return self

    def __exit__(self, *_: object) -> None:
        for task, source in self._tasks.items():
            if source.name not in self._answers:
                source.note(self._late(source.name).miss)
            task.cancel()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the sources were asked."""
        return self._clock.monotonic() - self._started

    @property
    def pending(self) -> bool:
        """Whether a source has yet to answer."""
        return any(not task.done() for task in self._tasks)

    async def wait(self, until_s: float, *, first: bool = False) -> None:
        """Wait for all sources (or with `first` for one more) until `until_s` after the start."""
        waiting = [task for task in self._tasks if not task.done()]
        left = until_s - self.elapsed_s
        if waiting and left > 0:
            when = asyncio.FIRST_COMPLETED if first else asyncio.ALL_COMPLETED
            await asyncio.wait(waiting, timeout=left, return_when=when)
        for task in self._tasks:
            if task.done() and not task.cancelled():
                answer = task.result()
                self._answers[answer.source] = answer

    def fresh_routes(self) -> list[Route]:
        """Return routes not returned before, in the configured order of the sources."""
        routes = [
            answer.route
            for name in self._order
            if (answer := self._answers.get(name)) and answer.route and name not in self._taken
        ]
        self._taken.update(route.source for route in routes)
        return routes

    def answers(self) -> list[Answer]:
        """Return one answer for every source; one that has not come yet counts as timed out."""
        return [self._answers.get(name) or self._late(name) for name in self._order]

    def _late(self, name: str) -> Answer:
        elapsed = self._milliseconds()
        miss = SourceMiss(Miss.TIMED_OUT, "no answer before the quote's deadline")
        return Answer(name, elapsed, miss=miss)

    def _milliseconds(self) -> int:
        return round(self.elapsed_s * 1000)

    async def _ask(self, source: Source, request: SwapRequest) -> Answer:
        try:
            asking = source.aggregator.route(request)
            route = await observe.in_span("source", asking, source=source.name)
        except SourceMiss as miss:
            source.note(miss)
            answer = Answer(source.name, self._milliseconds(), miss=miss)
            observe.source_missed(source.name, miss.miss, miss.reason)
        else:
            source.note(None)
            answer = Answer(source.name, self._milliseconds(), route=route)
        outcome = answer.miss.miss if answer.miss else "answered"
        observe.source_answered(source.name, outcome, answer.latency_ms / 1000)
        return answer
