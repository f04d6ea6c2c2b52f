"""A request that anvil answers as geth would, by one more batch with what decides."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec

from quietswap.sandbox import geth_rules
from quietswap.sandbox.geth_rules import Read
from quietswap.sandbox.rpc import SandboxRpcClient, failure

_MALFORMED = (AttributeError, LookupError, TypeError, ValueError)
"""Parameters that anvil refuses in its own words."""
_Call = dict[str, Any]


async def answer_as_geth(rpc: SandboxRpcClient, body: list[_Call] | _Call, raw: bytes) -> bytes:
    """Return the response to what `rpc.read` returned; `raw` is the same as it arrived."""
    calls = body if isinstance(body, list) else [body]
    try:
        extra_reads = [geth_rules.reads(*_method(call)) for call in calls]
        refused = [geth_rules.refusal(*_method(call), None) for call in calls]
    except _MALFORMED:
        return await rpc.forward(raw)
    if not any(extra_reads) and not any(refused):
        return await rpc.forward(raw)
    reads = {
        read: f"read {n}" for n, read in enumerate(dict.fromkeys(chain.from_iterable(extra_reads)))
    }
    sent = [
        call | {"id": n}
        for n, (call, error) in enumerate(zip(calls, refused, strict=True))
        if error is None
    ]
    sent += [_request(own_id, read) for read, own_id in reads.items()]
    by_id = await _replies(rpc, sent)
    replies = []
    for n, (call, error) in enumerate(zip(calls, refused, strict=True)):
        if error is None:
            replies.append(_judged(call, by_id[n], [by_id[reads[read]] for read in extra_reads[n]]))
        else:
            replies.append(failure(call.get("id"), error))
    return msgspec.json.encode(replies if isinstance(body, list) else replies[0])


def _judged(call: _Call, reply: _Call, answers: Sequence[_Call]) -> _Call:
    method, params = _method(call)
    reply = reply | {"id": call.get("id")}
    if any("error" in answer for answer in answers[:2]):
        return reply
    try:
        by = geth_rules.judgement(method, params, [answer.get("result") for answer in answers])
        error = geth_rules.refusal(method, params, by)
        if error is not None:
            return failure(call.get("id"), error)
        return geth_rules.in_words_of_geth(method, params, reply)
    except _MALFORMED:
        return reply


async def _replies(rpc: SandboxRpcClient, sent: Sequence[_Call]) -> Mapping[Any, _Call]:
    if not sent:
        return {}
    replies = msgspec.json.decode(await rpc.forward(msgspec.json.encode(sent)))
    return {reply["id"]: reply for reply in replies}


def _method(call: _Call) -> tuple[str, list[Any]]:
    return call["method"], call.get("params") or []


def _request(own_id: str, read: Read) -> _Call:
    method, params = read
    return {"jsonrpc": "2.0", "id": own_id, "method": method, "params": params}
