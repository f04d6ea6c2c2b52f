"""Check routes against the money rules, then against a simulation of all of them at once."""

import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from quietswap import observe
from quietswap.domain import fees
from quietswap.domain.address import Address
from quietswap.domain.amounts import difference_bps
from quietswap.domain.money_rules import check_route, with_enforced_minimum
from quietswap.domain.quote import Outcome, Verification
from quietswap.domain.route import Route, SwapRequest
from quietswap.domain.scoring import Candidate
from quietswap.ports.outside import Chain, ChainDown, Rehearsal, Simulation


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one route: a candidate, or the outcome and reason it was dropped for."""

    route: Route
    candidate: Candidate | None
    outcome: Outcome
    simulated: int | None = None
    reason: str | None = None

    @property
    def difference(self) -> int | None:
        """Simulated against promised, in bps; None where nobody looked."""
        if self.simulated is None:
            return None
        return difference_bps(self.simulated, self.route.buy_amount)


class VerifyRoutes:
    """`pinned` lists the routers of each source, `required` refuses what nobody could check."""

    def __init__(
        self, chain: Chain, pinned: Mapping[str, Sequence[Address]], *, required: bool
    ) -> None:
        self._chain = chain
        self._pinned = pinned
        self._spenders = list(dict.fromkeys(itertools.chain.from_iterable(pinned.values())))
        self._required = required

    async def rehearse(self, request: SwapRequest) -> Rehearsal:
        """Return the swap ready to be simulated through any pinned router. Raises ChainDown."""
        return await self._chain.rehearse(request, self._spenders)

    async def __call__(
        self, request: SwapRequest, rehearsal: Awaitable[Rehearsal], routes: Sequence[Route]
    ) -> list[Verdict]:
        """Return one verdict per route; the rehearsal is awaited only where there is one to try.

        Raises ChainDown only where the rehearsal does: a node that fails later leaves routes
        unverified.

        A verdict's route may have a lower minimum than the one given: that of its calldata.
        """
        routes = [with_enforced_minimum(route) for route in routes]
        verdicts = [self._safe(request, route) for route in routes]
        safe = [route for route, unsafe in zip(routes, verdicts, strict=True) if unsafe is None]
        judged = iter(await self._simulated(await rehearsal, safe) if safe else [])
        return [verdict or next(judged) for verdict in verdicts]

    def _safe(self, request: SwapRequest, route: Route) -> Verdict | None:
        reason = check_route(route, request, self._pinned.get(route.source, ()))
        if reason is None:
            return None
        observe.route_unsafe(route.source, reason)
        return Verdict(route, None, Outcome.UNSAFE, reason=reason)

    async def _simulated(self, rehearsal: Rehearsal, routes: Sequence[Route]) -> list[Verdict]:
        simulations: Sequence[Simulation]
        try:
            simulations = await observe.in_span("simulation", rehearsal.simulate(routes))
        except ChainDown as error:
            simulations = [Simulation(None, reason=str(error))] * len(routes)
        unknown = [s.reason for s in simulations if s.succeeded is None]
        if unknown:
            observe.verification_unavailable(unknown[0] or "the node gave no verdict")
        judge: Callable[[Route, Simulation], Verdict] = self._judge
        return [judge(route, s) for route, s in zip(routes, simulations, strict=True)]

    def _judge(self, route: Route, simulation: Simulation) -> Verdict:
        verdict = self._verdict(route, simulation)
        observe.route_verified(route.source, verdict.outcome, verdict.difference)
        return verdict

    def _verdict(self, route: Route, simulation: Simulation) -> Verdict:
        received, reason = simulation.received, simulation.reason
        if simulation.succeeded is None:
            return self._unverified(route, reason or "the node could not simulate it")
        if not simulation.succeeded:
            return Verdict(route, None, Outcome.REVERTED, reason=reason or "the swap reverts")
        if received is None or received < route.min_buy_amount:
            short = f"delivers {received or 0}, less than its minimum {route.min_buy_amount}"
            return Verdict(route, None, Outcome.SHORT_DELIVERY, received, short)
        gas = simulation.gas or fees.unsimulated_gas(route.gas, len(route.path) - 1)
        candidate = Candidate(route, Verification.VERIFIED, received, gas)
        return Verdict(route, candidate, Outcome.ANSWERED, received)

    def _unverified(self, route: Route, reason: str) -> Verdict:
        if self._required:
            return Verdict(route, None, Outcome.UNAVAILABLE, reason=f"not verified: {reason}")
        gas = fees.unsimulated_gas(route.gas, len(route.path) - 1)
        candidate = Candidate(route, Verification.UNVERIFIED, None, gas)
        return Verdict(route, candidate, Outcome.ANSWERED, reason=f"not verified: {reason}")
