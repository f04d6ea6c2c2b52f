"""The node everybody in the sandbox is given: a proxy before anvil that can lag, fork and fail.

It lets nobody look while a block is being built, and remembers every transaction sent through it,
because what goes through a node is public.
"""

import random
from datetime import timedelta
from typing import Any

from pyreqwest.client import Client, ClientBuilder

from quietswap.domain.crypto import keccak256
from quietswap.sandbox import jsonrpc
from quietswap.sandbox.faults import Fault, FaultBoard
from quietswap.sandbox.mempool import PublicRecord
from quietswap.sandbox.rpc import Rpc, RpcError
from quietswap.sandbox.turns import Turns
from quietswap.sandbox.views import BehindView, ForkView, ReceiptView
from quietswap.sandbox.web import Answer, Reply, Request

NAME = "node"
_TIMEOUT = timedelta(seconds=30)
_SENDING = frozenset({"eth_sendRawTransaction", "eth_sendRawTransactionSync"})


class Node:
    """`handle` serves JSON-RPC over HTTP POST on any path. Close it when done."""

    def __init__(self, rpc: Rpc, turns: Turns, public: PublicRecord, board: FaultBoard) -> None:
        self._rpc = rpc
        self._turns = turns
        self._public = public
        self._board = board
        self._fork: tuple[Fault, ForkView] | None = None
        self._chance = random.Random(1)
        self._client: Client = ClientBuilder().no_proxy().timeout(_TIMEOUT).build()

    async def close(self) -> None:
        """Close the connections to anvil."""
        await self._client.close()

    async def handle(self, request: Request) -> Answer:
        """Answer one request as the node's fault has it."""
        if request.method != "POST":
            return Reply(405, b"method not allowed", "text/plain")
        fault = self._board.of(NAME)
        if fault and fault.kind == "flap" and self._chance.random() < fault.share:
            return Reply(502, b"Bad Gateway", "text/plain")
        try:
            body = jsonrpc.read(request)
        except jsonrpc.NotRpc as error:
            return error.reply
        self._note(body if isinstance(body, list) else [body])
        async with self._turns.visit():
            return await self._answer(request.body, body, fault)

    def _note(self, calls: list[dict[str, Any]]) -> None:
        sent = (call.get("params") for call in calls if call["method"] in _SENDING)
        self._public.note(_hash(params[0]) for params in sent if params)

    async def _answer(
        self, raw: bytes, body: list[dict[str, Any]] | dict[str, Any], fault: Fault | None
    ) -> Answer:
        match fault.kind if fault else "":
            case "lag":
                assert fault is not None
                return await jsonrpc.answer(body, BehindView(self._rpc, fault.number).call)
            case "fork":
                assert fault is not None
                return await jsonrpc.answer(body, (await self._forked(fault)).call)
            case "no_simulate":
                return await jsonrpc.answer(body, self._without_simulation)
            case "late_receipts":
                return await jsonrpc.answer(body, ReceiptView(self._rpc, _late).call)
            case "empty_receipts":
                return await jsonrpc.answer(body, ReceiptView(self._rpc, _emptied).call)
        response = await self._post(raw)
        return Reply(200, response)

    async def _post(self, raw: bytes) -> bytes:
        request = self._client.post(self._rpc.url).header("content-type", "application/json")
        response = await request.body_bytes(raw).build().send()
        return bytes(await response.bytes())

    async def _forked(self, fault: Fault) -> ForkView:
        """Return the fork that began when this fault was first seen."""
        if self._fork is None or self._fork[0] is not fault:
            head = int(await self._rpc.call("eth_blockNumber"), 16)
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
