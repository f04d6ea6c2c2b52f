"""What geth refuses and anvil takes, and geth's words for a failed call, so that a user of the
sandbox meets the answers of a real node.

The answers are those that geth 1.17 gave (tests/chain/node_answers). The proxy asks anvil, beside a
call, for what decides: the block that the call is about, the head, and the nonces of its senders.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quietswap.sandbox.chain.transactions import BadTransaction, decode
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.rpc import RpcError, failure

Read = tuple[str, tuple[Any, ...]]
"""Method and parameters."""
STATE_BLOCKS = 128
"""Blocks below the head whose state a node keeps that is no archive."""
MOST_BLOCKS = 256
"""Of one simulation."""
_SLOT_S = 12
SENDING = frozenset({"eth_sendRawTransaction", "eth_sendRawTransactionSync"})
_BLOCK_AT = {
    "eth_call": 1, "eth_simulateV1": 1, "eth_estimateGas": 1, "eth_getBalance": 1,
    "eth_getTransactionCount": 1, "eth_getCode": 1, "eth_getStorageAt": 2,
}  # fmt: skip
"""Index of the block parameter of methods that read state."""
_HEAD: Read = ("eth_getBlockByNumber", ("latest", False))
_REVERT = bytes.fromhex("08c379a0")
_REVERTED, _ENDED = 3, -32015
_TRANSLATED = {
    "insufficient funds": (-38014, "err: insufficient funds for gas * price + value"),
    "intrinsic gas too": (-38013, "err: intrinsic gas too low"),
}
"""What anvil refuses in other words; geth adds the figures."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What decides about a call: the block that it reads, None if there is none, and the head.

    `nonces` of its senders at that block, by lower-case address.
    """

    at: Mapping[str, Any] | None
    head: Mapping[str, Any]
    nonces: Mapping[str, int]


def reads(method: str, params: Sequence[Any]) -> list[Read]:
    """Return what anvil is asked beside the call: first its block, then the head, then nonces."""
    if method == "eth_getLogs":
        return [_HEAD, _HEAD]
    if method not in _BLOCK_AT:
        return []
    tag = _tag(method, params)
    priced = method == "eth_call" and params and _fee_cap(params[0])
    if method != "eth_simulateV1" and not priced and not _is_block(tag):
        return []
    senders = dict.fromkeys(call["from"].lower() for call in _with_nonce(method, params))
    return [_block(tag), _HEAD, *(("eth_getTransactionCount", (one, tag)) for one in senders)]


def judgement(method: str, params: Sequence[Any], answers: Sequence[Any]) -> Judgement | None:
    """Return the answers of `reads` as one; None without any."""
    if not answers:
        return None
    at, head, *counts = answers
    senders = dict.fromkeys(call["from"].lower() for call in _with_nonce(method, params))
    nonces = {one: int(count, 16) for one, count in zip(senders, counts, strict=False) if count}
    return Judgement(at, head, nonces)


def refusal(method: str, params: Sequence[Any], by: Judgement | None) -> RpcError | None:
    """Return the error of geth for a call that anvil would take; None if geth takes it, too."""
    if method in SENDING:
        return _not_in_the_pool(params)
    if by is None:
        return None
    if method == "eth_getLogs":
        return _bad_range(params[0] if params else {}, _number(by.head["number"]))
    if by.at is None:
        is_hash = not _is_number(_tag(method, params))
        return RpcError(-32000, f"header {'for hash ' if is_hash else ''}not found")
    if _number(by.head["number"]) - _number(by.at["number"]) > STATE_BLOCKS:
        root = by.at["stateRoot"].removeprefix("0x")
        return RpcError(-32000, f"historical state {root} is not available")
    if method == "eth_call":
        return _low_fee(params[0], _number(by.at["baseFeePerGas"]), -32000)
    return _bad_simulation(params[0], by) if method == "eth_simulateV1" else None


def in_words_of_geth(method: str, params: Sequence[Any], reply: dict[str, Any]) -> dict[str, Any]:
    """Return anvil's reply to a simulation with the errors of geth; any other reply as it is."""
    if method != "eth_simulateV1":
        return reply
    if error := reply.get("error"):
        text = error["message"].lower()
        geth_error = next((own for words, own in _TRANSLATED.items() if words in text), None)
        return reply if geth_error is None else failure(reply["id"], RpcError(*geth_error))
    requested = [call for block in params[0]["blockStateCalls"] for call in block.get("calls", ())]
    ran = [call for block in reply["result"] for call in block["calls"]]
    for call, result in zip(requested, ran, strict=False):
        if result["status"] == "0x0":
            result["error"] = _failure(call, result)
    return reply


def _failure(call: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    data = bytes.fromhex(result.get("returnData", "0x")[2:])
    if not data and call.get("gas") and _number(result["gasUsed"]) == _number(call["gas"]):
        return {"message": "out of gas", "code": _ENDED}
    text = "execution reverted"
    if data.startswith(_REVERT):
        length = abi.word(data[4:], 1)
        text += f": {data[68 : 68 + length].decode(errors='replace')}"
    return {"message": text, "code": _REVERTED, "data": "0x" + data.hex()}


def _not_in_the_pool(params: Sequence[Any]) -> RpcError | None:
    try:
        tx = decode(bytes.fromhex(str(params[0]).removeprefix("0x")) if params else b"")
    except (BadTransaction, ValueError):
        return None  # anvil has its own words, and takes other types
    if tx.fields.tip:
        return None
    text = "transaction gas price below minimum: gas tip cap 0, minimum needed 1"
    return RpcError(-32000, text)


def _bad_range(wanted: Mapping[str, Any], head: int) -> RpcError | None:
    first, last = (
        _number(wanted[name]) if _is_number(wanted.get(name)) else head
        for name in ("fromBlock", "toBlock")
    )
    if wanted.get("blockHash") is not None:
        return None
    if last > head or first > head:
        return RpcError(-32602, "block range extends beyond current head block")
    return RpcError(-32602, "invalid block range params") if first > last else None


def _bad_simulation(options: Mapping[str, Any], by: Judgement) -> RpcError | None:
    blocks = options.get("blockStateCalls", ())
    if len(blocks) > MOST_BLOCKS:
        return RpcError(-38026, "too many blocks")
    assert by.at is not None
    error = _out_of_order([block.get("blockOverrides") or {} for block in blocks], by.at)
    if error is not None or not options.get("validation"):
        return error
    return _low_fees(blocks) or _wrong_nonce(blocks, by.nonces)


def _out_of_order(overrides: Sequence[Mapping[str, Any]], at: Mapping[str, Any]) -> RpcError | None:
    """A number that is skipped is a block of twelve seconds."""
    base = number = _number(at["number"])
    time = _number(at["timestamp"])
    for own in overrides:
        following = _number(own["number"]) if "number" in own else number + 1
        if following <= number:
            return RpcError(-38020, f"block numbers must be in order: {following} <= {number}")
        if following - base > MOST_BLOCKS:
            return RpcError(-38026, "too many blocks")
        time += _SLOT_S * (following - number - 1)
        later = _number(own["time"]) if "time" in own else time + _SLOT_S
        if later <= time:
            return RpcError(-38021, f"block timestamps must be in order: {later} <= {time}")
        number, time = following, later
    return None


def _low_fees(blocks: Sequence[Mapping[str, Any]]) -> RpcError | None:
    for block in blocks:
        base_fee = _number((block.get("blockOverrides") or {}).get("baseFeePerGas", "0x0"))
        for call in block.get("calls", ()):
            error = _low_fee(call, base_fee, -38012, is_free=False)
            if error is not None:
                return error
    return None


def _low_fee(
    call: Mapping[str, Any], base_fee: int, code: int, *, is_free: bool = True
) -> RpcError | None:
    """Refuse a fee cap below the base fee; where `is_free`, a cap of zero is none."""
    cap = _fee_cap(call)
    if cap >= base_fee or (is_free and not cap):
        return None
    text = f"max fee per gas less than block base fee: {_address(call)}, maxFeePerGas: {cap}"
    return RpcError(code, f"err: {text}, baseFee: {base_fee}{_supplied(call)}")


def _wrong_nonce(blocks: Sequence[Mapping[str, Any]], nonces: Mapping[str, int]) -> RpcError | None:
    state = dict(nonces)
    for call in itertools.chain.from_iterable(block.get("calls", ()) for block in blocks):
        sender = str(call.get("from", "")).lower()
        if sender not in state:
            continue
        own, following = _number(call.get("nonce", hex(state[sender]))), state[sender]
        if own != following:
            code, word = (-38011, "high") if own > following else (-38010, "low")
            text = f"nonce too {word}: {_address(call)}, tx: {own} state: {following}"
            return RpcError(code, f"err: {text}{_supplied(call)}")
        state[sender] += 1
    return None


def _with_nonce(method: str, params: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the calls of a simulation that name a nonce."""
    if method == "eth_simulateV1" and params:
        for block in params[0].get("blockStateCalls", ()):
            yield from (one for one in block.get("calls", ()) if "nonce" in one and "from" in one)


def _address(call: Mapping[str, Any]) -> str:
    return f"address {call.get('from', '0x' + '00' * 20)}"


def _supplied(call: Mapping[str, Any]) -> str:
    return f" (supplied gas {_number(call['gas'])})" if "gas" in call else ""


def _fee_cap(call: Mapping[str, Any]) -> int:
    return _number(call.get("maxFeePerGas") or call.get("gasPrice") or "0x0")


def _tag(method: str, params: Sequence[Any]) -> Any:
    at = _BLOCK_AT[method]
    tag = params[at] if len(params) > at else None
    if isinstance(tag, dict):
        tag = tag.get("blockHash") or tag.get("blockNumber")
    return "latest" if tag is None else tag


def _is_block(tag: Any) -> bool:
    """Whether a tag names one block, by number or hash, and not the newest ones."""
    return isinstance(tag, str) and tag.startswith("0x")


def _is_number(tag: Any) -> bool:
    return _is_block(tag) and len(tag) < 66


def _block(tag: str) -> Read:
    by = "Hash" if _is_block(tag) and not _is_number(tag) else "Number"
    return f"eth_getBlockBy{by}", (tag, False)


def _number(quantity: Any) -> int:
    return int(quantity, 16) if isinstance(quantity, str) else int(quantity)
