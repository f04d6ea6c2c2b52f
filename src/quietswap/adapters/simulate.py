"""Run every candidate swap on the node before anybody is asked to sign it.

eth_simulateV1 (https://ethereum.github.io/execution-apis/ethsimulatev1-notes) carries state from
one simulated block to the next, so candidates put into one payload would trade against each
other's leftovers. Each candidate therefore is a payload of its own, and all of them travel as one
JSON-RPC batch: one round trip, and every candidate starts from the same untouched state.
"""

from collections.abc import Mapping, Sequence

from quietswap.adapters import erc20, multicall
from quietswap.adapters.jsonrpc import JsonRpc
from quietswap.adapters.multicall import View
from quietswap.adapters.pretend import CannotSimulate, Holdings, Pretence, Pretender
from quietswap.adapters.rpc_wire import Call, Result, RpcError
from quietswap.adapters.simulation_wire import METHOD, hex_word, read_calls, simulation_call
from quietswap.domain.route import Route, SwapRequest
from quietswap.domain.transaction import GAS_LIMIT_CAP
from quietswap.ports.outside import ChainDown, Clock, Simulation

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

    async def simulate(
        self, request: SwapRequest, candidates: Sequence[Route]
    ) -> Sequence[Simulation]:
        """Return one verdict per candidate, in order. Raises ChainDown."""
        if not candidates:
            return []
        try:
            if not self.can_simulate:
                raise CannotSimulate
            holdings = await self._holdings(request, candidates)
            pretence = await self._pretender.prepare(request, holdings)
            return await self._simulated(request, candidates, pretence)
        except CannotSimulate:
            if self.can_simulate:
                self._blind_until = self._clock.monotonic() + _NO_METHOD_LASTS_S
            return [Simulation(None, reason=NO_METHOD)] * len(candidates)

    async def _holdings(self, request: SwapRequest, candidates: Sequence[Route]) -> Holdings:
        spenders = list(dict.fromkeys(route.spender for route in candidates))
        token, wallet = request.sell.address, request.wallet
        asked = [erc20.balance_of(wallet), *(erc20.allowance(wallet, s) for s in spenders)]
        answers = await multicall.look(self._rpc, [View(token, data) for data in asked])
        balance, *allowances = (erc20.read_uint(answer) for answer in answers)
        if balance is None:
            raise ChainDown("the sell token does not tell the wallet's balance")
        return Holdings(balance, {s: a or 0 for s, a in zip(spenders, allowances, strict=True)})

    async def _simulated(
        self, request: SwapRequest, candidates: Sequence[Route], pretence: Pretence
    ) -> list[Simulation]:
        obstacles = [pretence.obstacle(route.spender) for route in candidates]
        calls = [
            _swap_call(request, route, pretence)
            for route, obstacle in zip(candidates, obstacles, strict=True)
            if obstacle is None
        ]
        results = await self._rpc.batch(calls)
        if any(isinstance(result, RpcError) and result.is_unsupported for result in results):
            raise CannotSimulate
        answers = iter(results)
        return [
            Simulation(None, reason=obstacle)
            if obstacle
            else self._verdict(request, next(answers), pretence.words(route.spender))
            for route, obstacle in zip(candidates, obstacles, strict=True)
        ]

    def _verdict(
        self, request: SwapRequest, result: Result, overridden: Mapping[int, int]
    ) -> Simulation:
        if isinstance(result, RpcError):
            return Simulation(None, reason=f"not simulated: {result.message}"[:120])
        held, approved, before, swap, after = read_calls(result, 5)
        if min(held.number or 0, approved.number or 0) < request.sell_amount:
            if overridden:
                self._pretender.distrust(request.sell.address)
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
