"""The simulation of a swap in its batched form: one transaction of the wallet to itself.

It is the transaction that is issued, on the real allowance, which must be 0. The second block
also reads the allowance that is left, and whether the wallet's code supports the mode.
"""

from collections.abc import Sequence
from dataclasses import replace

from quietswap.rules.chain.rpc_wire import Result
from quietswap.rules.quotes.quote import Route
from quietswap.rules.routers import batch
from quietswap.rules.tokens import erc20
from quietswap.rules.trial import codec
from quietswap.rules.trial.routes import BalancesBefore, RouteSimulationCodec
from quietswap.rules.tx.address import Address


class BatchedSwapCodec(RouteSimulationCodec):
    """Builds and reads the simulations of the batched form of `route`, and of no other route."""

    _further = 2

    def __init__(self, plain: RouteSimulationCodec, route: Route) -> None:
        spender, sender = route.spender, plain.sender
        super().__init__(
            plain.request,
            plain.block,
            replace(sender, allowances={spender: sender.allowances.get(spender, 0)}),
            replace(plain.override, allowances={}),
            below=plain.below,
            measures_itself=plain.measures_itself,
        )
        self._spender = spender

    def _called(self, route: Route) -> tuple[Address, bytes]:
        amount = self.request.sell_amount
        calls = batch.SwapBatch(self.sell, route.target, amount, route.data)
        return self.request.wallet, calls.calldata()

    def _second(self, block: codec.NextBlock, calls: Sequence[object]) -> dict[str, object]:
        wallet = self.request.wallet
        left = self._view(self.sell, erc20.allowance(wallet, self._spender))
        return super()._second(block, [*calls, left, self._view(wallet, batch.SUPPORTS_MODE)])

    def read_before(self, result: Result) -> BalancesBefore | str:
        """Return the balances before the swap; the reason if the allowance is not 0."""
        before = super().read_before(result)
        if isinstance(before, str):
            return before
        return batch.refused_allowance(before.allowances[self._spender]) or before

    def _approved(self, before: BalancesBefore, route: Route) -> int:
        return self.request.sell_amount

    def _broken(
        self,
        swap: codec.SimulatedCall,
        before: BalancesBefore,
        route: Route,
        received: int,
        after: Sequence[codec.SimulatedCall],
    ) -> str | None:
        *others, left, supports = after
        if supports.number != 1:
            return "the wallet's code does not support the mode of the batch"
        if left.number != 0:
            return f"it leaves the router an allowance of {left.number}"
        return super()._broken(swap, before, route, received, others)
