"""The sandbox's node: a proxy in front of anvil that answers as geth, and can lag, fork and fail.

It blocks requests while a block is being built, and records every transaction sent through it as
public.
"""

import contextlib
import gzip
import random
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from quietswap.rules.tx.keccak import keccak256
from quietswap.sandbox import rpc as rpc_server
from quietswap.sandbox.chain.anvil import ReadWriteLock
from quietswap.sandbox.faults import ActiveFaults, Fault
from quietswap.sandbox.geth_answers import answer_as_geth
from quietswap.sandbox.geth_rules import SENDING
from quietswap.sandbox.http_server import Answer, HttpRequest, HttpResponse
from quietswap.sandbox.rpc import RpcError, SandboxRpcClient

_NEWEST = frozenset({"latest", "pending", None})
_BLOCK_AT = {
    "eth_call": 1, "eth_estimateGas": 1, "eth_getBalance": 1, "eth_getTransactionCount": 1,
    "eth_getCode": 1, "eth_simulateV1": 1, "eth_createAccessList": 1, "eth_feeHistory": 1,
    "eth_getStorageAt": 2, "eth_getBlockByNumber": 0, "eth_getBlockReceipts": 0,
    "eth_getProof": 2,
}  # fmt: skip
"""Index of the block parameter, by method."""
_FOUND = frozenset(
    {
        "eth_getBlockByNumber", "eth_getBlockByHash", "eth_getTransactionReceipt",
        "eth_getTransactionByHash", "eth_getBlockReceipts",
    }
)  # fmt: skip
"""Methods whose answer belongs to a block. It is null when the view lacks that block."""


async def _as_of(rpc: SandboxRpcClient, number: int, method: str, params: list[Any]) -> Any:
    """Return what a node whose head is block `number` would answer. Raises RpcError.

    That block replaces `latest`, and higher blocks do not exist.
    """
    if method == "eth_blockNumber":
        return hex(number)
    if method not in _FOUND and _asked_above(number, method, params):
        raise RpcError(-32000, "header not found")
    answer = await rpc.call(method, *_rewritten(number, method, params))
    return None if method in _FOUND and _height(answer) > number else answer


async def behind(rpc: SandboxRpcClient, blocks: int, method: str, params: list[Any]) -> Any:
    """Return what a node that lags by some blocks would answer. Raises RpcError."""
    head = await rpc.number("eth_blockNumber")
    return await _as_of(rpc, max(head - blocks, 0), method, params)


@dataclass(frozen=True, slots=True)
class _Fork:
    """A node on another fork after block `base`: empty blocks up to the real chain's height."""

    rpc: SandboxRpcClient
    base: int

    async def call(self, method: str, params: list[Any]) -> Any:
        head = await self.rpc.number("eth_blockNumber")
        if method == "eth_blockNumber":
            return hex(head)
        number = self._own_block(head, method, params)
        if number is None:
            return await _as_of(self.rpc, self.base, method, params)
        return [] if method == "eth_getBlockReceipts" else await self._empty_block(number)

    def _own_block(self, head: int, method: str, params: list[Any]) -> int | None:
        """Return the number of the requested block when it is one of the fork's own."""
        own = range(self.base + 1, head + 1)
        if method in {"eth_getBlockByNumber", "eth_getBlockReceipts"}:
            block = params[0] if params else None
            number = head if block in _NEWEST else _number(block)
            return number if number in own else None
        if method == "eth_getBlockByHash":
            return next((n for n in own if [_own_hash(n)] == params[:1]), None)
        return None

    async def _empty_block(self, number: int) -> dict[str, Any]:
        block: dict[str, Any] = await self.rpc.call("eth_getBlockByNumber", hex(number), False)
        own = {"hash": _own_hash(number), "transactions": [], "gasUsed": "0x0"}
        parent = block["parentHash"] if number - 1 == self.base else _own_hash(number - 1)
        return block | own | {"parentHash": parent, "logsBloom": "0x" + "00" * 256}


def _own_hash(number: int) -> str:
    return "0x" + keccak256(f"quietswap.sandbox.fork.{number}".encode()).hex()


def _rewritten(number: int, method: str, params: list[Any]) -> list[Any]:
    at = _BLOCK_AT.get(method)
    if method == "eth_getLogs" and params:
        return [params[0] | {"toBlock": hex(min(number, _number(params[0].get("toBlock"))))}]
    if at is None or len(params) < at:
        return params
    block = params[at] if len(params) > at else None
    return [*params[:at], hex(number) if block in _NEWEST else block, *params[at + 1 :]]


def _asked_above(number: int, method: str, params: list[Any]) -> bool:
    at = _BLOCK_AT.get(method)
    block = params[at] if at is not None and len(params) > at else None
    return isinstance(block, str) and block.startswith("0x") and _number(block) > number


def _number(tag: Any) -> int:
    """Return the number of a block tag; a name or no tag is above every block."""
    is_number = isinstance(tag, str) and tag.startswith("0x") and len(tag) < 66
    return int(tag, 16) if is_number else 2**63


def _height(answer: Any) -> int:
    """Return the block number of an answer; 0 when it has none."""
    if isinstance(answer, list):
        return _height(answer[0]) if answer else 0
    if not isinstance(answer, dict):
        return 0
    number = answer.get("blockNumber") or answer.get("number")
    return int(number, 16) if number else 0


_Spoil = Callable[[dict[str, Any], int], dict[str, Any] | None]
"""Returns the faulty receipt, given the genuine one and the number of the latest block."""
NAME = "node"
_NO_DELEGATION = re.compile(rb'"code":\s*"0xef01(?!00[0-9a-f]{40}")', re.IGNORECASE)
"""Code in JSON that begins like a delegation of EIP-7702 and is none. It ends anvil."""


@dataclass(eq=False)
class NodeProxy:
    """`handle` serves JSON-RPC over HTTP POST on any path. Close it when done."""

    rpc: SandboxRpcClient
    chain_lock: ReadWriteLock
    public: set[str]
    active_faults: ActiveFaults
    is_geth: bool = False

    def __post_init__(self) -> None:
        self._fork: tuple[Fault, _Fork] | None = None
        self._random = random.Random(1)
        # client requests do not wait for the sandbox's own connections
        self._pool = SandboxRpcClient(self.rpc.url)

    async def close(self) -> None:
        await self._pool.close()

    async def handle(self, request: HttpRequest) -> Answer:
        if request.method != "POST":
            return HttpResponse(405, b"method not allowed", "text/plain")
        fault = self.active_faults.of(NAME)
        if fault and fault.kind == "flap" and self._random.random() < fault.share:
            return HttpResponse(502, b"Bad Gateway", "text/plain")
        try:
            body = rpc_server.read(request)
        except rpc_server.InvalidRpcRequest as error:
            return error.reply
        calls = body if isinstance(body, list) else [body]
        sent = (call.get("params") for call in calls if call["method"] in SENDING)
        self.public.update(_hash(params[0]) for params in sent if params)
        async with self.chain_lock.visit():
            method = await self._method(fault) if fault else None
            ending = (call for call in calls if _ends_anvil(call["method"], call.get("params")))
            if method is None and not any(ending):
                return HttpResponse(200, await self._forwarded(body, request.body))
            return await rpc_server.answer(body, _guarded(method or self._plain))

    async def _forwarded(self, body: list[dict[str, Any]] | dict[str, Any], raw: bytes) -> bytes:
        if self.is_geth:
            return await self._pool.forward(raw)
        return await answer_as_geth(self._pool, body, raw)

    async def _method(self, fault: Fault) -> rpc_server.Method | None:
        """Return what answers single calls under this fault; None when anvil answers them."""
        match fault.kind:
            case "lag":
                return partial(behind, self.rpc, fault.number)
            case "fork":
                return (await self._forked(fault)).call
            case "no_simulate":
                return self._without_simulation
            case "late_receipts":
                return partial(self._with_receipts, _late)
            case "empty_receipts":
                return partial(self._with_receipts, _emptied)
        return None

    async def _forked(self, fault: Fault) -> _Fork:
        """Return the fork, which begins at the first request under this fault."""
        if self._fork is None or self._fork[0] is not fault:
            head = await self.rpc.number("eth_blockNumber")
            self._fork = (fault, _Fork(self.rpc, max(head - fault.number, 0)))
        return self._fork[1]

    async def _without_simulation(self, method: str, params: list[Any]) -> Any:
        if method == "eth_simulateV1":
            raise RpcError(-32601, f"the method {method} does not exist/is not available")
        return await self._plain(method, params)

    async def _with_receipts(self, spoil: _Spoil, method: str, params: list[Any]) -> Any:
        answer = await self.rpc.call(method, *params)
        if answer is None or method not in {"eth_getTransactionReceipt", "eth_getBlockReceipts"}:
            return answer
        head = await self.rpc.number("eth_blockNumber")
        if isinstance(answer, dict):
            return spoil(answer, head)
        shown = [spoil(receipt, head) for receipt in answer]
        return None if None in shown else shown

    async def _plain(self, method: str, params: list[Any]) -> Any:
        return await self.rpc.call(method, *params)


def _guarded(answer: rpc_server.Method) -> rpc_server.Method:
    async def guarded(method: str, params: list[Any]) -> Any:
        if _ends_anvil(method, params):
            raise RpcError(
                -32602,
                "invalid params: code that begins with 0xef01 must be a delegation of EIP-7702:"
                " 0xef0100 and 20 bytes",
            )
        return await answer(method, params)

    return guarded


def _ends_anvil(method: str, params: list[Any] | None) -> bool:
    """Whether the call sets code that ends anvil with a panic: alone, or within a whole state."""
    match method, params:
        case ["anvil_setCode" | "hardhat_setCode", [_, code, *_]]:
            state = b'"code":"0x%s"' % _hex_bytes(code).hex().encode()
        case ["anvil_loadState" | "hardhat_loadState", [packed, *_]]:
            state = _hex_bytes(packed)
            with contextlib.suppress(OSError, EOFError, zlib.error):
                state = gzip.decompress(state)
        case _:
            return False
    return _NO_DELEGATION.search(state) is not None


def _hex_bytes(data: Any) -> bytes:
    """Return the bytes of an RPC parameter: hexadecimal digits, or a list. Empty if neither."""
    try:
        digits = str(data).lower().removeprefix("0x")
        return bytes(data) if isinstance(data, list) else bytes.fromhex(digits)
    except (TypeError, ValueError):
        return b""


def _hash(raw: Any) -> str:
    return "0x" + keccak256(_hex_bytes(raw)).hex()


def _late(receipt: dict[str, Any], head: int) -> dict[str, Any] | None:
    return None if int(receipt["blockNumber"], 16) == head else receipt


def _emptied(receipt: dict[str, Any], _: int) -> dict[str, Any]:
    return {"transactionHash": receipt["transactionHash"], "blockNumber": None, "logs": []}
