"""Run simulations on an exact block, or on the node's latest block where it refuses the exact
one.

A simulation may also fail because of its wallet, which any client chooses: a node may refuse
calls of a contract, for example. That must not change the simulations of others. So a node counts
as one that refuses exact blocks only if it also refuses a call of an address that nobody chose.
"""

from collections.abc import Callable, Sequence

from quietswap.rules.chain.records import Head
from quietswap.rules.chain.rpc_codes import INVALID_PARAMS
from quietswap.rules.chain.rpc_wire import Result, RpcCall, RpcErrorObject
from quietswap.rules.trial import next_block, swap_trial
from quietswap.rules.tx import address as addresses
from quietswap.service.base.clock import Clock
from quietswap.service.base.concurrency import CircuitBreaker
from quietswap.service.node import lagging_backends
from quietswap.service.node.rpc import NodeRpcClient
from quietswap.service.node.simulation import overrides

_INEXACT_S = 15.0
"""Time in which all calls run on the latest block, after the node refused an exact one."""
_NO_ROOT_S = 600.0
"""Time in which no call has a name of the beacon root, after the node refused that one."""


class BlockRunner:
    """`below` returns unpredictable random numbers, as `secrets.randbelow`."""

    def __init__(self, rpc: NodeRpcClient, clock: Clock, below: next_block.RandBelow) -> None:
        self._rpc = rpc
        self._below = below
        self._clock = clock
        self._refused = CircuitBreaker(clock, pause_s=_INEXACT_S)
        self._refused_roots = {
            name: CircuitBreaker(clock, pause_s=_NO_ROOT_S) for name in next_block.ROOT_NAMES
        }

    def tag(self, head: Head) -> str:
        """Return the block whose state a simulation on `head` will see."""
        return "latest" if self._refused.is_open else hex(head.number)

    async def run(
        self,
        calls: Callable[[next_block.NextBlock], Sequence[RpcCall]],
        block: next_block.NextBlock,
    ) -> list[Result]:
        """Return the results of the node. Raises NodeUnavailable and SimulationUnsupported.

        The first call says whether the node supports them: it contains no calldata of a source. If
        it fails otherwise, all run again: with another name of the beacon root or none where it
        refuses the parameters, then on the node's latest block.
        """
        block = self._form(block)
        results = await self._rpc.batch(calls(block))
        first = results[0]
        if isinstance(first, RpcErrorObject) and first.is_unsupported:
            raise overrides.SimulationUnsupported
        name = block.root_name
        if name and isinstance(first, RpcErrorObject) and first.code == INVALID_PARAMS:
            if await self._refuses(block):
                self._refused_roots[name].record_failure()
            return await self.run(calls, block.other_root())
        # another backend may answer otherwise: this one may not have the block yet
        if block.exact and any(isinstance(r, RpcErrorObject) and not r.is_verdict for r in results):
            results = await lagging_backends.from_block(
                self._rpc, self._clock, block.head.number, calls(block)
            )
        if block.exact and isinstance(results[0], RpcErrorObject):
            if await self._refuses(block):
                self._refused.record_failure()
            return await self.run(calls, block.inexact())
        return results

    def _form(self, block: next_block.NextBlock) -> next_block.NextBlock:
        """Return the most exact form of the block that the node does not refuse."""
        if self._refused.is_open:
            return block.inexact()
        while block.root_name and self._refused_roots[block.root_name].is_open:
            block = block.other_root()
        return block

    async def _refuses(self, block: next_block.NextBlock) -> bool:
        """Return whether the node refuses this block, whoever calls in it."""
        nobody = addresses.from_bytes(next_block.unused_address(self._below))
        view = swap_trial.view(block, nobody, nobody, b"")
        pays = swap_trial.reader(nobody, block, self._below, views=1)
        call = swap_trial.views_call(block, swap_trial.views_block(block, [view], pays, later=0))
        [result] = await lagging_backends.from_block(
            self._rpc, self._clock, block.head.number, [call]
        )
        return isinstance(result, RpcErrorObject)

    async def run_again(
        self,
        calls: Callable[[next_block.NextBlock], Sequence[RpcCall]],
        block: next_block.NextBlock,
    ) -> list[Result] | None:
        """Return the results of calls on an exact block that the node has simulated before.

        None if a call failed or the node refuses exact blocks by now: it must be asked by `run`.
        Raises NodeUnavailable.
        """
        if self._refused.is_open:
            return None
        results = await self._rpc.batch(calls(self._form(block)))
        return None if any(isinstance(one, RpcErrorObject) for one in results) else results
