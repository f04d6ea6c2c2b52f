"""One source with its circuit breaker and request budget, and a request to all of them."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Generic, TypeVar

import msgspec
from cachetools import LRUCache

from quietswap.rules.quotes.quote import (
    NoRoute,
    NoRouteReason,
    Remedy,
    Route,
    SourceOutcome,
    SourceReport,
)
from quietswap.rules.quotes.scoring import SourcePrice
from quietswap.rules.vendors.vendor import RequestBudget
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.quoting.source_limits import MOST_CLIENTS, FairBudget, SourceCircuit
from quietswap.service.sources.adapter import VendorAdapter
from quietswap.service.sources.answers import LONGEST_PAUSE_S

_SILENCE = frozenset({NoRouteReason.TIMED_OUT, NoRouteReason.UNAVAILABLE})
"""What counts as a failure for the circuit breaker. A bad reply does not: it may depend on the
request (such as a slippage that the vendor rejects), and one client must not disable a source for
the others."""
_LATE_IN_ROW = 3
"""Answers of a source after the soft deadline, one after the other, after which no quote of this
client waits for it. It is asked all the same, and one answer in time ends this."""
_MOST_LATE = 16
"""Late requests per source that may continue after the quote was answered."""


F = TypeVar("F", bound=Route | SourcePrice)


class SourceAnswer(msgspec.Struct, Generic[F], frozen=True):
    """The result of one source: either `found` or `miss`. `skipped`: it was not asked.

    `is_unfit`: because its vendor does not take the slippage of the request.
    """

    source: str
    latency_ms: int
    found: F | None = None
    miss: NoRoute | None = None
    skipped: bool = False
    is_unfit: bool = False

    def missed(self) -> SourceReport:
        """Return the report of a source without a result in time."""
        miss = self.miss or NoRoute(NoRouteReason.TIMED_OUT, TOO_LATE)
        outcome = SourceOutcome.SKIPPED if self.skipped else SourceOutcome(miss.miss)
        remedy = Remedy.OTHER_SLIPPAGE if self.is_unfit else None
        return SourceReport(
            self.source, outcome, self.latency_ms, reason=miss.reason, remedy=remedy
        )


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
        is_own: bool = False,
    ) -> None:
        self.adapter = adapter
        self.is_own = is_own
        """Whether it reads the operator's node, and no vendor is asked."""
        self.name = adapter.name
        self._clock = clock
        self._budget = FairBudget(budget, clock)
        self._circuit = SourceCircuit(clock, failures=failures, pause_s=pause_s)
        self._late: set[asyncio.Task[None]] = set()
        self._late_in_row: LRUCache[str, int] = LRUCache(MOST_CLIENTS)
        self.pause_reason: str | None = None
        """Why an operator paused it; None if it is not paused. Clients see the text."""
        self.last_miss: tuple[int, str] | None = None
        """When it gave no route for the last time, in Unix ms, and outcome and reason."""

    @property
    def is_up(self) -> bool:
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
            seconds = min(miss.retry_after or 1.0, LONGEST_PAUSE_S)
            self._circuit.pause(seconds)
            observe.source_paused(self.name, seconds)
        elif miss is None or miss.miss not in _SILENCE:
            self._circuit.answered()
        else:
            paused = self._circuit.silent(client_id)
            if paused is not None:
                observe.source_paused(self.name, paused)

    def is_late_for(self, client_id: str) -> bool:
        """Return whether its last answers to this client all came too late to be waited for."""
        return bool(self._late_in_row.get(client_id, 0) >= _LATE_IN_ROW)

    def record_time(self, client_id: str, *, is_late: bool) -> None:
        """Count an answer by whether it came after the soft deadline."""
        if is_late:
            self._late_in_row[client_id] = self._late_in_row.get(client_id, 0) + 1
        else:
            self._late_in_row.pop(client_id, None)

    def let_finish(self, task: "asyncio.Task[None]", client_id: str, left_s: float) -> None:
        """Let a late request continue for `left_s`, to learn whether the source answers at all.

        A source that is slower than the others is no failure; one that never answers is.
        """
        if left_s > 0 and len(self._late) >= _MOST_LATE:
            task.cancel()
            return
        late = asyncio.create_task(self._await_late(task, client_id, left_s))
        self._late.add(late)
        late.add_done_callback(self._late.discard)

    async def _await_late(self, task: "asyncio.Task[None]", client_id: str, left_s: float) -> None:
        try:
            if left_s > 0:
                await asyncio.wait({task}, timeout=left_s)
            if not task.done():
                late = NoRoute(NoRouteReason.TIMED_OUT, "no answer before the hard deadline")
                self.note(client_id, late)
                self.record_time(client_id, is_late=True)
        finally:
            task.cancel()


TOO_LATE = "no answer before the quote's deadline"


class SourceFanOut(Generic[F]):
    """One request of a client to all sources at the same time; `ask` sends it to one.

    Use as a context manager. Sources with an open circuit or without request budget are skipped.
    `soft_s` after the start an answer is late: `wait_for_prompt` does not wait for it.
    `found` is called with each result when it arrives, also after the exit. `unfit` returns why an
    adapter cannot be asked for this request, or None; `ready` the same after a wait, before any of
    the source's budget is taken.

    After the exit late requests may continue; those without an answer within `hard_s` of the start
    are cancelled and count as failures.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        client_id: str,
        ask: Callable[[VendorAdapter], Awaitable[F]],
        clock: Clock,
        *,
        hard_s: float,
        soft_s: float = math.inf,
        found: Callable[[F], None] = lambda _: None,
        unfit: Callable[[VendorAdapter], str | None] = lambda _: None,
        ready: Callable[[VendorAdapter], Awaitable[str | None]] | None = None,
    ) -> None:
        self._clock = clock
        self._found = found
        self._unfit = unfit
        self._ready = ready
        self._client_id = client_id
        self._request = ask
        self._hard_s = hard_s
        self._soft_s = soft_s
        self._started = clock.monotonic()
        self._answers: dict[str, SourceAnswer[F]] = {}
        self._tasks = {asyncio.create_task(self._ask(source)): source for source in sources}

    def __enter__(self) -> "SourceFanOut[F]":
        return self

    def __exit__(self, *_: object) -> None:
        left_s = self._hard_s - self.elapsed_s
        for task, source in self._tasks.items():
            if not task.done():
                source.let_finish(task, self._client_id, left_s)

    @property
    def elapsed_s(self) -> float:
        return self._clock.monotonic() - self._started

    @property
    def is_open(self) -> bool:
        """Return whether a source has not answered yet and may still do so before `hard_s`."""
        return self.elapsed_s < self._hard_s and not all(task.done() for task in self._tasks)

    @property
    def has_found(self) -> bool:
        return any(answer.found for answer in self._answers.values())

    async def wait_for_prompt(self) -> None:
        """Wait until `soft_s` for all sources that do not always answer later than that."""
        client_id, tasks = self._client_id, self._tasks.items()
        prompt = [task for task, source in tasks if not source.is_late_for(client_id)]
        await self._wait_for(prompt, self._soft_s, asyncio.ALL_COMPLETED)

    async def wait(self, until_s: float, *, first: bool = False) -> None:
        """Wait for all sources (or with `first` for one more) until `until_s` after the start."""
        when = asyncio.FIRST_COMPLETED if first else asyncio.ALL_COMPLETED
        await self._wait_for(self._tasks, until_s, when)

    async def _wait_for(
        self, tasks: "Collection[asyncio.Task[None]]", until_s: float, when: str
    ) -> None:
        waiting = [task for task in tasks if not task.done()]
        rest_s = until_s - self.elapsed_s
        if waiting and rest_s > 0:
            await asyncio.wait(waiting, timeout=rest_s, return_when=when)
        for task in self._tasks:
            if task.done() and not task.cancelled():
                task.result()

    def answers(self) -> list[SourceAnswer[F]]:
        """Return one answer per source, in their order; a missing one counts as timed out."""
        return [self._answers.get(one.name) or self._late(one.name) for one in self._tasks.values()]

    def _late(self, name: str) -> SourceAnswer[F]:
        miss = NoRoute(NoRouteReason.TIMED_OUT, TOO_LATE)
        return SourceAnswer(name, round(self.elapsed_s * 1000), miss=miss)

    async def _ask(self, source: Source) -> None:
        name, route, miss = source.name, None, None
        unfit = self._unfit(source.adapter)
        refusal = unfit or (await self._ready(source.adapter) if self._ready else None)
        # here: no source waits for another's budget
        refusal = refusal or await source.refusal(self._client_id)
        if refusal is not None:
            miss = NoRoute(NoRouteReason.RATE_LIMITED, refusal)
            is_unfit = unfit is not None
            self._answers[name] = SourceAnswer(name, 0, None, miss, skipped=True, is_unfit=is_unfit)
            return
        try:
            route = await observe.in_span("source", self._request(source.adapter), source=name)
        except NoRoute as error:
            miss = error
        source.note(self._client_id, miss)
        source.record_time(self._client_id, is_late=self.elapsed_s > self._soft_s)
        answer = SourceAnswer(name, round(self.elapsed_s * 1000), found=route, miss=miss)
        if miss:
            observe.source_missed(name, miss.miss, miss.reason)
        observe.source_answered(name, miss.miss if miss else "answered", answer.latency_ms / 1000)
        self._answers[name] = answer
        if route:
            self._found(route)
