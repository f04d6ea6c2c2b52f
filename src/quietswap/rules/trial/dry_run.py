"""Dry runs of signed swaps: requests to the node, and the meaning of its responses.

As in every trial (`swap_trial.py`), the first block contains only the swap, here with the signed
fields and without overrides. In the block after it the wallet reads its balance.

Without eth_simulateV1, an eth_call shows whether the swap reverts.
"""

from collections.abc import Sequence

from quietswap.rules.chain.records import DryRun, NodeUnavailable, SignedSwap
from quietswap.rules.chain.rpc_wire import Result, RpcCall, RpcErrorObject, hex_bytes
from quietswap.rules.tokens import erc20
from quietswap.rules.trial import codec, next_block
from quietswap.rules.trial.swap_trial import (
    StateOverrides,
    merged,
    reader,
    trial_call,
    view,
    views_block,
    views_call,
)
from quietswap.rules.trial.verdict import delivered


class DryRunCodec:
    """Builds and reads the simulations of signed swaps. `below` returns random numbers."""

    def __init__(self, swaps: Sequence[SignedSwap], *, below: next_block.RandBelow) -> None:
        self._swaps = swaps
        self._below = below

    def calls(self, block: next_block.NextBlock) -> list[RpcCall]:
        """Return one call that reads the balances of all wallets, and one call per swap."""
        return [self._before(block), *(self._run(block, swap) for swap in self._swaps)]

    def _before(self, block: next_block.NextBlock) -> RpcCall:
        readers = merged(*(self._reader(block, swap) for swap in self._swaps))
        calls = [_balance(block, swap) for swap in self._swaps]
        return views_call(block, views_block(block, calls, readers, later=0))

    def _run(self, block: next_block.NextBlock, swap: SignedSwap) -> RpcCall:
        reads = [_balance(block, swap)]
        after = views_block(block, reads, self._reader(block, swap), later=1)
        return trial_call(block, fields_of(swap), after, {})

    def _reader(self, block: next_block.NextBlock, swap: SignedSwap) -> StateOverrides:
        return reader(swap.wallet, block, self._below, views=len(self._swaps))

    def read(self, results: Sequence[Result]) -> list[DryRun]:
        first, *runs = results
        try:
            if isinstance(first, RpcErrorObject):
                raise NodeUnavailable(first.message[:120])
            [(number, before)] = codec.read_blocks(first, len(self._swaps))
        except NodeUnavailable as error:
            return [DryRun(None, reason=str(error))] * len(self._swaps)
        rows = zip(runs, before, self._swaps, strict=True)
        return [_read(run, number, held.number, swap.unwrapped) for run, held, swap in rows]


def _balance(block: next_block.NextBlock, swap: SignedSwap) -> dict[str, object]:
    return view(block, swap.wallet, swap.buy_token, erc20.balance_of(swap.wallet))


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


def _read(result: Result, number: str, before: int | None, unwrapped: int) -> DryRun:
    if isinstance(result, RpcErrorObject):
        return DryRun(None, reason=result.message[:120])
    try:
        (at, (swap,)), (_, (after,)) = codec.read_blocks(result, 1, 1)
    except NodeUnavailable as error:
        return DryRun(None, reason=str(error))
    trial = delivered(swap, before, after.number, unwrapped)
    if trial.succeeded is not False and at != number:
        return DryRun(None, reason="a new block came during the simulation")
    received = None if trial.received is None else max(trial.received, 0)
    return DryRun(trial.succeeded, received, trial.reason or "")
