"""Simulate candidate swaps on the node.

eth_simulateV1 (https://ethereum.github.io/execution-apis/ethsimulatev1-notes) carries state from
one simulated block to the next, so candidates in one payload would affect each other. Each
candidate is therefore a separate payload in one JSON-RPC batch: one round trip, and all candidates
start from the same state. Candidates that come later are further batches on the same block.

`quietswap.rules.trial` says what a payload contains. One further payload reads the balances before
the swap, once for all candidates of all batches.

One candidate must not prevent the simulation of the others. If the batch fails, or a gas limit is
raised, each candidate is sent as a separate concurrent request.
"""

import asyncio
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from quietswap.rules.chain.records import AccountState, Head, NodeUnavailable, SimulationResult
from quietswap.rules.chain.rpc_wire import Result, RpcCall
from quietswap.rules.quotes.quote import Route, RouteRequest
from quietswap.rules.tokens.token import WrapOperation
from quietswap.rules.trial import codec, next_block, routes
from quietswap.rules.trial.batched import BatchedSwapCodec
from quietswap.rules.trial.routes import measures_itself
from quietswap.rules.tx import fees
from quietswap.rules.tx.address import Address
from quietswap.service.base.clock import Clock
from quietswap.service.base.concurrency import CircuitBreaker
from quietswap.service.node.rpc import NodeRpcClient
from quietswap.service.node.simulation import overrides
from quietswap.service.node.simulation.block_runner import BlockRunner
from quietswap.service.node.work import TokenCosts

NO_METHOD = f"node has no {codec.METHOD}"

_UNSUPPORTED_TTL_S = 3.0
"""Short: where only simulated routes are offered, nothing is quoted in this time."""
_ROUNDS, _LAST_ROUNDS = 3, 1
"""Rounds that may raise a gas limit, and further ones that only lower it, or add to one that was
just enough."""
_MOST_S = 8.0
"""Time limit of all rounds of one quote."""

_CHEAP_VIEW = 300_000
"""The most gas of a view of tokens that count as cheap."""
_TOO_LONG = "the node took too long to simulate it"
_EXCESSIVE = SimulationResult(
    False, reason="it succeeds only with a gas limit far above the gas that it uses"
)

_Ran = dict[int, routes.RanSwap]
"""By the index of the candidate."""


class SwapSimulator:
    """Simulates swaps of a wallet that may lack the balance or the allowance.

    `below` returns unpredictable random numbers, as `secrets.randbelow`. `measures_itself` returns
    whether the router compares its own balance, not the wallet's, with the minimum output.
    """

    def __init__(
        self,
        rpc: NodeRpcClient,
        clock: Clock,
        *,
        below: next_block.RandBelow = secrets.randbelow,
        measures_itself: routes.MeasuresItself = measures_itself,
        costs: TokenCosts | None = None,
    ) -> None:
        self.clock = clock
        self.costs = costs or TokenCosts(clock)
        self._below = below
        self._measures_itself = measures_itself
        self._override_builder = overrides.StateOverrideBuilder(rpc, clock, below)
        self._unsupported = CircuitBreaker(clock, pause_s=_UNSUPPORTED_TTL_S)
        self.blocks = BlockRunner(rpc, clock, below)

    @property
    def can_simulate(self) -> bool:
        """False for 3 s after the nodes reported that they do not support eth_simulateV1."""
        return not self._unsupported.is_open

    @property
    def layouts(self) -> overrides.StorageLayouts:
        return self._override_builder.layouts

    def reads_ahead(self, request: RouteRequest, spenders: Sequence[Address]) -> list[RpcCall]:
        """Return what overrides need, to be read in one batch with the wallet's state."""
        return self._override_builder.reads_ahead(request, spenders) if self.can_simulate else []

    async def prepare_simulation(
        self, request: RouteRequest, head: Head, sender: AccountState, ahead: Sequence[Result] = ()
    ) -> "PreparedSwapSimulation":
        """Return the prepared simulation with its overrides. A failure of the node never raises."""
        trials: routes.RouteSimulationCodec | str
        try:
            if not self.can_simulate:
                raise overrides.SimulationUnsupported
            tag = self.blocks.tag(head)
            override = await self._override_builder.prepare(request, sender, tag, ahead)
        except overrides.SimulationUnsupported:
            trials = self.pause_simulation()
        except NodeUnavailable as error:
            trials = str(error)
        else:
            trials = routes.RouteSimulationCodec(
                request,
                next_block.NextBlock.after(head, self._below),
                sender,
                override,
                below=self._below,
                measures_itself=self._measures_itself,
            )
        return PreparedSwapSimulation(self, head, sender, trials)

    def pause_simulation(self) -> str:
        """Skip simulations for 3 s, as no node supports eth_simulateV1; return that reason."""
        if self.can_simulate:
            self._unsupported.record_failure()
        return NO_METHOD


class PreparedSwapSimulation:
    """A `PreparedSimulation`; `trials` is why there can be none."""

    def __init__(
        self,
        simulator: SwapSimulator,
        head: Head,
        sender: AccountState,
        trials: routes.RouteSimulationCodec | str,
    ) -> None:
        self._simulator = simulator
        self._trials = trials
        self._clock = simulator.clock
        self._head = head
        self.sender = sender
        self.next_base_fee = head.next_base_fee
        self._before: routes.BalancesBefore | None = None
        """The balances before the swaps on the exact block, once they were read."""

    async def simulate(self, candidates: Sequence[Route]) -> Sequence[SimulationResult]:
        """Return one result per candidate, in order.

        A later round never removes a result, except a success whose gas limit must not be issued.
        """
        trials = self._trials
        if isinstance(trials, str):
            return [SimulationResult(None, reason=trials)] * len(candidates)
        verdicts: dict[int, SimulationResult] = {}
        limits: dict[int, int] = {}
        for at, route in enumerate(candidates):
            obstacle = trials.obstacle(route)
            if obstacle is not None:
                verdicts[at] = SimulationResult(None, reason=obstacle)
            else:
                limits[at] = fees.first_gas_limit(route.gas, len(route.path) - 1)
        until = self._clock.monotonic() + _MOST_S
        raised: Collection[int] = ()
        for number in range(1, _ROUNDS + _LAST_ROUNDS + 1):
            if not limits or self._clock.monotonic() >= until:
                break
            rows = {at: (candidates[at], limit) for at, limit in limits.items()}
            ran = await self._round(trials, rows, raised, until)
            for at, (verdict, _) in ran.items():
                stands = at in verdicts and not _is_excessive(verdicts[at])
                if verdict.succeeded is not None or not stands:
                    verdicts[at] = verdict
            limits = _other_limits(limits, ran, is_amsterdam=self._head.is_amsterdam)
            raised = [at for at in limits if not ran[at][0].succeeded]
            if number >= _ROUNDS:
                limits = {at: limit for at, limit in limits.items() if at not in raised}
        if trials.dearest_view:
            is_cheap = trials.dearest_view <= _CHEAP_VIEW
            tokens = trials.sell, trials.request.buy.address
            self._simulator.costs.measured(tokens, is_cheap=is_cheap)
        results = (verdicts[at] for at in range(len(candidates)))
        return [_EXCESSIVE if _is_excessive(result) else result for result in results]

    async def simulate_batched(
        self, route: Route, conversion: WrapOperation | None = None
    ) -> SimulationResult:
        """Return the result of the batched form of a route; `route.gas` is its estimate."""
        trials = self._trials
        if not isinstance(trials, str):
            trials = BatchedSwapCodec(trials, route, conversion)
        alone = PreparedSwapSimulation(self._simulator, self._head, self.sender, trials)
        [result] = await alone.simulate([route])
        return result

    async def _round(
        self,
        trials: routes.RouteSimulationCodec,
        rows: Mapping[int, routes.LimitedRoute],
        apart: Collection[int],
        until: float,
    ) -> _Ran:
        """Run all rows in one batch, except those in `apart`, which run alone."""
        together = {at: row for at, row in rows.items() if at not in apart}
        groups = [group for group in (together, *({at: rows[at]} for at in apart)) if group]
        if len(groups) == 1:
            return await self._group(trials, groups[0], until)
        ran = await asyncio.gather(*(self._group(trials, group, until) for group in groups))
        return {at: one for part in ran for at, one in part.items()}

    async def _group(
        self,
        trials: routes.RouteSimulationCodec,
        rows: Mapping[int, routes.LimitedRoute],
        until: float,
    ) -> _Ran:
        """Run the rows in one batch; if it fails, each alone."""
        left_s = max(until - self._clock.monotonic(), 0)
        try:
            async with asyncio.timeout(left_s):
                return dict(zip(rows, await self._batch(trials, list(rows.values())), strict=True))
        except TimeoutError:
            return dict.fromkeys(rows, (SimulationResult(None, reason=_TOO_LONG), 0))
        except NodeUnavailable as error:
            if len(rows) == 1:
                return dict.fromkeys(rows, (SimulationResult(None, reason=str(error)), 0))
        return await self._round(trials, rows, rows, until)

    async def _batch(
        self, trials: routes.RouteSimulationCodec, rows: Sequence[routes.LimitedRoute]
    ) -> list[routes.RanSwap]:
        """Return result and gas used of each route with its gas limit. Raises NodeUnavailable."""
        return await self._later(trials, rows) or await self._whole(trials, rows)

    async def _later(
        self, trials: routes.RouteSimulationCodec, rows: Sequence[routes.LimitedRoute]
    ) -> list[routes.RanSwap] | None:
        """Run the swaps alone, if the balances before them are known; None if that fails."""
        before = self._before
        if before is None:
            return None

        def calls(block: next_block.NextBlock) -> list[RpcCall]:
            return [trials.swap_call(block, route, limit) for route, limit in rows]

        results = await self._simulator.blocks.run_again(calls, trials.block)
        if results is None:
            return None
        ran = trials.read_all(results, before, rows)
        return None if any(one.reason == routes.OTHER_BLOCK for one, _ in ran) else ran

    async def _whole(
        self, trials: routes.RouteSimulationCodec, rows: Sequence[routes.LimitedRoute]
    ) -> list[routes.RanSwap]:
        exact = False

        def calls(block: next_block.NextBlock) -> list[RpcCall]:
            nonlocal exact
            exact = block.exact
            swaps = [trials.swap_call(block, route, limit) for route, limit in rows]
            return [trials.before_call(block), *swaps]

        try:
            first, *rest = await self._simulator.blocks.run(calls, trials.block)
        except overrides.SimulationUnsupported:
            return [(SimulationResult(None, reason=self._simulator.pause_simulation()), 0)] * len(
                rows
            )
        before = trials.read_before(first)
        if isinstance(before, str):
            return [(SimulationResult(None, reason=before), 0)] * len(rows)
        ran = trials.read_all(rest, before, rows)
        if not exact:
            return [(replace(result, exact=False), used) for result, used in ran]
        self._before = before
        return ran


def _is_excessive(verdict: SimulationResult) -> bool:
    """Return whether a swap succeeded with a gas limit that must not be issued."""
    if not verdict.succeeded or verdict.broken is not None:
        return False
    return fees.is_excessive(verdict.gas_limit or 0, verdict.gas or 0)


def _other_limits(
    limits: Mapping[int, int], ran: Mapping[int, routes.RanSwap], *, is_amsterdam: bool
) -> dict[int, int]:
    """Return the candidates that must run again, with their new gas limit."""
    again: dict[int, int] = {}
    for at, (verdict, used) in ran.items():
        if verdict.succeeded is None:
            continue
        other = fees.other_gas_limit(
            limits[at], used, succeeded=verdict.succeeded, is_amsterdam=is_amsterdam
        )
        if other is not None:
            again[at] = other
    return again
