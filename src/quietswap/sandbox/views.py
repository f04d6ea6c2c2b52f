"""The chain as a node sees it that is behind, or that follows another fork.

Both answer from an earlier block: questions about the latest state are asked of that block, and
what is above it is unknown. The fork adds empty blocks of its own up to the height of the rest.
"""

from collections.abc import Callable
from typing import Any

from quietswap.domain.crypto import keccak256
from quietswap.sandbox.rpc import Rpc, RpcError

_NEWEST = frozenset({"latest", "pending", None})
_BLOCK_AT = {
    "eth_call": 1, "eth_estimateGas": 1, "eth_getBalance": 1, "eth_getTransactionCount": 1,
    "eth_getCode": 1, "eth_simulateV1": 1, "eth_createAccessList": 1, "eth_feeHistory": 1,
    "eth_getStorageAt": 2, "eth_getBlockByNumber": 0, "eth_getBlockReceipts": 0,
    "eth_getProof": 2,
}  # fmt: skip
"""Where a method's parameters name the block it is asked of."""
_FOUND = frozenset(
    {
        "eth_getBlockByNumber", "eth_getBlockByHash", "eth_getTransactionReceipt",
        "eth_getTransactionByHash", "eth_getBlockReceipts",
    }
)  # fmt: skip
"""Methods whose answer belongs to a block, and is unknown when that block is."""


class _EarlierView:
    """Answers as of block `number`, whatever came later."""

    def __init__(self, rpc: Rpc) -> None:
        self._rpc = rpc

    async def ask(self, number: int, method: str, params: list[Any]) -> Any:
        """Return what a node whose head is `number` would answer. Raises RpcError."""
        if method == "eth_blockNumber":
            return hex(number)
        if method not in _FOUND and _asked_above(number, method, params):
            raise RpcError(-32000, "header not found")
        answer = await self._rpc.call(method, *_rewritten(number, method, params))
        if method in _FOUND and _height(answer) > number:
            return None
        return answer


class BehindView(_EarlierView):
    """A node that is some blocks behind."""

    def __init__(self, rpc: Rpc, blocks: int) -> None:
        super().__init__(rpc)
        self._blocks = blocks

    async def call(self, method: str, params: list[Any]) -> Any:
        """Answer one call. Raises RpcError."""
        head = int(await self._rpc.call("eth_blockNumber"), 16)
        return await self.ask(max(head - self._blocks, 0), method, params)


class ForkView(_EarlierView):
    """A node that went its own way after block `base`."""

    def __init__(self, rpc: Rpc, base: int) -> None:
        super().__init__(rpc)
        self._base = base

    async def call(self, method: str, params: list[Any]) -> Any:
        """Answer one call. Raises RpcError."""
        head = int(await self._rpc.call("eth_blockNumber"), 16)
        if method == "eth_blockNumber":
            return hex(head)
        number = self._own_block(head, method, params)
        if number is None:
            return await self.ask(self._base, method, params)
        if method == "eth_getBlockReceipts":
            return []
        return await self._empty_block(number)

    def _own_block(self, head: int, method: str, params: list[Any]) -> int | None:
        """Return which of the fork's own blocks is asked for, if it is one of them."""
        own = range(self._base + 1, head + 1)
        if method in {"eth_getBlockByNumber", "eth_getBlockReceipts"}:
            asked = _first(params)
            number = head if asked in _NEWEST else _number(asked)
            return number if number in own else None
        if method == "eth_getBlockByHash":
            return next((n for n in own if _own_hash(n) == _first(params)), None)
        return None

    async def _empty_block(self, number: int) -> dict[str, Any]:
        block: dict[str, Any] = await self._rpc.call("eth_getBlockByNumber", hex(number), False)
        own = {"hash": _own_hash(number), "transactions": [], "gasUsed": "0x0"}
        parent = block["parentHash"] if number - 1 == self._base else _own_hash(number - 1)
        return block | own | {"parentHash": parent, "logsBloom": "0x" + "00" * 256}


Spoil = Callable[[dict[str, Any], int], dict[str, Any] | None]
"""Returns what a node shows of a receipt, given the number of the latest block."""


class ReceiptView:
    """A node whose receipts are not what they should be; everything else is."""

    def __init__(self, rpc: Rpc, spoil: Spoil) -> None:
        self._rpc = rpc
        self._spoil = spoil

    async def call(self, method: str, params: list[Any]) -> Any:
        """Answer one call. Raises RpcError."""
        answer = await self._rpc.call(method, *params)
        if answer is None or method not in {"eth_getTransactionReceipt", "eth_getBlockReceipts"}:
            return answer
        head = int(await self._rpc.call("eth_blockNumber"), 16)
        if isinstance(answer, dict):
            return self._spoil(answer, head)
        shown = [self._spoil(receipt, head) for receipt in answer]
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
    """Return a tag's number; a name or nothing is beyond every block."""
    return (
        int(tag, 16) if isinstance(tag, str) and tag.startswith("0x") and len(tag) < 66 else 2**63
    )


def _first(params: list[Any]) -> Any:
    return params[0] if params else None


def _height(answer: Any) -> int:
    """Return the block number a found thing belongs to; 0 when there is none."""
    if isinstance(answer, list):
        return _height(answer[0]) if answer else 0
    if not isinstance(answer, dict):
        return 0
    number = answer.get("blockNumber") or answer.get("number")
    return int(number, 16) if number else 0
