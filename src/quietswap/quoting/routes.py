"""Collect routes: ask all sources, verify each route when it arrives, wait while none is usable."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field

from quietswap import observe
from quietswap.chain.address import Address
from quietswap.chain.chain import AccountState, ChainReader, PreparedSimulation, SimulationResult
from quietswap.clock import Clock
from quietswap.concurrency import SingleFlight
from quietswap.errors.base import InsufficientLiquidity, ServiceUnavailable
from quietswap.errors.requests import TokenNotSupported
from quietswap.quoting.fan_out import TOO_LATE, SourceFanOut
from quietswap.quoting.mev import MAJORS
from quietswap.quoting.quote import (
    Route,
    RouteRequest,
    SourceOutcome,
    SourceReport,
    VerificationStatus,
)
from quietswap.quoting.scoring import Candidate
from quietswap.quoting.sources import AggregatorSource, SourceAnswer
from quietswap.quoting.verify import VerificationResult, VerifyRoutes
from quietswap.tokens.token import Token, TokenPolicy
from quietswap.vendors.source import Aggregator

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
        """Return whether a route can be offered by the results so far."""
        return any(verdict.candidate for verdict in self._judged())

    @property
    def has_new(self) -> bool:
        """Return whether a route has arrived that is not verified yet."""
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


MOST_EARLY = 16
"""Quotes in flight with which a route is simulated on arrival. With more, the processor is what
limits: all routes of a quote are one request to the node then, after the last answer, unless
somebody waits for each of them."""


@dataclass(frozen=True, slots=True)
class CollectedRoutes:
    """The verified candidates, one report for each source, and what they were simulated with.

    `next_base_fee` in wei is that of the simulated block.
    """

    candidates: tuple[Candidate, ...]
    reports: tuple[SourceReport, ...]
    prepared: PreparedSimulation

    @property
    def sender(self) -> AccountState:
        """Return the wallet's state."""
        return self.prepared.sender

    @property
    def next_base_fee(self) -> int:
        """Return wei per gas."""
        return self.prepared.next_base_fee


class CollectRoutes:
    """Return at `soft_s` if a route is usable; otherwise wait until `hard_s`, in seconds.

    A late route is used while it is the only one. Identical requests of a client in flight (tokens,
    amount, wallet, slippage) share one result. Those of two clients do not: which sources are asked
    depends on the client's own budget and circuits. A request with `verified` shares nothing, and
    its routes are verified on arrival however many quotes are in flight.
    """

    def __init__(
        self,
        sources: Sequence[AggregatorSource],
        verify: VerifyRoutes,
        clock: Clock,
        *,
        soft_s: float,
        hard_s: float,
    ) -> None:
        self._sources = sources
        self._verify = verify
        self._clock = clock
        self._soft_s = soft_s
        self._hard_s = hard_s
        self._in_flight: SingleFlight[tuple[object, ...], CollectedRoutes] = SingleFlight()

    async def __call__(
        self,
        client_id: str,
        request: RouteRequest,
        verified: Callable[[Candidate], None] | None = None,
    ) -> CollectedRoutes:
        """Return the routes of all sources that answered in time.

        Raises NodeUnavailable if the wallet's state cannot be read.
        """
        key = (
            client_id,
            request.sell.address,
            request.buy.address,
            request.sell_amount,
            request.wallet,
            request.slippage_bps,
            verified,
        )
        return await self._in_flight(key, lambda: self._survey(client_id, request, verified))

    async def _survey(
        self, client_id: str, request: RouteRequest, verified: Callable[[Candidate], None] | None
    ) -> CollectedRoutes:
        wallet = observe.in_phase("wallet", self._wallet(request))
        preparing = asyncio.create_task(wallet)  # read while the source requests are in flight
        try:
            answers, verdicts = await self._asked(client_id, request, preparing, verified)
            prepared = await preparing
        finally:
            preparing.cancel()
        by_source = {verdict.route.source: verdict for verdict in verdicts}
        return CollectedRoutes(
            tuple(v.candidate for v in _in_order(answers, by_source) if v.candidate),
            tuple(_report(answer, by_source.get(answer.source)) for answer in answers),
            prepared,
        )

    async def _wallet(self, request: RouteRequest) -> PreparedSimulation:
        await asyncio.sleep(0)  # a turn of the loop, in which the sources are asked
        return await self._verify.prepare_simulation(request)

    async def _asked(
        self,
        client_id: str,
        request: RouteRequest,
        preparing: "asyncio.Task[PreparedSimulation]",
        verified: Callable[[Candidate], None] | None,
    ) -> tuple[list[SourceAnswer[Route]], list[VerificationResult]]:
        def ask(aggregator: Aggregator) -> Awaitable[Route]:
            return aggregator.route(request)

        def unfit(aggregator: Aggregator) -> str | None:
            least, most = aggregator.slippage_bps
            if least <= request.slippage_bps <= most:
                return None
            return f"its vendor takes a slippage of {least} to {most} bps"

        is_early = verified is not None or len(self._in_flight) <= MOST_EARLY
        arriving = ArrivingRoutes(self._verify, request, preparing, is_early, verified)
        async with arriving as routes:
            with SourceFanOut(
                self._sources, client_id, ask, self._clock,
                hard_s=self._hard_s, found=routes.add, unfit=unfit,
            ) as asked:  # fmt: skip
                await observe.in_phase("sources", asked.wait(self._soft_s))
                await observe.in_phase("verification", routes.settled())
                await self._until_usable(asked, routes)
                return asked.answers(), routes.verdicts()

    async def _until_usable(self, asked: SourceFanOut[Route], routes: ArrivingRoutes) -> None:
        """Verify late routes as they come, until one is usable or none can come any more."""
        while not routes.is_usable and (routes.has_new or asked.is_open):
            if not routes.has_new:
                await asked.wait(self._hard_s, first=True)
            await routes.settled()


def _in_order(
    answers: Sequence[SourceAnswer[Route]], verdicts: dict[str, VerificationResult]
) -> list[VerificationResult]:
    return [verdicts[answer.source] for answer in answers if answer.source in verdicts]


def _report(answer: SourceAnswer[Route], verdict: VerificationResult | None) -> SourceReport:
    if answer.miss is not None:
        outcome = SourceOutcome.SKIPPED if answer.skipped else SourceOutcome(answer.miss.miss)
        return SourceReport(answer.source, outcome, answer.latency_ms, reason=answer.miss.reason)
    if verdict is None:
        return SourceReport(
            answer.source, SourceOutcome.TIMED_OUT, answer.latency_ms, reason=TOO_LATE
        )
    return SourceReport(
        answer.source,
        verdict.outcome,
        answer.latency_ms,
        promised=verdict.route.buy_amount,
        simulated=verdict.simulated,
        difference_bps=verdict.difference,
        reason=verdict.reason,
    )


# The tokens of a swap, if this service trades them.


async def tradable_tokens(
    chain: ChainReader, policy: TokenPolicy, sell: Address, buy: Address
) -> tuple[Token, Token]:
    """Return decimals and symbol of both; nothing is awaited if the chain has them cached.

    Raises TokenNotSupported if the operator's lists refuse one or it is not an ERC-20, and
    NodeUnavailable.
    """
    for address in (sell, buy):
        reason = policy.refusal(address)
        if reason:
            raise TokenNotSupported(token=address, reason=reason)
    sell_token, buy_token = await chain.tokens(sell, buy)
    return _known(sell_token, sell, "sellToken"), _known(buy_token, buy, "buyToken")


def _known(token: Token | None, address: Address, field: str) -> Token:
    if token is None:
        raise TokenNotSupported(token=address, reason=f"{field} is not an ERC-20 on mainnet")
    return token


# The error for a quote when no source gave a usable route.


_FOUND_NOTHING = frozenset({SourceOutcome.NO_ROUTE, SourceOutcome.UNSAFE})
"""The source answered, but gave no usable route. It does not answer for one that is away."""
_AWAY = frozenset(
    {
        SourceOutcome.UNAVAILABLE,
        SourceOutcome.TIMED_OUT,
        SourceOutcome.RATE_LIMITED,
        SourceOutcome.SKIPPED,
    }
)
_SIMULATED = frozenset({SourceOutcome.REVERTED, SourceOutcome.SHORT_DELIVERY})
_UNVERIFIED = (
    "Try again in a few seconds. If it stays so, the reason says what is missing: the wallet's "
    "tokens or allowance, or a node with eth_simulateV1 (node.urls; `quietswap sources check`). "
    "The operator can offer routes without a simulation: quotes.require_verification = false."
)
_SAYS_NOTHING = frozenset({SourceOutcome.UNBOUND, SourceOutcome.TOKEN_UNKNOWN})
"""With these alone nothing is away. A route that is never offered does not stand for the others."""


def no_route_error(
    reports: Sequence[SourceReport], sell_token: Address, buy_token: Address
) -> Exception:
    """Return the error for a quote without a candidate.

    ServiceUnavailable if there are routes and none could be simulated. Otherwise
    InsufficientLiquidity if a simulated route fell short, or if a source answered without a usable
    route and none is away; otherwise TokenNotSupported if any does not know a token of the pair;
    otherwise ServiceUnavailable. A source whose routes are never offered counts only if no other
    one is away.

    No vendor says which of the two tokens it does not know. Every vendor knows `MAJORS`, so if only
    the buy token is one of them, the error names the sell token, otherwise the buy token.
    """
    outcomes = {report.outcome for report in reports}
    rows = [
        {"source": report.source, "outcome": report.outcome.value, "reason": report.reason}
        for report in reports
    ]
    blind = [r for r in reports if r.outcome is SourceOutcome.UNVERIFIED]
    if blind and not outcomes & _SIMULATED:
        return ServiceUnavailable(
            f"there are routes, but none could be simulated: {blind[0].reason}",
            {"sources": rows},
            _UNVERIFIED,
        )
    is_only_unbound = SourceOutcome.UNBOUND in outcomes and outcomes <= _SAYS_NOTHING
    is_nothing = outcomes & _FOUND_NOTHING and not outcomes & _AWAY
    if outcomes & _SIMULATED or is_nothing or is_only_unbound:
        return InsufficientLiquidity(sources=rows)
    if SourceOutcome.TOKEN_UNKNOWN in outcomes:
        names = ", ".join(r.source for r in reports if r.outcome is SourceOutcome.TOKEN_UNKNOWN)
        return TokenNotSupported(
            token=sell_token if buy_token in MAJORS and sell_token not in MAJORS else buy_token,
            reason=f"sellToken or buyToken is unknown to {names}; no other source gave a route",
        )
    return ServiceUnavailable("no aggregator gave a usable answer", {"sources": rows})
