"""The simulation of a swap in its batched form: one transaction of the wallet to itself.

It is the transaction that is issued, on the real allowance, which must be 0. The block after it
also reads the allowance that is left, and whether the wallet's code supports the mode.
"""

from dataclasses import replace

from quietswap.rules.chain.rpc_wire import Result
from quietswap.rules.quotes.quote import Route
from quietswap.rules.routers import batch
from quietswap.rules.trial.routes import BalancesBefore, RouteSimulationCodec
from quietswap.rules.tx.address import Address


class BatchedSwapCodec(RouteSimulationCodec):
    """Builds and reads the simulations of the batched form of `route`, and of no other route."""

    is_batched = True

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

    def _call_of(self, route: Route) -> tuple[Address, bytes]:
        amount = self.request.sell_amount
        calls = batch.SwapBatch(self.sell, route.target, amount, route.data)
        return self.request.wallet, calls.calldata()

    def read_before(self, result: Result) -> BalancesBefore | str:
        """Return the balances before the swap; the reason if the allowance is not 0."""
        before = super().read_before(result)
        if isinstance(before, str):
            return before
        return batch.refused_allowance(before.allowances[self._spender]) or before
