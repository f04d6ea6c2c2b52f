"""Reads that clients and wallets choose, from the operator's nodes, in turn.

They have a node pool of their own: what they ask cannot open the circuit of a node that quotes and
the tracker use. Their places at each node are those of the account of node work.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from quietswap.rules.chain.rpc_wire import NodeAnswer, Result, RpcCall, RpcErrorObject
from quietswap.rules.clients import Party, party_of
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.base.http_client import HttpClient, HttpReply, HttpTimeout
from quietswap.service.node.rpc import NodeReads, NodeRpcClient
from quietswap.service.node.work import Lane, NodeWork, TokenCosts
from quietswap.service.wallet_rpc.merged_calls import MergedCalls

_SLOW = frozenset(
    ("eth_call", "eth_estimateGas", "eth_simulateV1", "eth_getLogs", "eth_feeHistory")
)
"""Methods of which one call may take a core for long."""
_BLOCKS = frozenset(("eth_getBlockByNumber", "eth_getBlockByHash"))
"""These as well, with whole transactions."""
MOST_TOGETHER = 25
"""Slow calls in one batch. A larger one is split, so that callers take turns."""
HELD_S = 60.0
"""Longest time that a batch has its place, in which a node also executes 25 calls with all gas."""


class WalletNodeClient:
    """Concurrent reads of one caller are merged, slow and quick ones apart.

    `timeout_s` limits the wait for one attempt at one node, `max_bytes` the response to one batch.
    A batch of slow calls keeps its place until the node has answered or ended the connection.
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
        batch_size: int = 100,
        work: NodeWork | None = None,
    ) -> None:
        self._http = http
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._rpc = NodeRpcClient(
            http,
            urls,
            clock,
            timeout_s=timeout_s,
            max_lag_blocks=max_lag_blocks,
            max_bytes=max_bytes,
            batch_size=batch_size,
            on_failure=_report,
        )
        self._work = work or NodeWork(TokenCosts(clock))
        # one place of a client: what waits for it goes together
        self._merged_slow = MergedCalls(self._send, at_once=2)
        self._merged_quick = MergedCalls(self._send)

    async def read(self, calls: Sequence[RpcCall], client_id: str) -> Sequence[NodeAnswer]:
        """Return one answer per call, in order. Raises NodeUnavailable.

        All come from one node, unless so many of them take long that they are split.
        """
        merged = self._merged_slow if any(map(_is_slow, calls)) else self._merged_quick
        return await merged.read(calls, party_of(client_id))

    def reads_of(self, client_id: str) -> NodeReads:
        """Return the nodes for reads of the service that this client asked for."""
        return _ReadsOfOne(self, party_of(client_id))

    async def batch(self, calls: Sequence[RpcCall], party: Party) -> list[Result]:
        """Return one result per call, in order; all from one node if few are slow.

        Raises NodeUnavailable.
        """
        results: list[Result] = []
        for piece in _pieces(calls):
            post = self._post_slow if any(map(_is_slow, piece)) else self._post_quick
            results += await self._rpc.batch(piece, partial(post, party))
        return results

    async def _send(self, calls: Sequence[RpcCall], party: Party) -> Sequence[NodeAnswer]:
        results = await self.batch(calls, party)
        return [one if isinstance(one, RpcErrorObject) else bytes(one) for one in results]

    async def _post_quick(self, party: Party, url: str, body: bytes) -> HttpReply:
        """Send a batch in its turn. Raises HttpError, and NodeUnavailable without a place."""
        return await self._work.held(
            Lane.USUAL, url, party, lambda: self._post(url, body, self._timeout_s)
        )

    async def _post_slow(self, party: Party, url: str, body: bytes) -> HttpReply:
        """The same for slow calls, of which the node may work on one for longer than is waited."""
        try:
            return await self._work.held(
                Lane.OPEN, url, party, lambda: self._post(url, body, HELD_S), self._timeout_s
            )
        except TimeoutError:
            raise HttpTimeout("no complete response in time") from None

    async def _post(self, url: str, body: bytes, timeout_s: float) -> HttpReply:
        return await self._http.post(
            url, body, timeout_s=timeout_s, max_bytes=self._max_bytes, repeatable=True
        )

    async def close(self) -> None:
        """Cancel reads that are in flight, and the running node check, if any."""
        await asyncio.gather(self._merged_slow.close(), self._merged_quick.close())
        await self._work.close()
        await self._rpc.close()


@dataclass(frozen=True, slots=True)
class _ReadsOfOne:
    """Implements NodeReads for one party."""

    nodes: WalletNodeClient
    party: Party

    async def batch(self, calls: Sequence[RpcCall]) -> list[Result]:
        return await self.nodes.batch(calls, self.party)


def _is_slow(call: RpcCall) -> bool:
    return call.method in _SLOW or (call.method in _BLOCKS and True in call.params[1:])


def _pieces(calls: Sequence[RpcCall]) -> Iterator[Sequence[RpcCall]]:
    """Yield the calls in their order, with at most `MOST_TOGETHER` slow ones in each piece."""
    start = slow = 0
    for place, call in enumerate(calls):
        if not _is_slow(call):
            continue
        if slow == MOST_TOGETHER:
            yield calls[start:place]
            start, slow = place, 0
        slow += 1
    yield calls[start:]


def _report(node: str, kind: str, reason: str) -> None:
    """Report that a node failed. The error of a single call is the wallet's, not the node's."""
    if kind != "error":
        observe.node_failed(node, kind, reason)
