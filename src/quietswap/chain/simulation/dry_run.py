"""Dry runs of signed swaps: requests to the node, and the meaning of its responses.

As in `route_simulation`, the first simulated block contains only the swap, with the signed fields
and without overrides. The second block reads the wallet's balance. The nonce is not set: a contract
cannot read it, and the node would reject a transaction that follows another pending one.

Without eth_simulateV1, an eth_call shows whether the swap reverts.
"""

from collections.abc import Sequence

from quietswap.chain import erc20
from quietswap.chain.chain import DryRun, NodeUnavailable, SignedSwap
from quietswap.chain.rpc_wire import MalformedResult, Result, RpcCall, RpcErrorObject, hex_bytes
from quietswap.chain.simulation.codec import (
    VIEW_GAS,
    NextBlock,
    RandBelow,
    call_object,
    plausible_wei,
    reason,
)
from quietswap.chain.simulation.wire import blocks_call, read_blocks

_REVERTS = ("revert", "out of gas", "gas required exceeds")


class DryRunCodec:
    """Builds and reads the simulations of signed swaps. `below` returns random numbers."""

    def __init__(self, swaps: Sequence[SignedSwap], *, below: RandBelow) -> None:
        self._swaps = swaps
        self._below = below

    def calls(self, block: NextBlock) -> list[RpcCall]:
        """Return one call that reads the balances of all wallets, and one call per swap."""
        return [self._before(block), *(self._run(block, swap) for swap in self._swaps)]

    def _before(self, block: NextBlock) -> RpcCall:
        only = {
            "blockOverrides": block.overrides(),
            "stateOverrides": self._rich(block, *self._swaps),
            "calls": [self._balance(block, swap) for swap in self._swaps],
        }
        return blocks_call([only], block.tag, validation=block.exact, transfers=False)

    def _run(self, block: NextBlock, swap: SignedSwap) -> RpcCall:
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
        return blocks_call([first, second], block.tag, validation=block.exact, transfers=False)

    def _balance(self, block: NextBlock, swap: SignedSwap) -> dict[str, object]:
        data = erc20.balance_of(swap.wallet)
        fee = block.view_fee
        return call_object(swap.wallet, swap.buy_token, data, gas=VIEW_GAS, max_fee=fee)

    def _rich(self, block: NextBlock, *swaps: SignedSwap) -> dict[str, object]:
        """Return ETH balance overrides that pay for the view calls after the swap."""
        needed = len(self._swaps) * VIEW_GAS * block.view_fee
        return {s.wallet: {"balance": hex(plausible_wei(needed, self._below))} for s in swaps}

    def read(self, results: Sequence[Result]) -> list[DryRun]:
        """Return the result of each swap. A malformed response gives no result."""
        first, *runs = results
        try:
            number, before = _read_before(first, len(self._swaps))
        except NodeUnavailable as error:
            return [DryRun(None, reason=str(error))] * len(self._swaps)
        return [_read(run, number, held) for run, held in zip(runs, before, strict=True)]


def fields_of(swap: SignedSwap) -> dict[str, object]:
    """Return the signed transaction as a call object."""
    params = swap.params
    gas, fee = params.gas_limit, params.max_fee_per_gas
    return call_object(
        swap.wallet, params.to, params.data, value=params.value, gas=gas, max_fee=fee, tip=swap.tip
    )


def plain_call(swap: SignedSwap) -> RpcCall:
    """Return the eth_call of a swap, for nodes without eth_simulateV1."""
    return RpcCall("eth_call", (fields_of(swap), "latest"))


def read_plain(result: Result) -> DryRun:
    """Return whether an eth_call reverted. Another error gives no result."""
    if not isinstance(result, RpcErrorObject):
        return DryRun(True)
    text = result.message.lower()
    if result.code != 3 and not any(word in text for word in _REVERTS):
        return DryRun(None, reason=result.message[:120])
    try:
        data = hex_bytes(result.data or "0x")
    except MalformedResult:
        data = b""
    return DryRun(False, reason=reason(data, result.message))


def _read_before(result: Result, count: int) -> tuple[str, list[int | None]]:
    if isinstance(result, RpcErrorObject):
        raise NodeUnavailable(result.message[:120])
    [(number, views)] = read_blocks(result, count)
    return number, [view.number for view in views]


def _read(result: Result, number: str, before: int | None) -> DryRun:
    if isinstance(result, RpcErrorObject):
        return DryRun(None, reason=result.message[:120])
    try:
        (at, (swap,)), (_, (after,)) = read_blocks(result, 1, 1)
    except NodeUnavailable as error:
        return DryRun(None, reason=str(error))
    if not swap.succeeded:
        return DryRun(False, reason=swap.reason)
    if at != number:
        return DryRun(None, reason="a new block came during the simulation")
    if before is None or after.number is None:
        return DryRun(None, reason="the buy token does not tell the wallet's balance")
    return DryRun(True, max(after.number - before, 0))
