"""The sandbox's node: a proxy in front of anvil that can lag, fork and fail.

It blocks requests while a block is being built, and records every transaction sent through it as
public.
"""

import random
from typing import Any

from quietswap.domain.crypto import keccak256
from quietswap.sandbox.chain.mempool import MempoolHistory
from quietswap.sandbox.chain.read_write_lock import ReadWriteLock
from quietswap.sandbox.faults.active_faults import ActiveFaults
from quietswap.sandbox.faults.registry import Fault
from quietswap.sandbox.node.faulty_views import BehindView, ForkView, ReceiptView
from quietswap.sandbox.wire import rpc_server
from quietswap.sandbox.wire.http_server import Answer, HttpRequest, HttpResponse
from quietswap.sandbox.wire.rpc_client import RpcError, SandboxRpcClient

NAME = "node"
_SENDING = frozenset({"eth_sendRawTransaction", "eth_sendRawTransactionSync"})


class NodeProxy:
    """`handle` serves JSON-RPC over HTTP POST on any path. Close it when done."""

    def __init__(
        self,
        rpc: SandboxRpcClient,
        turns: ReadWriteLock,
        public: MempoolHistory,
        board: ActiveFaults,
    ) -> None:
        self._rpc = rpc
        self._turns = turns
        self._public = public
        self._board = board
        self._fork: tuple[Fault, ForkView] | None = None
        self._chance = random.Random(1)
        self._pool = SandboxRpcClient(
            rpc.url
        )  # client requests do not wait for the sandbox's own connections

    async def close(self) -> None:
        """Close the connections to anvil."""
        await self._pool.close()

    async def handle(self, request: HttpRequest) -> Answer:
        """Answer one request with the active fault."""
        if request.method != "POST":
            return HttpResponse(405, b"method not allowed", "text/plain")
        fault = self._board.of(NAME)
        if fault and fault.kind == "flap" and self._chance.random() < fault.share:
            return HttpResponse(502, b"Bad Gateway", "text/plain")
        try:
            body = rpc_server.read(request)
        except rpc_server.InvalidRpcRequest as error:
            return error.reply
        self._note(body if isinstance(body, list) else [body])
        async with self._turns.visit():
            method = await self._method(fault) if fault else None
            if method is not None:
                return await rpc_server.answer(body, method)
            return HttpResponse(200, await self._pool.forward(request.body))

    def _note(self, calls: list[dict[str, Any]]) -> None:
        sent = (call.get("params") for call in calls if call["method"] in _SENDING)
        self._public.note(_hash(params[0]) for params in sent if params)

    async def _method(self, fault: Fault) -> rpc_server.Method | None:
        """Return what answers single calls under this fault; None when anvil answers them."""
        match fault.kind:
            case "lag":
                return BehindView(self._rpc, fault.number).call
            case "fork":
                return (await self._forked(fault)).call
            case "no_simulate":
                return self._without_simulation
            case "late_receipts":
                return ReceiptView(self._rpc, _late).call
            case "empty_receipts":
                return ReceiptView(self._rpc, _emptied).call
        return None

    async def _forked(self, fault: Fault) -> ForkView:
        """Return the fork, which begins at the first request under this fault."""
        if self._fork is None or self._fork[0] is not fault:
            head = await self._rpc.number("eth_blockNumber")
            self._fork = (fault, ForkView(self._rpc, max(head - fault.number, 0)))
        return self._fork[1]

    async def _without_simulation(self, method: str, params: list[Any]) -> Any:
        if method == "eth_simulateV1":
            raise RpcError(-32601, f"the method {method} does not exist/is not available")
        return await self._rpc.call(method, *params)


def _hash(raw: Any) -> str:
    try:
        return "0x" + keccak256(bytes.fromhex(str(raw).removeprefix("0x"))).hex()
    except ValueError:
        return "0x"


def _late(receipt: dict[str, Any], head: int) -> dict[str, Any] | None:
    return None if int(receipt["blockNumber"], 16) == head else receipt


def _emptied(receipt: dict[str, Any], _: int) -> dict[str, Any]:
    return {"transactionHash": receipt["transactionHash"], "blockNumber": None, "logs": []}
