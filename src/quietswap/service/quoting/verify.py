"""Check routes by the route policy, then by a simulation, and judge them by its results.

A route is refused before its simulation unless its router is proven to enforce the terms."""

import asyncio
import itertools
from collections.abc import Collection, Mapping, Sequence

import msgspec

from quietswap.rules.amounts import BPS, difference_bps
from quietswap.rules.chain.records import (
    ChainReader,
    NodeUnavailable,
    PreparedSimulation,
    SimulationResult,
)
from quietswap.rules.quotes.quote import (
    Remedy,
    Route,
    RouteRequest,
    SourceOutcome,
    VerificationStatus,
)
from quietswap.rules.quotes.route_policy import (
    breaks_amounts_only,
    check_route,
    with_enforced_minimum,
)
from quietswap.rules.quotes.scoring import Candidate
from quietswap.rules.routers.method import Measure
from quietswap.rules.safety.methods import measure
from quietswap.rules.tokens.token import WITHOUT_TRANSFER_FEE
from quietswap.rules.trial.verdict import Fault, fault
from quietswap.rules.tx import fees
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors import zeroex
from quietswap.service import observe


class VerificationResult(msgspec.Struct, frozen=True):
    """The result of one route: a candidate, or the outcome and reason of its rejection."""

    route: Route
    candidate: Candidate | None
    outcome: SourceOutcome
    simulated: int | None = None
    reason: str | None = None
    remedy: Remedy | None = None

    @property
    def difference(self) -> int | None:
        """Return simulated against promised output in bps; None without a simulation."""
        if self.simulated is None:
            return None
        return difference_bps(self.simulated, self.route.buy_amount)


_BLOCK_ONLY = (
    "it leads through {}, a proprietary AMM, whose price exists only in the block being built"
)
"""So a reverted simulation does not say that the route is bad."""


class VerifyRoutes:
    """`pinned`: the routers of each source. `required`: refuse routes without a simulation."""

    def __init__(
        self,
        chain: ChainReader,
        pinned: Mapping[str, Sequence[Address]],
        *,
        required: bool,
    ) -> None:
        self._chain = chain
        self._pinned = pinned
        self._spenders = list(dict.fromkeys(itertools.chain.from_iterable(pinned.values())))
        self._required = required
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
        enforced = [with_enforced_minimum(route, request) for route in routes]
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
        built to hide its effects.
        """
        others_could = any(result.succeeded is not None for _, result in simulated)
        return [self._judged(request, *each, others_could=others_could) for each in simulated]

    def _judged(
        self, request: RouteRequest, route: Route, result: SimulationResult, *, others_could: bool
    ) -> VerificationResult:
        if result.succeeded is None:
            return self._unverified(request, route, result.reason, required=others_could)
        return self._verdict(route, result)

    @staticmethod
    def count(judged: Sequence[VerificationResult]) -> None:
        """Count and log what `judge` returned. What `check` refuses it counts itself."""
        for verdict in judged:
            if verdict.outcome is SourceOutcome.UNSAFE:
                observe.route_unsafe(verdict.route.source, verdict.reason or "")
            else:
                observe.route_verified(verdict.route.source, verdict.outcome, verdict.difference)

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
        reason = check_route(route, request, pinned, settlers=settlers)
        if reason is None:
            return None
        if route.buy_amount < BPS and breaks_amounts_only(
            route, request, pinned, settlers=settlers
        ):
            # Dust: a unit is more than a bps, so rounding alone breaks the bounds. Clients choose
            # the amount, and would raise the alarm of operators at will.
            observe.source_missed(route.source, SourceOutcome.UNSAFE.value, reason)
        else:
            observe.route_unsafe(route.source, reason)
        return VerificationResult(route, None, SourceOutcome.UNSAFE, reason=reason)

    @staticmethod
    def _verdict(route: Route, simulation: SimulationResult) -> VerificationResult:
        received = simulation.received
        match fault(simulation, route.min_buy_amount):
            case Fault.UNKNOWN | Fault.REVERTS:
                reason = simulation.reason or "the swap reverts"
                outcome = SourceOutcome.REVERTED
                if route.proprietary_amms:
                    outcome, names = SourceOutcome.UNVERIFIED, ", ".join(route.proprietary_amms)
                    reason = f"{_BLOCK_ONLY.format(names)}; simulated: {reason}"
                return VerificationResult(route, None, outcome, reason=reason)
            case Fault.BREAKS_A_RULE:
                broken = simulation.broken
                return VerificationResult(route, None, SourceOutcome.UNSAFE, received, broken)
            case Fault.SHORT:
                short = f"delivers {received or 0}, less than its minimum {route.min_buy_amount}"
                return VerificationResult(
                    route, None, SourceOutcome.SHORT_DELIVERY, received, short
                )
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
            remedy = None if required else Remedy.OFFER_UNVERIFIED
            return VerificationResult(
                route, None, SourceOutcome.UNVERIFIED, reason=reason, remedy=remedy
            )
        gas = fees.unsimulated_gas(route.gas, len(route.path) - 1)
        candidate = Candidate(route, VerificationStatus.UNVERIFIED, None, gas)
        return VerificationResult(route, candidate, SourceOutcome.ANSWERED, reason=reason)
