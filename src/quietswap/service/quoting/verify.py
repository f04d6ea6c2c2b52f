"""Check routes by the route policy, then by a simulation, and judge them by its results.

A route is refused before its simulation unless its router is proven to enforce the terms."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from quietswap.rules.amounts import BPS, difference_bps
from quietswap.rules.chain.records import (
    ChainReader,
    NodeUnavailable,
    PreparedSimulation,
    SimulationResult,
)
from quietswap.rules.quotes.quote import Route, RouteRequest, SourceOutcome, VerificationStatus
from quietswap.rules.quotes.route_policy import (
    breaks_amounts_only,
    check_offer,
    check_route,
    with_enforced_minimum,
)
from quietswap.rules.quotes.scoring import Candidate
from quietswap.rules.routers.method import Measure
from quietswap.rules.safety.methods import is_unproven, measure
from quietswap.rules.tokens.token import WITHOUT_TRANSFER_FEE
from quietswap.rules.tx import fees
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors import zeroex
from quietswap.service import observe

_RECOGNISABLE = (
    "the node simulates without fees, and this router is not proven to enforce the terms"
)


class VerificationResult(msgspec.Struct, frozen=True):
    """The result of one route: a candidate, or the outcome and reason of its rejection."""

    route: Route
    candidate: Candidate | None
    outcome: SourceOutcome
    simulated: int | None = None
    reason: str | None = None

    @property
    def difference(self) -> int | None:
        """Return simulated against promised output in bps; None without a simulation."""
        if self.simulated is None:
            return None
        return difference_bps(self.simulated, self.route.buy_amount)


class VerifyRoutes:
    """`pinned`: the routers of each source. `required`: refuse routes without a simulation.

    `accept_unbound`: sources whose routes are offered, with a mark, although their router is not
    proven to enforce the terms.
    """

    def __init__(
        self,
        chain: ChainReader,
        pinned: Mapping[str, Sequence[Address]],
        *,
        required: bool,
        accept_unbound: Collection[str] = (),
    ) -> None:
        self._chain = chain
        self._pinned = pinned
        self._spenders = list(dict.fromkeys(itertools.chain.from_iterable(pinned.values())))
        self._required = required
        self._accept_unbound = accept_unbound
        self._has_zeroex = zeroex.ROUTER in self._spenders

    async def prepare_simulation(self, request: RouteRequest) -> PreparedSimulation:
        """Read the wallet's state for a simulation through any pinned router.

        Raises NodeUnavailable.
        """
        preparing = self._chain.prepare_simulation(request, self._spenders)
        if not self._has_zeroex:
            return await preparing
        prepared, _ = await asyncio.gather(preparing, self._settlers(wanted=True))
        return prepared

    async def check(
        self, request: RouteRequest, routes: Sequence[Route]
    ) -> list[Route | VerificationResult]:
        """Return each route that the policy admits, with its refusal in place of any other.

        The minimum of a returned route may be lower: the one its calldata enforces.
        """
        settlers = await self._settlers(any(route.target == zeroex.ROUTER for route in routes))
        enforced = [
            with_enforced_minimum(route, request, accept_unbound=self._accepts(route))
            for route in routes
        ]
        return [self._safe(request, route, settlers) or route for route in enforced]

    async def simulate(
        self, prepared: PreparedSimulation, routes: Sequence[Route]
    ) -> Sequence[SimulationResult]:
        """Return one result per route; all without a verdict if the node is not available."""
        results: Sequence[SimulationResult]
        try:
            results = await observe.in_span("simulation", prepared.simulate(routes))
        except NodeUnavailable as error:
            results = [SimulationResult(None, reason=str(error))] * len(routes)
        unknown = [result.reason for result in results if result.succeeded is None]
        if unknown:
            observe.verification_unavailable(unknown[0] or "the node gave no verdict")
        return results

    def judge(
        self, request: RouteRequest, simulated: Sequence[tuple[Route, SimulationResult]]
    ) -> list[VerificationResult]:
        """Return one verdict per simulated route of a quote.

        If the node can simulate other routes, a route it cannot simulate is dropped: it may be
        built to hide its effects. So is an unbound route whose simulation a contract could
        recognise: nothing else protects it. A router that enforces the minimum needs no more.
        """
        others_could = any(result.succeeded is not None for _, result in simulated)
        return [self._judged(request, *each, others_could=others_could) for each in simulated]

    def _judged(
        self, request: RouteRequest, route: Route, result: SimulationResult, *, others_could: bool
    ) -> VerificationResult:
        if result.succeeded is None:
            return self._unverified(request, route, result.reason, required=others_could)
        if result.succeeded and not (result.exact or route.bound):
            return self._unverified(request, route, _RECOGNISABLE, required=True)
        return self._verdict(route, result)

    @staticmethod
    def count(judged: Sequence[VerificationResult]) -> None:
        """Count and log what `judge` returned. What `check` refuses it counts itself."""
        for verdict in judged:
            if verdict.outcome is SourceOutcome.UNSAFE:
                observe.route_unsafe(verdict.route.source, verdict.reason or "")
            else:
                observe.route_verified(verdict.route.source, verdict.outcome, verdict.difference)

    def _accepts(self, route: Route) -> bool:
        return route.source in self._accept_unbound

    async def _settlers(self, wanted: bool) -> Collection[Address]:
        """Return 0x's genuine Settlers; none if not `wanted`, or if the node does not answer."""
        try:
            return await self._chain.settlers() if wanted else ()
        except NodeUnavailable as error:
            observe.verification_unavailable(f"0x's Settlers: {error}")
            return ()

    def _safe(
        self, request: RouteRequest, route: Route, settlers: Collection[Address]
    ) -> VerificationResult | None:
        pinned = self._pinned.get(route.source, ())
        reason = check_route(
            route, request, pinned, settlers=settlers, accept_unbound=self._accepts(route)
        )
        if reason is None:
            return None
        if self._is_merely_unproven(route, request, pinned):
            observe.route_unbound(route.source)
            return VerificationResult(route, None, SourceOutcome.UNBOUND, reason=reason)
        if route.buy_amount < BPS and breaks_amounts_only(
            route, request, pinned, settlers=settlers, accept_unbound=self._accepts(route)
        ):
            # Dust: a unit is more than a bps, so rounding alone breaks the bounds. Clients choose
            # the amount, and would raise the alarm of operators at will.
            observe.source_missed(route.source, SourceOutcome.UNSAFE.value, reason)
        else:
            observe.route_unsafe(route.source, reason)
        return VerificationResult(route, None, SourceOutcome.UNSAFE, reason=reason)

    def _is_merely_unproven(
        self, route: Route, request: RouteRequest, pinned: Collection[Address]
    ) -> bool:
        """Return whether a refused route breaks no other rule than the missing proof."""
        unproven = is_unproven(route.target, route.data) and not self._accepts(route)
        return unproven and check_offer(route, request, pinned) is None

    @staticmethod
    def _verdict(route: Route, simulation: SimulationResult) -> VerificationResult:
        received, reason = simulation.received, simulation.reason
        if not simulation.succeeded:
            return VerificationResult(
                route, None, SourceOutcome.REVERTED, reason=reason or "the swap reverts"
            )
        if simulation.broken is not None:
            return VerificationResult(
                route, None, SourceOutcome.UNSAFE, received, simulation.broken
            )
        if received is None or received < route.min_buy_amount:
            short = f"delivers {received or 0}, less than its minimum {route.min_buy_amount}"
            return VerificationResult(route, None, SourceOutcome.SHORT_DELIVERY, received, short)
        gas = simulation.gas or fees.unsimulated_gas(route.gas, len(route.path) - 1)
        candidate = Candidate(
            route, VerificationStatus.VERIFIED, received, gas, simulation.gas_limit
        )
        return VerificationResult(route, candidate, SourceOutcome.ANSWERED, received)

    def _unverified(
        self, request: RouteRequest, route: Route, reason: str | None, *, required: bool
    ) -> VerificationResult:
        """Judge a route without a simulation: only its calldata binds it.

        That is not enough if the router measures its own balance: a fee on transfer then reduces
        what the wallet gets below the minimum. A few tokens are known to take no fee.
        """
        reason = f"not verified: {reason or 'the node could not simulate it'}"
        is_self_measured = measure(route.target, route.data) is Measure.SELF
        if is_self_measured and request.buy.address not in WITHOUT_TRANSFER_FEE:
            unseen = f"{reason}; this router would not see a fee on transfer of the buy token"
            return VerificationResult(route, None, SourceOutcome.UNVERIFIED, reason=unseen)
        if self._required or required:
            return VerificationResult(route, None, SourceOutcome.UNVERIFIED, reason=reason)
        gas = fees.unsimulated_gas(route.gas, len(route.path) - 1)
        candidate = Candidate(route, VerificationStatus.UNVERIFIED, None, gas)
        return VerificationResult(route, candidate, SourceOutcome.ANSWERED, reason=reason)


# Verification on arrival: a route is checked and simulated while other sources are still asked.
#
# Routes that arrive in one turn of the event loop share a batch to the node. While a batch of the
# quote is at the node, further routes wait for its end, or for `settled`, and then go together: a
# fast source costs at most one request more. All routes of a quote are simulated in one block.

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
