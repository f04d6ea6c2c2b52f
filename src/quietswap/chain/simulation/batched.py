"""The simulation of a swap in its batched form: one transaction of the wallet to itself.

It is the transaction that is issued, on the real allowance, which must be 0. The second block also
reads the allowance that is left, and whether the wallet's code supports the mode.
"""

from collections.abc import Sequence
from dataclasses import replace

from quietswap.chain import erc20
from quietswap.chain.address import Address
from quietswap.chain.chain import AccountState
from quietswap.chain.rpc_wire import Result
from quietswap.chain.simulation.codec import NextBlock, RandBelow, SimulatedCall
from quietswap.chain.simulation.overrides import StateOverride
from quietswap.chain.simulation.routes import BalancesBefore, MeasuresItself, RouteSimulationCodec
from quietswap.quoting.quote import Route, RouteRequest
from quietswap.routers import batch


class BatchedSwapCodec(RouteSimulationCodec):
    """Builds and reads the simulations of the batched form of `route`, and of no other route."""

    _further = 2

    def __init__(
        self,
        request: RouteRequest,
        block: NextBlock,
        sender: AccountState,
        override: StateOverride,
        route: Route,
        *,
        below: RandBelow,
        measures_itself: MeasuresItself,
    ) -> None:
        spender = route.spender
        super().__init__(
            request,
            block,
            replace(sender, allowances={spender: sender.allowances.get(spender, 0)}),
            replace(override, allowances={}),
            below=below,
            measures_itself=measures_itself,
        )
        self._spender = spender

    def _called(self, route: Route) -> tuple[Address, bytes]:
        amount = self._request.sell_amount
        calls = batch.SwapBatch(self.sell, route.target, amount, route.data)
        return self._request.wallet, calls.calldata()

    def _second(self, block: NextBlock, calls: Sequence[object]) -> dict[str, object]:
        wallet = self._request.wallet
        left = self._view(self.sell, erc20.allowance(wallet, self._spender))
        return super()._second(block, [*calls, left, self._view(wallet, batch.SUPPORTS_MODE)])

    def read_before(self, result: Result) -> BalancesBefore | str:
        """Return the balances before the swap; the reason if the allowance is not 0."""
        before = super().read_before(result)
        if isinstance(before, str):
            return before
        return batch.refused_allowance(before.allowances[self._spender]) or before

    def _approved(self, before: BalancesBefore, route: Route) -> int:
        return self._request.sell_amount

    def _broken(
        self,
        swap: SimulatedCall,
        before: BalancesBefore,
        route: Route,
        received: int,
        after: Sequence[SimulatedCall],
    ) -> str | None:
        *others, left, supports = after
        if supports.number != 1:
            return "the wallet's code does not support the mode of the batch"
        if left.number != 0:
            return f"it leaves the router an allowance of {left.number}"
        return super()._broken(swap, before, route, received, others)
