"""Verification on arrival: a route is checked and simulated while other sources are still asked.

Routes that arrive in one turn of the event loop share a batch to the node. While a batch of the
quote is at the node, further routes wait for its end, or for `settled`, and then go together: a
fast source costs at most one request more. All routes of a quote are simulated in one block.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from quietswap.rules.chain.records import (
    PreparedSimulation,
    SimulationResult,
)
from quietswap.rules.quotes.quote import Route, RouteRequest, VerificationStatus
from quietswap.rules.quotes.scoring import Candidate
from quietswap.service.quoting.verify import VerificationResult, VerifyRoutes

PATIENCE_S = 2.0
"""How long a simulation is waited for after the last other one, if another route is verified."""

_GIVEN_UP = SimulationResult(None, reason="its simulation took too long")
_OTHER_BLOCK = SimulationResult(None, reason="it was simulated on another block than the others")


@dataclass(slots=True)
class ArrivingRoutes:
    """The routes of one quote. Use as an async context manager: no task outlives it.

    `preparing` is awaited by the first batch; it is not cancelled here. Without `early` all routes
    wait for `settled`: one request to the node for all. `verified` is called once for each route
    whose simulation delivers its minimum. The verdict at the end may differ: see `verdicts`.
    """

    verify: VerifyRoutes
    request: RouteRequest
    preparing: "asyncio.Future[PreparedSimulation]"
    early: bool = True
    verified: Callable[[Candidate], None] | None = None
    _told: set[str] = field(default_factory=set)
    """The sources whose routes `verified` has."""
    _sources: set[str] = field(default_factory=set)
    _waiting: list[Route] = field(default_factory=list)
    _batches: "list[asyncio.Task[None]]" = field(default_factory=list)
    _unbegun: "asyncio.Task[None] | None" = None
    """The batch that will take the waiting routes when it begins."""
    _settling: bool = False
    _ended_batch: "asyncio.Future[bool] | None" = None
    """Completed with True by the next batch that ends, while `settled` waits for one."""
    _awaited: "set[asyncio.Task[None]]" = field(default_factory=set)
    """Batches whose end `settled` has waited for: they begin no other batch."""
    _closed: bool = False
    _refused: list[VerificationResult] = field(default_factory=list)
    _unsimulated: dict[str, Route] = field(default_factory=dict)
    _simulated: dict[str, tuple[Route, SimulationResult]] = field(default_factory=dict)
    """Both by source: what the policy admits, before and after its simulation."""
    _verdicts: "list[VerificationResult] | None" = None
    """Of `_simulated` as it is; None after a change."""

    async def __aenter__(self) -> "ArrivingRoutes":
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closed = True
        await _cancelled(self._running)

    def add(self, route: Route) -> None:
        """Verify this route soon. A second route of its source is ignored, and one that is late."""
        if self._closed or route.source in self._sources:
            return
        self._sources.add(route.source)
        self._waiting.append(route)
        self._begin_early()

    @property
    def is_usable(self) -> bool:
        return any(verdict.candidate for verdict in self._judged())

    @property
    def has_new(self) -> bool:
        return bool(self._waiting or self._running)

    async def settled(self) -> None:
        """Verify at once what has arrived, and wait for all results.

        A route that arrives when the last batch has begun waits for the next call.

        A simulation without a result `PATIENCE_S` after the last other result is given up if a
        route is verified without it. Raises what the preparation raises.
        """
        self._begin()
        self._settling = True
        try:
            await self._finished()
            await self._compared()
        finally:
            self._settling = False

    def verdicts(self) -> list[VerificationResult]:
        """Return the verdict of each verified route, and count it. Call it once."""
        judged = self._judged()
        self.verify.count(judged)
        return [*self._refused, *judged]

    def _judged(self) -> list[VerificationResult]:
        if self._verdicts is None:
            self._verdicts = self.verify.judge(self.request, list(self._simulated.values()))
        return self._verdicts

    def _note(self, route: Route, result: SimulationResult) -> None:
        self._simulated[route.source] = route, result
        self._verdicts = None

    @property
    def _running(self) -> "list[asyncio.Task[None]]":
        return [batch for batch in self._batches if not batch.done()]

    def _begin_early(self) -> None:
        if self.early and not self._settling and not self._running:
            self._begin()

    def _begin(self) -> None:
        """Create a batch, which takes all routes that wait when the event loop comes to it."""
        if not self._waiting or (self._unbegun and not self._unbegun.done()):
            return
        batch = self._unbegun = asyncio.create_task(self._verified())
        self._batches.append(batch)
        batch.add_done_callback(self._ended)

    def _ended(self, batch: "asyncio.Task[None]") -> None:
        if batch.cancelled():
            self._wake(ended=True)  # it may not have begun
        else:
            batch.exception()  # marks it as retrieved, for the case that nothing settles any more
        if not self._closed and batch not in self._awaited:
            self._begin_early()

    async def _verified(self) -> None:
        try:
            await self._verify_waiting()
        finally:  # in this turn of the event loop: what waits for the task resumes one turn later
            self._wake(ended=True)

    async def _verify_waiting(self) -> None:
        routes, self._waiting = self._waiting, []
        self._unbegun = None
        checked = await self.verify.check(self.request, routes)
        self._refused += [one for one in checked if isinstance(one, VerificationResult)]
        safe = [one for one in checked if isinstance(one, Route)]
        if safe:
            self._unsimulated |= {route.source: route for route in safe}
            await self._simulate(safe)

    async def _simulate(self, routes: Sequence[Route]) -> None:
        # a batch that is cancelled must not cancel the preparation of the others
        prepared = await asyncio.shield(self.preparing)
        results = await self.verify.simulate(prepared, routes)
        for route, result in zip(routes, results, strict=True):
            self._unsimulated.pop(route.source, None)
            # a second simulation without a result takes nothing back
            if result.succeeded is not None or route.source not in self._simulated:
                self._note(route, result)
        if self.verified is not None:
            for candidate in self._verified_ones():
                if candidate.route.source not in self._told:
                    self._told.add(candidate.route.source)
                    self.verified(candidate)

    async def _finished(self) -> None:
        while running := self._running:
            self._awaited.update(running)
            ended = await self._one_ended(PATIENCE_S if self._verified_ones() else None)
            if not ended and not any(batch.done() for batch in running):
                await _cancelled(running)
        for batch in self._batches:
            if not batch.cancelled():
                batch.result()
        for route in self._unsimulated.values():
            self._note(route, _GIVEN_UP)

    async def _one_ended(self, patience_s: float | None) -> bool:
        """Return True when a batch has ended, or False after `patience_s`."""
        assert self._ended_batch is None, "one call of `settled` at a time"
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[bool] = loop.create_future()
        self._ended_batch = ended
        timer = None if patience_s is None else loop.call_later(patience_s, self._wake, False)
        try:
            return await ended
        finally:
            self._ended_batch = None
            if timer is not None:
                timer.cancel()

    def _wake(self, ended: bool) -> None:
        if self._ended_batch is not None and not self._ended_batch.done():
            self._ended_batch.set_result(ended)

    def _verified_ones(self) -> list[Candidate]:
        candidates = (verdict.candidate for verdict in self._judged())
        return [c for c in candidates if c and c.verification is VerificationStatus.VERIFIED]

    async def _compared(self) -> None:
        """Leave results of one block only: what delivered on several is simulated again, together.

        If that gives no common block, the one of most results counts, the latest of equals. What
        breaks a rule in any block is not tried again.
        """
        if len(self._blocks()) <= 1:
            return
        await self._simulate([route for route, _ in self._delivered()])
        blocks = self._blocks()
        for route, result in self._delivered():
            if result.block != blocks[0]:
                self._note(route, _OTHER_BLOCK)

    def _delivered(self) -> list[tuple[Route, SimulationResult]]:
        return [row for row in self._simulated.values() if row[1].succeeded and not row[1].broken]

    def _blocks(self) -> list[str | None]:
        """Return the blocks of what delivered, the one of most results first."""
        count = Counter(result.block for _, result in reversed(self._delivered()))
        return [block for block, _ in count.most_common()]


async def _cancelled(tasks: "Collection[asyncio.Task[None]]") -> None:
    for task in tasks:
        task.cancel()
    if tasks:  # gathering nothing takes two turns of the event loop
        await asyncio.gather(*tasks, return_exceptions=True)
