"""Answers of the caller's own Ethereum node: results, errors, and what is no answer. No I/O."""

import re
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from quietswap.client.errors import ClientError, NodeRpcError, NodeUnreachable, UnexpectedResponse
from quietswap.client.node_calls import NodeBatch, NodeCall
from quietswap.client.wire import decode
from quietswap.rules.chain.node_reads import RECEIPT
from quietswap.rules.chain.rpc_codes import LIMIT_EXCEEDED
from quietswap.rules.chain.rpc_wire import BUSY_STATUS, MalformedResult
from quietswap.rules.foreign_text import decode as text_of
from quietswap.rules.foreign_text import masked

T = TypeVar("T")

_BUSY_CODES = (429, LIMIT_EXCEEDED, -32007, -32016, -32029, -32090, -32097)
"""JSON-RPC codes of rate limits (EIP-1474 has -32005 alone; providers have their own)."""
_BUSY_WORDS = re.compile(
    r"rate.?limit|too many requests|request limit|over capacity"
    r"|header not found|unknown block|\bblock\b.*\bnot\b.*\bfound|requested was",
    re.I,
)
"""The second line: one of several backends behind the URL does not have the block yet.

In the words of geth, Besu, Reth, Erigon and Nethermind, and anvil.
"""
_ELSE = "something else than an Ethereum node answered there"


def read_result(call: NodeCall[T], status: int, body: bytes, secrets: Sequence[str] = ()) -> T:
    """Return the result of a JSON-RPC answer. Raises NodeRpcError or UnexpectedResponse.

    Nodes send JSON-RPC errors with different HTTP statuses, so an error is read at any status, a
    result only at 200. A refusal for a while, such as a rate limit, is NodeUnreachable. Of the
    node's own words a short line is kept, without `secrets` and addresses.
    """
    try:
        answer = decode(body, dict[str, Any])
        result = bytes(text_of(body, _ResultWire).result)
    except msgspec.DecodeError as error:
        raise UnexpectedResponse(f"{call.method}: {_ELSE}, not in JSON-RPC") from error
    return _result(call, status, answer, result, secrets)


class _ResultWire(msgspec.Struct, frozen=True):
    """The text of the result; what another reader could read otherwise, `decode` refuses before."""

    result: msgspec.Raw = msgspec.Raw(b"")


def read_results(
    batch: NodeBatch, status: int, body: bytes, secrets: Sequence[str] = ()
) -> tuple[Any, ...]:
    """Return the results of a batch in its order. Raises as `read_result`, by the first error.

    A node that takes no batch answers one error, or something else than a list of answers.
    """
    name = f"{len(batch.calls)} calls in one"
    try:
        answers: Any = decode(body, dict[str, Any] | list[dict[str, Any]])  # type: ignore[arg-type]
        kind = _ResultWire if isinstance(answers, dict) else list[_ResultWire]
        wires: Any = text_of(body, kind)
    except msgspec.DecodeError as error:
        raise UnexpectedResponse(f"{name}: {_ELSE}, not in JSON-RPC") from error
    whole: NodeCall[Any] = NodeCall(name)
    if isinstance(answers, dict):
        _result(whole, status, answers, bytes(wires.result), secrets)
        raise UnexpectedResponse(f"{name}: {_ELSE}: one answer")
    by_id = {
        each["id"]: (each, bytes(wire.result))
        for each, wire in zip(answers, wires, strict=True)
        if isinstance(each.get("id"), int)
    }
    ids = range(1, len(batch.calls) + 1)
    if any(each not in by_id for each in ids):
        for refusal in answers:  # of the whole batch: with the id of one call, or with none
            _result(whole, status, refusal, b"null", secrets)
        raise UnexpectedResponse(f"{name}: {_ELSE}: an answer is missing")
    results: list[Any] = []
    for each in ids:
        try:
            results.append(_result(batch.calls[each - 1], status, *by_id[each], secrets))
        except (NodeRpcError, UnexpectedResponse, NodeUnreachable) as error:
            if not batch.keeps_errors:
                raise
            results.append(error)
    refusals = [each for each in results if isinstance(each, NodeUnreachable)]
    if refusals and all(isinstance(each, ClientError) for each in results):
        raise refusals[0]
    return tuple(results)


def _result(
    call: NodeCall[T], status: int, answer: dict[str, Any], result: bytes, secrets: Sequence[str]
) -> T:
    fault = answer.get("error")
    if isinstance(fault, dict):
        code = fault.get("code")
        message = masked(text if isinstance(text := fault.get("message"), str) else "", secrets)
        is_busy = status in BUSY_STATUS or code in _BUSY_CODES or _BUSY_WORDS.search(message)
        # no error of a receipt is a verdict: geth answers one while it indexes what it has
        if is_busy or call.method == RECEIPT:
            raise NodeUnreachable(
                f"{call.method}: the node is busy: {message}", is_busy=bool(is_busy)
            )
        raise NodeRpcError(call.method, code if isinstance(code, int) else 0, message)
    if status != 200 or "result" not in answer:
        raise UnexpectedResponse(f"{call.method}: {_ELSE} (HTTP {status}, no JSON-RPC result)")
    return value_of(call, result)


def value_of(call: NodeCall[T], result: bytes) -> T:
    """Return the value of the JSON of a call's result. Raises UnexpectedResponse."""
    try:
        return call.read(result)
    except MalformedResult as error:
        raise UnexpectedResponse(f"{call.method}: {_ELSE}: {error}") from error
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise UnexpectedResponse(f"{call.method}: the node's answer cannot be read") from error
