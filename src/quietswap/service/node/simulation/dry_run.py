"""Dry runs of signed swaps: requests to the node, and the meaning of its responses.

As in `routes.py`, the first simulated block contains only the swap, with the signed fields
and without overrides. The second block reads the wallet's balance. The nonce is not set: a contract
cannot read it, and the node would reject a transaction that follows another pending one.

Without eth_simulateV1, an eth_call shows whether the swap reverts.
"""

from collections.abc import Sequence
from dataclasses import replace

from quietswap.rules.chain.records import DryRun, NodeUnavailable, SignedSwap
from quietswap.rules.chain.rpc_wire import Result, RpcCall, RpcErrorObject, hex_bytes
from quietswap.rules.quotes.quote import Route
from quietswap.rules.routers import batch
from quietswap.rules.tokens import erc20
from quietswap.rules.trial import codec
from quietswap.rules.tx.address import Address
from quietswap.service.node.simulation.routes import BalancesBefore, RouteSimulationCodec


class DryRunCodec:
    """Builds and reads the simulations of signed swaps. `below` returns random numbers."""

    def __init__(self, swaps: Sequence[SignedSwap], *, below: codec.RandBelow) -> None:
        self._swaps = swaps
        self._below = below

    def calls(self, block: codec.NextBlock) -> list[RpcCall]:
        """Return one call that reads the balances of all wallets, and one call per swap."""
        return [self._before(block), *(self._run(block, swap) for swap in self._swaps)]

    def _before(self, block: codec.NextBlock) -> RpcCall:
        only = {
            "blockOverrides": block.overrides(),
            "stateOverrides": self._rich(block, *self._swaps),
            "calls": [self._balance(block, swap) for swap in self._swaps],
        }
        return codec.blocks_call([only], block.tag, validation=block.exact)

    def _run(self, block: codec.NextBlock, swap: SignedSwap) -> RpcCall:
        first = {
            "blockOverrides": block.overrides(),
            "stateOverrides": block.history(),
            "calls": [fields_of(swap)],
        }
        second = {
            "blockOverrides": block.overrides(later=1),
            "stateOverrides": self._rich(block, swap),
            "calls": [self._balance(block, swap)],
        }
        return codec.blocks_call([first, second], block.tag, validation=block.exact)

    def _balance(self, block: codec.NextBlock, swap: SignedSwap) -> dict[str, object]:
        data = erc20.balance_of(swap.wallet)
        fee = block.view_fee
        return codec.call_object(swap.wallet, swap.buy_token, data, gas=codec.VIEW_GAS, max_fee=fee)

    def _rich(self, block: codec.NextBlock, *swaps: SignedSwap) -> dict[str, object]:
        """Return ETH balance overrides that pay for the view calls after the swap."""
        needed = len(self._swaps) * codec.VIEW_GAS * block.view_fee
        return {s.wallet: {"balance": hex(codec.plausible_wei(needed, self._below))} for s in swaps}

    def read(self, results: Sequence[Result]) -> list[DryRun]:
        first, *runs = results
        try:
            if isinstance(first, RpcErrorObject):
                raise NodeUnavailable(first.message[:120])
            [(number, before)] = codec.read_blocks(first, len(self._swaps))
        except NodeUnavailable as error:
            return [DryRun(None, reason=str(error))] * len(self._swaps)
        pairs = zip(runs, before, strict=True)
        return [_read(run, number, held.number) for run, held in pairs]


def fields_of(swap: SignedSwap) -> dict[str, object]:
    """Return the signed transaction as a call object."""
    params = swap.params
    gas, fee = params.gas_limit, params.max_fee_per_gas
    return codec.call_object(
        swap.wallet, params.to, params.data, value=params.value, gas=gas, max_fee=fee, tip=swap.tip
    )


def plain_call(swap: SignedSwap) -> RpcCall:
    return RpcCall("eth_call", (fields_of(swap), "latest"))


def read_plain(result: Result) -> DryRun:
    """Return whether an eth_call reverted. Another error gives no result."""
    if not isinstance(result, RpcErrorObject):
        return DryRun(True)
    if not result.is_execution:
        return DryRun(None, reason=result.message[:120])
    return DryRun(False, reason=codec.reason(hex_bytes(result.data or "0x"), result.message))


def _read(result: Result, number: str, before: int | None) -> DryRun:
    if isinstance(result, RpcErrorObject):
        return DryRun(None, reason=result.message[:120])
    try:
        (at, (swap,)), (_, (after,)) = codec.read_blocks(result, 1, 1)
    except NodeUnavailable as error:
        return DryRun(None, reason=str(error))
    if not swap.succeeded:
        return DryRun(False, reason=swap.reason)
    if at != number:
        return DryRun(None, reason="a new block came during the simulation")
    if before is None or after.number is None:
        return DryRun(None, reason="the buy token does not tell the wallet's balance")
    return DryRun(True, max(after.number - before, 0))


# The simulation of a swap in its batched form: one transaction of the wallet to itself.
#
# It is the transaction that is issued, on the real allowance, which must be 0. The second block
# also reads the allowance that is left, and whether the wallet's code supports the mode.


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
