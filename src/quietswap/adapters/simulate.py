"""Run every candidate swap on the node before anybody is asked to sign it.

eth_simulateV1 (https://ethereum.github.io/execution-apis/ethsimulatev1-notes) carries state from
one simulated block to the next, so candidates put into one payload would trade against each
other's leftovers. Each candidate therefore is a payload of its own, and all of them travel as one
JSON-RPC batch: one round trip, and every candidate starts from the same untouched state.
"""

from collections.abc import Mapping, Sequence

from quietswap.adapters import erc20
from quietswap.adapters.jsonrpc import JsonRpc
from quietswap.adapters.pretend import CannotSimulate, Holdings, Pretence, Pretender
from quietswap.adapters.rpc_wire import Call, Result, RpcError
from quietswap.adapters.simulation_wire import METHOD, hex_word, read_calls, simulation_call
from quietswap.domain.address import Address
from quietswap.domain.route import Route, SwapRequest
from quietswap.domain.transaction import GAS_LIMIT_CAP
from quietswap.ports.outside import ChainDown, Clock, Sender, Simulation

NO_METHOD = f"node has no {METHOD}"

_NO_METHOD_LASTS_S = 15.0
_VIEW_GAS = 3_000_000
_POCKET_MONEY = 10**19
"""Wei given to the wallet: gas is free in the simulation, but not every node's checks know."""


class Simulator:
    """Simulates swaps from a wallet that may not yet hold or have approved what it sells."""

    def __init__(self, rpc: JsonRpc, clock: Clock) -> None:
        self._rpc = rpc
        self._clock = clock
        self._pretender = Pretender(rpc, clock)
        self._blind_until: float | None = None

    @property
    def can_simulate(self) -> bool:
        """Whether the nodes are not known to lack eth_simulateV1; they are asked again later."""
        return self._blind_until is None or self._clock.monotonic() >= self._blind_until

    async def rehearse(
        self, request: SwapRequest, sender: Sender, holdings: Holdings
    ) -> "SwapRehearsal":
        """Return the swap with all that must be overridden for it. Never raises for the node."""
        pretence: Pretence | str
        try:
            if not self.can_simulate:
                raise CannotSimulate
            pretence = await self._pretender.prepare(request, holdings)
        except CannotSimulate:
            pretence = self.went_blind()
        except ChainDown as error:
            pretence = str(error)
        return SwapRehearsal(self, request, sender, pretence)

    async def run(self, calls: Sequence[Call]) -> list[Result]:
        """Return what the node answers to the simulations. Raises ChainDown and CannotSimulate."""
        results = await self._rpc.batch(calls)
        if any(isinstance(result, RpcError) and result.is_unsupported for result in results):
            raise CannotSimulate
        return results

    def went_blind(self) -> str:
        """Note for a while that no node knows eth_simulateV1, and return that in words."""
        if self.can_simulate:
            self._blind_until = self._clock.monotonic() + _NO_METHOD_LASTS_S
        return NO_METHOD

    def distrust(self, token: Address) -> None:
        """Note that this token did not read back what was overridden."""
        self._pretender.distrust(token)


class SwapRehearsal:
    """Implements quietswap.ports.outside.Rehearsal. `pretence` in words: why there is none."""

    def __init__(
        self, simulator: Simulator, request: SwapRequest, sender: Sender, pretence: Pretence | str
    ) -> None:
        self._simulator = simulator
        self._request = request
        self._sender = sender
        self._pretence = pretence

    @property
    def sender(self) -> Sender:
        """The wallet as it was found."""
        return self._sender

    async def simulate(self, candidates: Sequence[Route]) -> Sequence[Simulation]:
        """Return one verdict per candidate, in order. Raises ChainDown."""
        pretence = self._pretence
        if not candidates:
            return []
        if isinstance(pretence, str):
            return [Simulation(None, reason=pretence)] * len(candidates)
        obstacles = [pretence.obstacle(route.spender) for route in candidates]
        calls = [
            _swap_call(self._request, route, pretence)
            for route, obstacle in zip(candidates, obstacles, strict=True)
            if obstacle is None
        ]
        try:
            answers = iter(await self._simulator.run(calls))
        except CannotSimulate:
            return [Simulation(None, reason=self._simulator.went_blind())] * len(candidates)
        return [
            Simulation(None, reason=obstacle)
            if obstacle
            else self._verdict(next(answers), pretence.words(route.spender))
            for route, obstacle in zip(candidates, obstacles, strict=True)
        ]

    def _verdict(self, result: Result, overridden: Mapping[int, int]) -> Simulation:
        if isinstance(result, RpcError):
            return Simulation(None, reason=f"not simulated: {result.message}"[:120])
        held, approved, before, swap, after = read_calls(result, 5)
        if min(held.number or 0, approved.number or 0) < self._request.sell_amount:
            if overridden:
                self._simulator.distrust(self._request.sell.address)
            return Simulation(None, reason="the sell token does not show what the swap needs")
        if not swap.succeeded:
            return Simulation(False, reason=swap.reason)
        if before.number is None or after.number is None:
            return Simulation(None, reason="the buy token does not tell the wallet's balance")
        return Simulation(True, max(after.number - before.number, 0), swap.gas)


def _swap_call(request: SwapRequest, route: Route, pretence: Pretence) -> Call:
    """Read both sides, swap, read again; every call needs a `to` and enough gas of its own."""
    wallet, sell = request.wallet, request.sell.address
    bought = _view(request.buy.address, erc20.balance_of(wallet))
    swap = {
        "from": wallet,
        "to": route.target,
        "data": "0x" + route.data.hex(),
        "value": hex(route.value),
        "gas": hex(GAS_LIMIT_CAP),
    }
    words = {hex_word(slot): hex_word(word) for slot, word in pretence.words(route.spender).items()}
    overrides: dict[str, object] = {wallet: {"balance": hex(_POCKET_MONEY)}}
    if words:
        overrides[sell] = {"stateDiff": words}
    approved = _view(sell, erc20.allowance(wallet, route.spender))
    return simulation_call(
        overrides,
        [_view(sell, erc20.balance_of(wallet)), approved, bought, swap, bought],
    )


def _view(target: str, data: bytes) -> dict[str, object]:
    return {"to": target, "data": "0x" + data.hex(), "gas": hex(_VIEW_GAS)}
