"""Reads of wallets, passed on to the operator's nodes.

They have a node pool of their own: what wallets ask cannot open the circuit of a node that quotes
and the tracker use.
"""

import asyncio
from collections.abc import Iterator, Sequence

from quietswap import observe
from quietswap.adapters.http import HttpClient
from quietswap.adapters.rpc.client import NodeRpcClient
from quietswap.adapters.rpc.merged_calls import MergedCalls
from quietswap.adapters.rpc.wire import Result, RpcCall, RpcErrorObject
from quietswap.ports.clock import Clock
from quietswap.ports.wallet_rpc import NodeAnswer, NodeCall, NodeFailure

_EXECUTING = frozenset(("eth_call", "eth_estimateGas"))
"""Methods that run code of the caller's choice, of which one call may take a core for long."""
MOST_EXECUTING = 2
"""Batches with such calls that are sent at a time, of all callers: the service's own reads need the
same node."""
MOST_TOGETHER = 25
"""Such calls in one of these batches. A larger one is split, so that callers take turns."""


class WalletNodeClient:
    """Implements quietswap.ports.wallet_rpc.WalletNode.

    Concurrent reads of one caller are merged. `timeout_s` limits one attempt at one node,
    `max_bytes` the response to one batch.
    """

    def __init__(
        self,
        http: HttpClient,
        urls: Sequence[str],
        clock: Clock,
        *,
        timeout_s: float,
        max_lag_blocks: int,
        max_bytes: int,
    ) -> None:
        self._rpc = NodeRpcClient(
            http,
            urls,
            clock,
            timeout_s=timeout_s,
            max_lag_blocks=max_lag_blocks,
            max_bytes=max_bytes,
            on_failure=_report,
        )

        self._executing = asyncio.Semaphore(MOST_EXECUTING)
        self._merged = MergedCalls(self._send)

    async def read(self, calls: Sequence[NodeCall], caller: str) -> Sequence[NodeAnswer]:
        return await self._merged.read(calls, caller)

    async def _send(self, calls: Sequence[NodeCall]) -> Sequence[NodeAnswer]:
        if not any(call.method in _EXECUTING for call in calls):
            return await self._batch(calls)
        answers: list[NodeAnswer] = []
        for piece in _pieces(calls):
            async with self._executing:
                answers += await self._batch(piece)
        return answers

    async def _batch(self, calls: Sequence[NodeCall]) -> Sequence[NodeAnswer]:
        results = await self._rpc.batch([RpcCall(call.method, call.params) for call in calls])
        return [_answer(result) for result in results]

    async def close(self) -> None:
        """Cancel reads that are in flight, and the running node check, if any."""
        await self._merged.close()
        await self._rpc.close()


def _pieces(calls: Sequence[NodeCall]) -> Iterator[Sequence[NodeCall]]:
    """Yield the calls in their order, with at most `MOST_TOGETHER` that execute in each piece."""
    start = executing = 0
    for place, call in enumerate(calls):
        if call.method not in _EXECUTING:
            continue
        if executing == MOST_TOGETHER:
            yield calls[start:place]
            start, executing = place, 0
        executing += 1
    yield calls[start:]


def _answer(result: Result) -> NodeAnswer:
    if isinstance(result, RpcErrorObject):
        return NodeFailure(result.code, result.message, result.data)
    return bytes(result)


def _report(node: str, kind: str, reason: str) -> None:
    """Report that a node failed. The error of a single call is the wallet's, not the node's."""
    if kind != "error":
        observe.node_failed(node, kind, reason)
