"""A relay that speaks MEV Blocker's protocol: JSON-RPC per endpoint, and a status page per hash.

Protocol: https://docs.mevblocker.io (endpoints, API reference, transaction status). What it is
given it keeps to itself until the block builder asks for it.
"""

import time
from typing import Any

from quietswap.domain import address as addresses
from quietswap.sandbox import jsonrpc
from quietswap.sandbox.faults import Fault, FaultBoard
from quietswap.sandbox.misbehaviour import close_silently
from quietswap.sandbox.relay_pool import ENDPOINTS, Held, RelayPool, State, Terms, refusal
from quietswap.sandbox.rpc import Rpc, RpcError
from quietswap.sandbox.web import Answer, Reply, Request, json_reply

_PROXIED = frozenset(
    {
        "eth_chainId", "net_version", "eth_blockNumber", "eth_getBalance", "eth_getCode",
        "eth_gasPrice", "eth_maxPriorityFeePerGas", "eth_feeHistory", "eth_call",
        "eth_estimateGas", "eth_getBlockByNumber", "eth_getBlockByHash",
        "eth_getTransactionReceipt", "eth_getStorageAt", "eth_getLogs",
    }
)  # fmt: skip


class _AnswerLost(Exception):
    """The work is done and the answer is not to be sent."""


class Relay:
    """One relay: `handle` serves its HTTP, the builder takes from `pool`."""

    def __init__(self, name: str, rpc: Rpc, board: FaultBoard) -> None:
        self.name = name
        self.pool = RelayPool(rpc)
        self._rpc = rpc
        self._board = board

    def offers(self, block: int) -> list[Held]:
        """Return what may go into block number `block`: nothing while it withholds."""
        return [] if self._board.shows(self.name, "withhold") else self.pool.offers(block)

    async def handle(self, request: Request) -> Answer:
        """Serve `GET /tx/<hash>` and JSON-RPC on `/`, `/fast`, `/noreverts`, `/fullprivacy`."""
        page = request.path.strip("/")
        if request.method == "GET" and page.startswith("tx/"):
            return json_reply(await self.status(page.removeprefix("tx/").lower()))
        if page and page not in ENDPOINTS:
            return Reply(404, b"not found", "text/plain")
        if request.method != "POST":
            return Reply(405, b"method not allowed", "text/plain")
        terms = _terms(page or "fast", request.query)

        async def method(name: str, params: list[Any]) -> Any:
            return await self._call(name, params, terms)

        try:
            return await jsonrpc.answer(jsonrpc.read(request), method)
        except jsonrpc.NotRpc as fault:
            return fault.reply
        except _AnswerLost:
            return close_silently

    async def status(self, tx_hash: str) -> dict[str, Any]:
        """Return the status page of a hash in the relay's shape."""
        held = self.pool.get(tx_hash)
        if held is None or held.state is State.LOST:
            return _unknown(tx_hash)
        receipt = await self._rpc.call("eth_getTransactionReceipt", tx_hash)
        word = "INCLUDED" if receipt else "FAILED" if held.state is not State.HELD else "UNKNOWN"
        if held.reported_failed and not receipt:
            word = "FAILED"
        return _page(held, word)

    async def _call(self, name: str, params: list[Any], terms: Terms) -> Any:
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

    async def _send(self, raw: bytes, terms: Terms) -> str:
        fault = self._board.of(self.name)
        if fault is not None and fault.kind == "refuse":
            raise refusal(fault.argument)
        held = await self.pool.accept(raw, terms)
        if fault is not None:
            await self._spoil(held, fault)
        return held.transaction.hash

    async def _spoil(self, held: Held, fault: Fault) -> None:
        match fault.kind:
            case "lose":
                held.state = State.LOST
            case "failed_then_mine":
                head = int(await self._rpc.call("eth_blockNumber"), 16)
                held.reported_failed, held.not_before = True, head + fault.number
                held.simulation_error = "execution reverted"
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
        if mined is not None or held is None or held.state is not State.HELD:
            return mined
        return _unsigned(held)


def _terms(endpoint: str, query: dict[str, str]) -> Terms:
    share = (
        "shareAll" if query.get("shareAll") else "shareSafe" if query.get("shareSafe") else "none"
    )
    soft = query.get("softCancellations", "").lower() in {"1", "true"}
    return Terms(endpoint, share, query.get("referrer"), query.get("refundRecipient"), soft)


def _bytes(params: list[Any]) -> bytes:
    text = params[0] if params else None
    if not isinstance(text, str) or not text.startswith("0x"):
        raise RpcError(-32602, "invalid argument 0: hex string without 0x prefix")
    try:
        return bytes.fromhex(text[2:])
    except ValueError as error:
        raise RpcError(-32602, "invalid argument 0: invalid hex string") from error


def _unsigned(held: Held) -> dict[str, Any]:
    """Return a pending transaction as the relay shows it: without its signature."""
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


def _page(held: Held, word: str) -> dict[str, Any]:
    fields, terms = held.transaction.fields, held.terms
    return {
        "status": word,
        "hash": held.transaction.hash,
        "rpc_timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(held.received_at)),
        "transaction": {
            "from": held.transaction.sender.lower(),
            "to": fields.to.lower(),
            "gas": str(fields.gas),
            "nonce": str(fields.nonce),
            "value": str(fields.value),
        },
        "fastMode": terms.endpoint == "fast",
        "shared": terms.endpoint != "fullprivacy",
        "simulationError": held.simulation_error,
        "backruns": 0,
        "referrer": terms.referrer or "No Referrer",
        "refundRecipient": terms.refund_recipient,
        "refund": 0.0,
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
