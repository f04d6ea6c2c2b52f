"""Collect routes: ask all sources, verify each route when it arrives, wait while none is usable."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from quietswap import observe
from quietswap.domain.quote.quote import SourceOutcome, SourceReport
from quietswap.domain.quote.route import Route, RouteRequest
from quietswap.domain.quote.scoring import Candidate
from quietswap.ports.aggregator import Aggregator
from quietswap.ports.clock import Clock
from quietswap.ports.simulation import AccountState, PreparedSimulation
from quietswap.resilience.single_flight import SingleFlight
from quietswap.services.quoting.arriving_routes import ArrivingRoutes
from quietswap.services.quoting.fan_out import TOO_LATE, SourceFanOut
from quietswap.services.quoting.sources import AggregatorSource, SourceAnswer
from quietswap.services.quoting.verify_routes import VerificationResult, VerifyRoutes

MOST_EARLY = 16
"""Quotes in flight with which a route is simulated on arrival. With more, the processor is what
limits: all routes of a quote are one request to the node then, after the last answer."""


@dataclass(frozen=True, slots=True)
class CollectedRoutes:
    """The verified candidates, one report for each source, and what they were simulated with.

    `next_base_fee` in wei is that of the simulated block.
    """

    candidates: tuple[Candidate, ...]
    reports: tuple[SourceReport, ...]
    sender: AccountState
    next_base_fee: int


class CollectRoutes:
    """Return at `soft_s` if a route is usable; otherwise wait until `hard_s`, in seconds.

    A late route is used while it is the only one. Identical requests of a client in flight (tokens,
    amount, wallet, slippage) share one result. Those of two clients do not: which sources are asked
    depends on the client's own budget and circuits.
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

    async def __call__(self, client_id: str, request: RouteRequest) -> CollectedRoutes:
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
        )
        return await self._in_flight(key, lambda: self._survey(client_id, request))

    async def _survey(self, client_id: str, request: RouteRequest) -> CollectedRoutes:
        wallet = observe.in_phase("wallet", self._wallet(request))
        preparing = asyncio.create_task(wallet)  # read while the source requests are in flight
        try:
            answers, verdicts = await self._asked(client_id, request, preparing)
            prepared = await preparing
        finally:
            preparing.cancel()
        by_source = {verdict.route.source: verdict for verdict in verdicts}
        return CollectedRoutes(
            tuple(v.candidate for v in _in_order(answers, by_source) if v.candidate),
            tuple(_report(answer, by_source.get(answer.source)) for answer in answers),
            prepared.sender,
            prepared.next_base_fee,
        )

    async def _wallet(self, request: RouteRequest) -> PreparedSimulation:
        await asyncio.sleep(0)  # a turn of the loop, in which the sources are asked
        return await self._verify.prepare_simulation(request)

    async def _asked(
        self,
        client_id: str,
        request: RouteRequest,
        preparing: "asyncio.Task[PreparedSimulation]",
    ) -> tuple[list[SourceAnswer[Route]], list[VerificationResult]]:
        def ask(aggregator: Aggregator) -> Awaitable[Route]:
            return aggregator.route(request)

        def unfit(aggregator: Aggregator) -> str | None:
            least, most = aggregator.slippage_bps
            if least <= request.slippage_bps <= most:
                return None
            return f"its vendor takes a slippage of {least} to {most} bps"

        is_early = len(self._in_flight) <= MOST_EARLY
        async with ArrivingRoutes(self._verify, request, preparing, is_early) as routes:
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
