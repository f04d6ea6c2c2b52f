"""One survey of the market: ask all, verify, and keep asking while nothing usable has come."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace

from quietswap import observe
from quietswap.domain.quote import Outcome, SourceReport
from quietswap.domain.route import SwapRequest
from quietswap.domain.scoring import Candidate
from quietswap.ports.outside import Clock, Rehearsal, Sender
from quietswap.services.ask_sources import Answer, Round, Source
from quietswap.services.verify_route import Verdict, VerifyRoutes


@dataclass(frozen=True, slots=True)
class Survey:
    """Every candidate that survived, what happened at every source, and who would send."""

    candidates: tuple[Candidate, ...]
    reports: tuple[SourceReport, ...]
    sender: Sender


class SurveyRoutes:
    """`soft_s`: answer then if a usable route is in; `hard_s`: give up then.

    A route is never thrown away for being late while it is the only one. Identical requests in
    flight (tokens, amount, wallet, slippage) share one survey.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        verify: VerifyRoutes,
        clock: Clock,
        *,
        soft_s: float = 0.6,
        hard_s: float = 3.0,
    ) -> None:
        self._sources = sources
        self._verify = verify
        self._clock = clock
        self._soft_s = soft_s
        self._hard_s = hard_s
        self._running: dict[tuple[object, ...], asyncio.Task[Survey]] = {}

    async def __call__(self, request: SwapRequest) -> Survey:
        """Return the survey. Raises ChainDown when the node does not tell what the wallet has."""
        key = (
            request.sell.address,
            request.buy.address,
            request.sell_amount,
            request.wallet,
            request.slippage_bps,
        )
        task = self._running.get(key)
        if task is None:
            task = asyncio.create_task(self._survey(request))
            self._running[key] = task
            task.add_done_callback(lambda _: self._running.pop(key, None))
        return await asyncio.shield(task)  # one caller hanging up must not take the others down

    async def _survey(self, request: SwapRequest) -> Survey:
        wallet = observe.in_phase("wallet", self._verify.rehearse(request))
        rehearsal = asyncio.create_task(wallet)  # the node reads while the sources think
        try:
            answers, verdicts = await self._asked(request, rehearsal)
            sender = (await rehearsal).sender
        finally:
            rehearsal.cancel()
        by_source = {verdict.route.source: verdict for verdict in verdicts}
        reports = tuple(_report(answer, by_source.get(answer.source)) for answer in answers)
        candidates = tuple(v.candidate for v in _in_order(answers, by_source) if v.candidate)
        return Survey(candidates, reports, sender)

    async def _asked(
        self, request: SwapRequest, rehearsal: Awaitable[Rehearsal]
    ) -> tuple[list[Answer], list[Verdict]]:
        with Round(self._sources, request, self._clock) as asked:
            await observe.in_phase("sources", asked.wait(self._soft_s))
            checking = self._verify(request, rehearsal, asked.fresh_routes())
            verdicts = await observe.in_phase("verification", checking)
            while not _usable(verdicts) and asked.pending and asked.elapsed_s < self._hard_s:
                await asked.wait(self._hard_s, first=True)
                verdicts += await self._verify(request, rehearsal, asked.fresh_routes())
            return asked.answers(), verdicts


def _usable(verdicts: Sequence[Verdict]) -> bool:
    return any(verdict.candidate for verdict in verdicts)


def _in_order(answers: Sequence[Answer], verdicts: dict[str, Verdict]) -> list[Verdict]:
    return [verdicts[answer.source] for answer in answers if answer.source in verdicts]


def _report(answer: Answer, verdict: Verdict | None) -> SourceReport:
    if answer.miss is not None:
        outcome = Outcome.SKIPPED if answer.skipped else Outcome(answer.miss.miss)
        return SourceReport(answer.source, outcome, answer.latency_ms, reason=answer.miss.reason)
    report = SourceReport(answer.source, Outcome.ANSWERED, answer.latency_ms)
    if verdict is None:
        return report
    return replace(
        report,
        outcome=verdict.outcome,
        promised=verdict.route.buy_amount,
        simulated=verdict.simulated,
        difference_bps=verdict.difference,
        reason=verdict.reason,
    )
