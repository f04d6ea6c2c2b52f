"""Faulty views of the chain: a lagging node, a node on another fork, a node with bad receipts.

The first two answer from an earlier block: it replaces `latest`, and higher blocks do not exist.
The fork adds its own empty blocks up to the height of the real chain.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quietswap.domain.crypto import keccak256
from quietswap.sandbox.wire.rpc_client import RpcError, SandboxRpcClient

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


@dataclass(frozen=True, slots=True)
class _EarlierView:
    """Answers as of an earlier block."""

    rpc: SandboxRpcClient

    async def ask(self, number: int, method: str, params: list[Any]) -> Any:
        """Return what a node whose head is `number` would answer. Raises RpcError."""
        if method == "eth_blockNumber":
            return hex(number)
        if method not in _FOUND and _asked_above(number, method, params):
            raise RpcError(-32000, "header not found")
        answer = await self.rpc.call(method, *_rewritten(number, method, params))
        if method in _FOUND and _height(answer) > number:
            return None
        return answer


@dataclass(frozen=True, slots=True)
class BehindView(_EarlierView):
    """A node that lags by some blocks."""

    blocks: int

    async def call(self, method: str, params: list[Any]) -> Any:
        """Answer one call. Raises RpcError."""
        head = await self.rpc.number("eth_blockNumber")
        return await self.ask(max(head - self.blocks, 0), method, params)


@dataclass(frozen=True, slots=True)
class ForkView(_EarlierView):
    """A node on another fork after block `base`."""

    base: int

    async def call(self, method: str, params: list[Any]) -> Any:
        """Answer one call. Raises RpcError."""
        head = await self.rpc.number("eth_blockNumber")
        if method == "eth_blockNumber":
            return hex(head)
        number = self._own_block(head, method, params)
        if number is None:
            return await self.ask(self.base, method, params)
        if method == "eth_getBlockReceipts":
            return []
        return await self._empty_block(number)

    def _own_block(self, head: int, method: str, params: list[Any]) -> int | None:
        """Return the number of the requested block when it is one of the fork's own."""
        own = range(self.base + 1, head + 1)
        if method in {"eth_getBlockByNumber", "eth_getBlockReceipts"}:
            asked = _first(params)
            number = head if asked in _NEWEST else _number(asked)
            return number if number in own else None
        if method == "eth_getBlockByHash":
            return next((n for n in own if _own_hash(n) == _first(params)), None)
        return None

    async def _empty_block(self, number: int) -> dict[str, Any]:
        block: dict[str, Any] = await self.rpc.call("eth_getBlockByNumber", hex(number), False)
        own = {"hash": _own_hash(number), "transactions": [], "gasUsed": "0x0"}
        parent = block["parentHash"] if number - 1 == self.base else _own_hash(number - 1)
        return block | own | {"parentHash": parent, "logsBloom": "0x" + "00" * 256}


Spoil = Callable[[dict[str, Any], int], dict[str, Any] | None]
"""Returns the faulty receipt, given the genuine one and the number of the latest block."""


@dataclass(frozen=True, slots=True)
class ReceiptView:
    """A node with faulty receipts. All other answers are genuine."""

    rpc: SandboxRpcClient
    spoil: Spoil

    async def call(self, method: str, params: list[Any]) -> Any:
        """Answer one call. Raises RpcError."""
        answer = await self.rpc.call(method, *params)
        if answer is None or method not in {"eth_getTransactionReceipt", "eth_getBlockReceipts"}:
            return answer
        head = await self.rpc.number("eth_blockNumber")
        if isinstance(answer, dict):
            return self.spoil(answer, head)
        shown = [self.spoil(receipt, head) for receipt in answer]
        return None if None in shown else shown


def _own_hash(number: int) -> str:
    return "0x" + keccak256(f"quietswap.sandbox.fork.{number}".encode()).hex()


def _rewritten(number: int, method: str, params: list[Any]) -> list[Any]:
    at = _BLOCK_AT.get(method)
    if method == "eth_getLogs" and params:
        return [params[0] | {"toBlock": hex(min(number, _number(params[0].get("toBlock"))))}]
    if at is None or len(params) < at:
        return params
    asked = params[at] if len(params) > at else None
    return [*params[:at], hex(number) if asked in _NEWEST else asked, *params[at + 1 :]]


def _asked_above(number: int, method: str, params: list[Any]) -> bool:
    at = _BLOCK_AT.get(method)
    asked = params[at] if at is not None and len(params) > at else None
    return isinstance(asked, str) and asked.startswith("0x") and _number(asked) > number


def _number(tag: Any) -> int:
    """Return the number of a block tag; a name or no tag is above every block."""
    return (
        int(tag, 16) if isinstance(tag, str) and tag.startswith("0x") and len(tag) < 66 else 2**63
    )


def _first(params: list[Any]) -> Any:
    return params[0] if params else None


def _height(answer: Any) -> int:
    """Return the block number of an answer; 0 when it has none."""
    if isinstance(answer, list):
        return _height(answer[0]) if answer else 0
    if not isinstance(answer, dict):
        return 0
    number = answer.get("blockNumber") or answer.get("number")
    return int(number, 16) if number else 0
