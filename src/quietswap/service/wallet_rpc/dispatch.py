"""Answers the calls of one body: local ones, sends in their order, then all reads in one batch."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from quietswap import __version__
from quietswap.rules.chain import rpc_codes
from quietswap.rules.chain.node_reads import HEIGHT, nonce
from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.chain.rpc_wire import SEND, RpcCall, RpcErrorObject
from quietswap.rules.errors.base import RateLimitExceeded, RequestError
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.rules.tx.address import Address, from_any_case
from quietswap.rules.tx.signed import MAINNET, decode
from quietswap.rules.wallet_rpc_token import WalletRpcToken
from quietswap.service import observe
from quietswap.service.api.operation import UseCases, WalletRpcOptions
from quietswap.service.base.clock import Clock
from quietswap.service.wallet_rpc import parameters, wire
from quietswap.service.wallet_rpc.parameters import RpcError, bad_parameters
from quietswap.service.wallet_rpc.wire import Call, Invalid, Message, Notification

# What an anonymous visitor of the web page may let the node execute.
#
# Anybody can have an RPC URL of the page, so its calls are worth less of the node's time than
# those of a client: they execute code that is on the chain, with less gas. Lists say what is
# allowed: nodes read more than this service knows, and geth reads names in any case.
MOST_CALL_GAS = 10_000_000
MOST_ESTIMATE_GAS = 1 << 24
"""No transaction can have more: https://eips.ethereum.org/EIPS/eip-7825"""
_MEMBERS = (*parameters.CALL_MEMBERS, "type", "chainId")
_OVERRIDES = ("balance", "nonce", "state", "stateDiff")
_ELSEWHERE = "on an RPC URL of the web page; URLs made with an API key allow it"


def bound_visitor(call: Call) -> None:
    """Set the gas of a call that names none, and lower that of an estimate.

    The parameters were checked before. Raises RpcError for more gas than a visitor has, and for
    code that is not on the chain.
    """
    if call.method not in ("eth_call", "eth_estimateGas"):
        return
    transaction: dict[str, Any] = call.params[0]
    if not set(transaction) <= set(_MEMBERS):
        raise bad_parameters(f"call has only {', '.join(_MEMBERS)} {_ELSEWHERE}")
    if transaction.get("to") is None:
        raise bad_parameters(f"call.to is missing: no contract is created {_ELSEWHERE}")
    gas = None if transaction.get("gas") is None else int(transaction["gas"], 16)
    if call.method == "eth_estimateGas":
        transaction["gas"] = hex(min(gas or MOST_ESTIMATE_GAS, MOST_ESTIMATE_GAS))
    elif gas is None:
        transaction["gas"] = hex(MOST_CALL_GAS)
    elif gas > MOST_CALL_GAS:
        raise bad_parameters(f"call.gas is at most {MOST_CALL_GAS} {_ELSEWHERE}")
    overrides = call.params[2] if len(call.params) > 2 else None
    for account in (overrides or {}).values():
        if not set(account) <= set(_OVERRIDES):
            raise bad_parameters(f"overrides change only {', '.join(_OVERRIDES)} {_ELSEWHERE}")


MOST_HEAVY = 10
"""Calls with a result of megabytes in one body."""
HEAVY = "logs, whole blocks or long fee histories"
_LOCAL: dict[str, bytes] = {
    "eth_chainId": b'"%s"' % hex(MAINNET).encode(),
    "net_version": b'"%d"' % MAINNET,
    "web3_clientVersion": b'"quietswap/%s"' % __version__.encode(),
    "eth_accounts": b"[]",
}
METHODS = frozenset((*_LOCAL, SEND, *parameters.READS))
_NULL = b"null"
_UNAVAILABLE = "the service cannot read the chain now; nothing was sent; try again in a few seconds"
_UNKNOWN = (
    "a part of the service is away, so it is not known whether the transaction was taken; send the "
    "same signed transaction again: it is taken once"
)

_encode = msgspec.json.Encoder(enc_hook=str).encode


@dataclass(slots=True)
class _Slot:
    """One call and its outcome: the JSON of a result, or an error."""

    call: Call
    outcome: bytes | RpcError | None = None


@dataclass(frozen=True, slots=True)
class WalletRpc:
    """Answers the JSON-RPC calls of one body; `request_id` names the request in the log."""

    use_cases: UseCases
    options: WalletRpcOptions
    clock: Clock
    token: WalletRpcToken
    request_id: str

    async def answer(self, message: Message) -> list[bytes]:
        """Return the responses of the requests that get one, in their order. Never raises."""
        slots = [_slot(item) for item in message.items if not isinstance(item, Notification)]
        sends, reads = self._sorted([slot for slot in slots if slot.outcome is None])
        await self._send_all(sends)
        await self._guarded(reads, self._read_all(reads))
        answers = [_response(slot) for slot in slots]
        if not message.is_batch and slots and isinstance(slots[0].outcome, RpcError):
            observe.request_refused(str(slots[0].outcome.code))
        return answers

    def _sorted(self, slots: Sequence[_Slot]) -> tuple[list[_Slot], list[_Slot]]:
        """Settle what needs no other service, and return the sends and the reads that remain."""
        sends, reads, heavy = [], [], 0
        for slot in slots:
            try:
                slot.outcome = _local_answer(self.token, slot.call)
                if slot.outcome is not None:
                    continue
                if slot.call.method == SEND:
                    sends.append(slot)
                    continue
                is_heavy = parameters.is_heavy(slot.call.method, slot.call.params)
                heavy += is_heavy
                if is_heavy and heavy > MOST_HEAVY:
                    text = f"a body has at most {MOST_HEAVY} calls for {HEAVY}"
                    raise RpcError(rpc_codes.LIMIT_EXCEEDED, text)
                reads.append(slot)
            except RpcError as error:
                slot.outcome = error
        return sends, reads

    async def _send_all(self, slots: Sequence[_Slot]) -> None:
        """Send one transaction after the other in the order of their nonces."""
        started = self.clock.monotonic()
        for slot in sorted(slots, key=_nonce):
            if self.clock.monotonic() - started > self.options.sends_s:
                text = "not sent anywhere: the sends before it took too long; send it again"
                slot.outcome = RpcError(rpc_codes.LIMIT_EXCEEDED, text)
                continue
            await self._guarded([slot], self._send(slot))

    async def _send(self, slot: _Slot) -> None:
        try:
            tx_hash = await self.use_cases.rpc_send(self.token, slot.call.params[0])
            slot.outcome = _encode(tx_hash)
        except RequestError as error:
            slot.outcome = rejected(error)
        except (StoreUnavailable, NodeUnavailable) as error:
            observe.request_unserved(self.request_id, SEND, str(error))
            slot.outcome = RpcError(rpc_codes.RESOURCE_UNAVAILABLE, _UNKNOWN)

    async def _read_all(self, slots: Sequence[_Slot]) -> None:
        try:
            async with asyncio.timeout(self.options.timeout_s):
                await self._read(await self._with_bounded_logs(slots))
        except (NodeUnavailable, StoreUnavailable, TimeoutError) as error:
            reason = str(error) or "no answer in time"
            observe.request_unserved(self.request_id, "wallet_rpc", reason)
            for slot in slots:
                slot.outcome = slot.outcome or RpcError(
                    rpc_codes.RESOURCE_UNAVAILABLE, _UNAVAILABLE
                )

    async def _with_bounded_logs(self, slots: Sequence[_Slot]) -> list[_Slot]:
        """Return the slots without the reads of logs from too many blocks, which get an error."""
        filters = [slot for slot in slots if slot.call.method == "eth_getLogs"]
        head = None
        if any(parameters.needs_head(slot.call.params[0]) for slot in filters):
            [answer] = await self.use_cases.rpc_node.read([HEIGHT], self.token.client_id)
            head = HEIGHT.value(answer)
        for slot in filters:
            try:
                parameters.check_log_range(slot.call.params[0], head, self.options.logs_blocks)
            except RpcError as error:
                slot.outcome = error
        return [slot for slot in slots if slot.outcome is None]

    async def _read(self, slots: Sequence[_Slot]) -> None:
        if not slots:
            return
        calls = [RpcCall(slot.call.method, slot.call.params) for slot in slots]
        answers = await self.use_cases.rpc_node.read(calls, self.token.client_id)
        for slot, answer in zip(slots, answers, strict=True):
            if isinstance(answer, RpcErrorObject):
                slot.outcome = _of_node(answer)
            else:
                slot.outcome = await self._with_live_orders(slot.call, answer)

    async def _with_live_orders(self, call: Call, answer: bytes) -> bytes:
        """Return the node's answer, or what a live order of this client adds to it."""
        if call.method == "eth_getTransactionByHash" and answer == _NULL:
            tx_hash = call.params[0].lower()
            pending = await self.use_cases.rpc_orders.pending(self.token, tx_hash)
            return _NULL if pending is None else _encode(pending)
        if call.method == "eth_getTransactionCount" and call.params[1:] == ["pending"]:
            wallet: Address = from_any_case(call.params[0])
            following = await self.use_cases.rpc_orders.next_nonce(self.token, wallet)
            if following is not None:
                return _encode(hex(max(following, nonce(wallet).value(answer))))
        return answer

    async def _guarded(self, slots: Sequence[_Slot], work: Awaitable[None]) -> None:
        """Do the work; an unexpected failure is logged, and the calls get an internal error."""
        try:
            await work
        except Exception as error:  # noqa: BLE001  one call must not end the answers of others
            observe.request_failed(self.request_id, "wallet_rpc", error)
            failure = parameters.service_failed(self.request_id)
            for slot in slots:
                slot.outcome = slot.outcome or failure


def _of_node(error: RpcErrorObject) -> RpcError:
    """Return the error of a call. An internal error is the node's, and not one of this service."""
    code = rpc_codes.SERVER_ERROR if error.code == rpc_codes.INTERNAL_ERROR else error.code
    return RpcError(code, error.message, error.data)


def _nonce(slot: _Slot) -> int:
    """Return the nonce of a send; -1 if it is no transaction, which its own check tells."""
    try:
        return decode(slot.call.params[0]).nonce
    except ValueError:
        return -1


def _local_answer(token: WalletRpcToken, call: Call) -> bytes | None:
    """Check a call and return the answer that needs no other service, if it has one.

    A call of a visitor gets the gas that a visitor has.

    Raises RpcError for a method that is not allowed and for bad parameters.
    """
    if call.method not in METHODS:
        is_name = call.method.isascii() and call.method.isidentifier()  # others may be anything
        name = f" {call.method[:60]}" if is_name else ""
        raise RpcError(
            rpc_codes.METHOD_NOT_FOUND,
            f"the method{name} does not exist here, see docs/wallets.md",
        )
    if call.by_name:
        raise bad_parameters("they must be an array")
    if call.method == SEND:
        parameters.RAW_TRANSACTION.check(call.params)
        return None
    parameters.READS.get(call.method, parameters.NONE).check(call.params)
    if token.is_of_web_session:
        bound_visitor(call)
    if call.method == "eth_call" and is_connection_check(call.params):
        return _encode(connected_answer(token.id))
    return _LOCAL.get(call.method)


def rejected(error: RequestError) -> RpcError:
    data: dict[str, Any] = {"code": error.code, "details": error.details or {}}
    order_id = (error.details or {}).get("orderId")
    if order_id is not None:
        data["orderId"] = order_id
    if isinstance(error, RateLimitExceeded):
        data["details"] = {"retryAfter": error.retry_after, "limit": error.limit}
        return RpcError(rpc_codes.LIMIT_EXCEEDED, error.message, data)
    return RpcError(rpc_codes.TRANSACTION_REJECTED, error.message + _known_words(error), data)


def _known_words(error: RequestError) -> str:
    """Return go-ethereum's words for this refusal, by which ethers and viem know it; "" if none."""
    details = error.details or {}
    if error.code == "INSUFFICIENT_BALANCE" and details.get("asset") == "ETH":
        return " (insufficient funds for gas * price + value)"
    if error.code == "NONCE_TOO_LOW":
        return " (nonce too low)"
    is_bump = details.get("reason") == "REPLACEMENT_UNDERPRICED"
    return " (replacement transaction underpriced)" if is_bump else ""


def _slot(item: Call | Invalid) -> _Slot:
    if isinstance(item, Call):
        return _Slot(item)
    return _Slot(Call(_NULL, "", []), RpcError(rpc_codes.INVALID_REQUEST, item.reason))


def _response(slot: _Slot) -> bytes:
    method = slot.call.method if slot.call.method in METHODS else "other"
    if isinstance(slot.outcome, bytes):
        observe.wallet_rpc_answered(method, 0)
        return wire.result(slot.call.id, slot.outcome)
    assert slot.outcome is not None
    observe.wallet_rpc_answered(method, slot.outcome.code)
    return wire.error(slot.call.id, slot.outcome)


# A call that only this endpoint answers: a page asks through the wallet which RPC URL it uses.
#
# The address is the end of keccak256("quietswap wallet rpc"), so no one has a key for it and no
# contract can be deployed there. Another node answers `0x`.
CONNECTED_TO = "0x82928fd51ebc8f9602fc6c19c2550c9ee7dc79f5"
"""`to` of the call, in lower case."""
CONNECTED_DATA = "0x8f167b9a"
"""`data` of the call: the selector of `walletRpcTokenId()`."""
_WORD = 32


def is_connection_check(params: list[Any]) -> bool:
    """Return whether the checked parameters of an eth_call are this call, at any block."""
    call: Mapping[str, Any] = params[0]
    data = call.get("data") or call.get("input") or ""
    return str(call.get("to")).lower() == CONNECTED_TO and data.lower() == CONNECTED_DATA


def connected_answer(token_id: str) -> str:
    """Return the token's id as the ABI encoding of one string, in hex."""
    text = token_id.encode()
    padded = text.ljust(-(-len(text) // _WORD) * _WORD, b"\0")
    return "0x" + (_WORD.to_bytes(_WORD) + len(text).to_bytes(_WORD) + padded).hex()
