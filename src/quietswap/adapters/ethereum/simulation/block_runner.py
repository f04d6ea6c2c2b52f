"""Run simulations on an exact block, or on the node's latest block where it refuses the exact one.

A simulation may also fail because of its wallet, which any client chooses: a node may refuse calls
of a contract, for example. That must not change the simulations of others. So a node counts as one
that refuses exact blocks only if it also refuses a call of an address that nobody chose.
"""

from collections.abc import Callable, Sequence

from quietswap.adapters.ethereum.simulation.state_overrides import SimulationUnsupported
from quietswap.adapters.ethereum.simulation.wire import blocks_call
from quietswap.adapters.rpc.client import NodeRpcClient
from quietswap.adapters.rpc.wire import Result, RpcCall, RpcErrorObject
from quietswap.domain import address as addresses
from quietswap.domain.simulation.codec import VIEW_GAS, call_object
from quietswap.domain.simulation.next_block import (
    NextBlock,
    RandBelow,
    plausible_wei,
    unused_address,
)
from quietswap.ports.chain import Head
from quietswap.ports.clock import Clock
from quietswap.resilience.circuit_breaker import CircuitBreaker

_INEXACT_S = 15.0
"""Time in which all calls run on the latest block, after the node refused an exact one."""


class BlockRunner:
    """`below` returns unpredictable random numbers, as `secrets.randbelow`."""

    def __init__(self, rpc: NodeRpcClient, clock: Clock, below: RandBelow) -> None:
        self._rpc = rpc
        self._below = below
        self._refused = CircuitBreaker(clock, pause_s=_INEXACT_S)

    def tag(self, head: Head) -> str:
        """Return the block whose state a simulation on `head` will see."""
        return "latest" if self._refused.is_open else hex(head.number)

    async def run(
        self, calls: Callable[[NextBlock], Sequence[RpcCall]], block: NextBlock
    ) -> list[Result]:
        """Return the results of the node. Raises NodeUnavailable and SimulationUnsupported.

        The first call says whether the node supports them: it contains no calldata of a source. If
        it fails otherwise, all run again on the node's latest block.
        """
        if self._refused.is_open:
            block = block.inexact()
        results = await self._rpc.batch(calls(block))
        first = results[0]
        if isinstance(first, RpcErrorObject) and first.is_unsupported:
            raise SimulationUnsupported
        if block.exact and isinstance(first, RpcErrorObject):
            if await self._refuses(block):
                self._refused.record_failure()
            return await self.run(calls, block.inexact())
        return results

    async def _refuses(self, block: NextBlock) -> bool:
        """Return whether the node refuses this block, whoever calls in it."""
        nobody = addresses.from_bytes(unused_address(self._below))
        wei = plausible_wei(VIEW_GAS * block.view_fee, self._below)
        only = {
            "blockOverrides": block.overrides(),
            "stateOverrides": {nobody: {"balance": hex(wei)}},
            "calls": [call_object(nobody, nobody, b"", gas=VIEW_GAS, max_fee=block.view_fee)],
        }
        call = blocks_call([only], block.tag, validation=block.exact, transfers=False)
        [result] = await self._rpc.batch([call])
        return isinstance(result, RpcErrorObject)

    async def run_again(self, calls: Sequence[RpcCall]) -> list[Result] | None:
        """Return the results of calls on an exact block that the node has simulated before.

        None if a call failed or the node refuses exact blocks by now: it must be asked by `run`.
        Raises NodeUnavailable.
        """
        if self._refused.is_open:
            return None
        results = await self._rpc.batch(calls)
        return None if any(isinstance(one, RpcErrorObject) for one in results) else results
