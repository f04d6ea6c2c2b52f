"""A private relay with MEV Blocker's protocol: JSON-RPC per endpoint, and a status page per hash.

Protocol: https://docs.mevblocker.io (endpoints, API reference, transaction status). Only the block
builder gets the transactions.
"""

import time
from typing import Any

from quietswap.domain import address as addresses
from quietswap.sandbox.faults.active_faults import ActiveFaults
from quietswap.sandbox.faults.http_faults import close_silently
from quietswap.sandbox.faults.registry import Fault
from quietswap.sandbox.relay.relay_pool import (
    ENDPOINTS,
    RelayPool,
    RelayTransaction,
    RelayTransactionState,
    SubmissionOptions,
    refusal,
)
from quietswap.sandbox.wire import rpc_server
from quietswap.sandbox.wire.http_server import Answer, HttpRequest, HttpResponse, json_reply
from quietswap.sandbox.wire.rpc_client import RpcError, SandboxRpcClient

_PROXIED = {
    "eth_chainId", "net_version", "eth_blockNumber", "eth_getBalance", "eth_getCode",
    "eth_gasPrice", "eth_maxPriorityFeePerGas", "eth_feeHistory", "eth_call", "eth_estimateGas",
    "eth_getBlockByNumber", "eth_getBlockByHash", "eth_getTransactionReceipt",
    "eth_getStorageAt", "eth_getLogs",
}  # fmt: skip
_REVERTED = 3
"""geth's error code for a call that reverts."""


class _AnswerLost(Exception):
    """The request was processed, and its answer must not be sent."""


class SandboxRelay:
    """One relay: `handle` serves HTTP, and the block builder reads `pool`."""

    def __init__(self, name: str, rpc: SandboxRpcClient, board: ActiveFaults) -> None:
        self.name = name
        self.pool = RelayPool(rpc)
        self._rpc = rpc
        self._board = board

    def offers(self, block: int) -> list[RelayTransaction]:
        """Return what may go into block number `block`; nothing under the fault `withhold`."""
        return [] if self._board.shows(self.name, "withhold") else self.pool.offers(block)

    async def handle(self, request: HttpRequest) -> Answer:
        """Serve `GET /tx/<hash>` and JSON-RPC on `/`, `/fast`, `/noreverts`, `/fullprivacy`."""
        page = request.path.strip("/")
        if request.method == "GET" and page.startswith("tx/"):
            return json_reply(await self.status(page.removeprefix("tx/").lower()))
        if page and page not in ENDPOINTS:
            return HttpResponse(404, b"not found", "text/plain")
        if request.method != "POST":
            return HttpResponse(405, b"method not allowed", "text/plain")
        terms = _terms(page or "fast", request.query)

        async def method(name: str, params: list[Any]) -> Any:
            return await self._call(name, params, terms)

        try:
            return await rpc_server.answer(rpc_server.read(request), method)
        except rpc_server.InvalidRpcRequest as fault:
            return fault.reply
        except _AnswerLost:
            return close_silently

    async def status(self, tx_hash: str) -> dict[str, Any]:
        """Return the status page of a hash in MEV Blocker's format."""
        held = self.pool.get(tx_hash)
        if held is None or held.state is RelayTransactionState.LOST:
            return _unknown(tx_hash)
        receipt = await self._rpc.call("eth_getTransactionReceipt", tx_hash)
        failed = held.state is not RelayTransactionState.HELD or held.reported_failed
        page = _page(held, "INCLUDED" if receipt else "FAILED" if failed else "UNKNOWN")
        if receipt and held.refund_wei:
            page |= {"backruns": 1, "refund": held.refund_wei / 10**18}
        return page

    async def _call(self, name: str, params: list[Any], terms: SubmissionOptions) -> Any:
        if name == "eth_sendRawTransaction":
            return await self._send(_bytes(params), terms)
        if name == "eth_cancelTransaction":
            return self.pool.cancel(str(params[0]).lower()) if params else False
        if name == "eth_getTransactionCount":
            return await self._count(params)
        if name == "eth_getTransactionByHash":
            return await self._transaction(str(params[0]).lower() if params else "")
        if name not in _PROXIED:
            raise RpcError(-32601, f"Method not found: {name}")
        return await self._rpc.call(name, *params)

    async def _send(self, raw: bytes, terms: SubmissionOptions) -> str:
        fault = self._board.of(self.name)
        if fault is not None and fault.kind == "refuse":
            raise refusal(fault.argument)
        held = await self.pool.accept(raw, terms)
        if fault is not None:
            await self._spoil(held, fault)
        return held.transaction.hash

    async def _spoil(self, held: RelayTransaction, fault: Fault) -> None:
        match fault.kind:
            case "lose":
                held.state = RelayTransactionState.LOST
            case "failed_then_mine":
                held.not_before = await self._rpc.number("eth_blockNumber") + fault.number
                held.reported_failed, held.simulation_error = True, "execution reverted"
            case "reverted_then_mine":
                held.not_before = await self._rpc.number("eth_blockNumber") + fault.number
                raise RpcError(_REVERTED, "execution reverted")
            case "refund" | "false_refund" if held.terms.endpoint != "fullprivacy":
                held.refund_wei, held.refund_is_paid = fault.wei, fault.kind == "refund"
            case "already_known":
                raise refusal("already known")
            case "answer_lost":
                raise _AnswerLost

    async def _count(self, params: list[Any]) -> str:
        count: str = await self._rpc.call("eth_getTransactionCount", *params)
        if len(params) < 2 or params[1] != "pending":
            return count
        try:
            sender = addresses.from_any_case(str(params[0]))
        except addresses.BadAddress as error:
            raise RpcError(-32602, str(error)) from error
        return hex(self.pool.pending_count(sender, int(count, 16)))

    async def _transaction(self, tx_hash: str) -> Any:
        mined = await self._rpc.call("eth_getTransactionByHash", tx_hash)
        held = self.pool.get(tx_hash)
        if mined is not None or held is None or held.state is not RelayTransactionState.HELD:
            return mined
        return _unsigned(held)


def _terms(endpoint: str, query: dict[str, str]) -> SubmissionOptions:
    share = (
        "shareAll" if query.get("shareAll") else "shareSafe" if query.get("shareSafe") else "none"
    )
    soft = query.get("softCancellations", "").lower() in {"1", "true"}
    return SubmissionOptions(
        endpoint, share, query.get("referrer"), query.get("refundRecipient"), soft
    )


def _bytes(params: list[Any]) -> bytes:
    text = params[0] if params else None
    if not isinstance(text, str) or not text.startswith("0x"):
        raise RpcError(-32602, "invalid argument 0: hex string without 0x prefix")
    try:
        return bytes.fromhex(text[2:])
    except ValueError as error:
        raise RpcError(-32602, "invalid argument 0: invalid hex string") from error


def _unsigned(held: RelayTransaction) -> dict[str, Any]:
    """Return a pending transaction in MEV Blocker's format, which has no signature."""
    transaction, fields = held.transaction, held.transaction.fields
    return {
        "accessList": [], "blockHash": None, "blockNumber": None, "transactionIndex": None,
        "chainId": hex(fields.chain_id), "from": transaction.sender.lower(),
        "gas": hex(fields.gas), "gasPrice": "0x0", "hash": transaction.hash,
        "input": "0x" + fields.data.hex(), "maxFeePerGas": hex(fields.max_fee),
        "maxPriorityFeePerGas": hex(fields.tip), "nonce": hex(fields.nonce),
        "to": fields.to.lower(), "type": "0x2", "value": hex(fields.value),
        "r": "0x0", "s": "0x0", "v": "0x0", "yParity": "0x0",
    }  # fmt: skip


def _page(held: RelayTransaction, status: str) -> dict[str, Any]:
    fields, terms = held.transaction.fields, held.terms
    sent = {"from": held.transaction.sender.lower(), "to": fields.to.lower()}
    return _unknown(held.transaction.hash) | {
        "status": status,
        "rpc_timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(held.received_at)),
        "transaction": sent | {n: str(getattr(fields, n)) for n in ("gas", "nonce", "value")},
        "fastMode": terms.endpoint == "fast",
        "shared": terms.endpoint != "fullprivacy",
        "simulationError": held.simulation_error,
        "referrer": terms.referrer or "No Referrer",
        "refundRecipient": terms.refund_recipient,
    }


def _unknown(tx_hash: str) -> dict[str, Any]:
    return {
        "status": "UNKNOWN",
        "hash": tx_hash,
        "rpc_timestamp": None,
        "transaction": dict.fromkeys(("from", "to", "gas", "nonce", "value"), ""),
        "fastMode": True,
        "shared": False,
        "simulationError": None,
        "backruns": 0,
        "referrer": None,
        "refundRecipient": None,
        "refund": 0.0,
    }
