"""Dry runs of signed swaps: requests to the node, and the meaning of its responses.

As in `routes.py`, the first simulated block contains only the swap, with the signed fields
and without overrides. The second block reads the wallet's balance. The nonce is not set: a contract
cannot read it, and the node would reject a transaction that follows another pending one.

Without eth_simulateV1, an eth_call shows whether the swap reverts.
"""

from collections.abc import Sequence

from quietswap.rules.chain.records import DryRun, NodeUnavailable, SignedSwap
from quietswap.rules.chain.rpc_wire import Result, RpcCall, RpcErrorObject, hex_bytes
from quietswap.rules.tokens import erc20
from quietswap.rules.trial import codec


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
