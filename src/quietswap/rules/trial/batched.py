"""The simulation of a swap in its batched form: one transaction of the wallet to itself.

It is the transaction that is issued, on the real allowance, which must be 0. The block after it
also reads the allowance that is left, and whether the wallet's code supports the mode. What it
wraps is no WETH of the wallet, so no balance of WETH is overridden then.
"""

from dataclasses import replace

from quietswap.rules.chain.rpc_wire import Result
from quietswap.rules.quotes.quote import Route
from quietswap.rules.routers import batch
from quietswap.rules.tokens.token import WrapOperation
from quietswap.rules.trial.routes import BalancesBefore, RouteSimulationCodec
from quietswap.rules.trial.state_override import StateOverride
from quietswap.rules.trial.swap_trial import SwapTrial
from quietswap.rules.tx.address import Address


class BatchedSwapCodec(RouteSimulationCodec):
    """Builds and reads the simulations of the batched form of `route`, and of no other route."""

    def __init__(
        self, plain: RouteSimulationCodec, route: Route, conversion: WrapOperation | None
    ) -> None:
        spender, sender = route.spender, plain.sender
        is_wrap = conversion is WrapOperation.WRAP
        override = StateOverride() if is_wrap else replace(plain.override, allowances={})
        super().__init__(
            plain.request,
            plain.block,
            replace(sender, allowances={spender: sender.allowances.get(spender, 0)}),
            override,
            below=plain.below,
            measures_itself=plain.measures_itself,
        )
        self._spender = spender
        self._conversion = conversion

    def trial(self, route: Route) -> SwapTrial:
        plain, unwraps = super().trial(route), self._conversion is WrapOperation.UNWRAP
        payer = None if unwraps else plain.payer
        return replace(plain, payer=payer, is_batched=True, conversion=self._conversion)

    def _call_of(self, route: Route) -> tuple[Address, bytes]:
        calls = batch.swap_batch(
            self.sell,
            route.target,
            self.request.sell_amount,
            route.data,
            min_buy_amount=route.min_buy_amount,
            conversion=self._conversion,
        )
        return self.request.wallet, calls.calldata()

    def read_before(self, result: Result) -> BalancesBefore | str:
        """Return the balances before the swap; the reason if the allowance is not 0."""
        before = super().read_before(result)
        if isinstance(before, str):
            return before
        return batch.refused_allowance(before.allowances[self._spender]) or before
