"""Reads of the caller's own node at one moment: everything at once, and nothing twice."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar, cast

from quietswap.client.errors import ClientError, NodeRpcError, UnexpectedResponse
from quietswap.client.flows.effects import (
    BUSY_PAUSES_S,
    Effect,
    Flow,
    ReadClock,
    patient,
)
from quietswap.client.node_answers import value_of
from quietswap.client.node_calls import NodeBatch, NodeCall
from quietswap.client.wire import encode
from quietswap.rules.chain.rpc_wire import SEND

T = TypeVar("T")
P = ParamSpec("P")
_Key = tuple[str, bytes]
_Results = dict[_Key, Any]


def read_ahead(*calls: NodeCall[Any]) -> Flow[None]:
    """Read in one batch what the flow reads next, inside `at_one_moment`.

    A call that fails, or is refused for a while, is asked where it is needed; all of them if the
    node takes no batch.
    """
    try:
        yield from patient(NodeBatch(calls, keeps_errors=True), BUSY_PAUSES_S)
    except (NodeRpcError, UnexpectedResponse):
        return


def at_one_moment(flow: Flow[T]) -> Flow[T]:
    """Run a flow that asks its node for each thing once.

    The moment ends where the flow waits, sends, or asks the service: what follows is read anew, so
    that no decision rests on an answer from before.
    """
    results: _Results = {}
    step: Callable[[], Effect] = partial(next, flow)
    while True:
        try:
            effect = step()
        except StopIteration as end:
            return cast("T", end.value)
        try:
            outcome = yield from _outcome(effect, results)
        except ClientError as error:
            step = partial(flow.throw, error)
        else:
            step = partial(flow.send, outcome)


def of_one_moment(make: Callable[P, Flow[T]]) -> Callable[P, Flow[T]]:
    """Make the flows of a function run `at_one_moment`."""

    @wraps(make)
    def flow(*args: P.args, **kwargs: P.kwargs) -> Flow[T]:
        return (yield from at_one_moment(make(*args, **kwargs)))

    return flow


def _outcome(effect: Effect, results: _Results) -> Flow[Any]:
    if isinstance(effect, NodeBatch):
        errors = yield from _read(effect.calls, effect, results)
        return tuple(errors.get(_key(call)) or _value(call, results) for call in effect.calls)
    if isinstance(effect, NodeCall) and effect.method != SEND:
        yield from _read((effect,), effect, results)
        return _value(effect, results)
    if not isinstance(effect, ReadClock):
        results.clear()
    return (yield effect)


def _read(
    calls: tuple[NodeCall[Any], ...], effect: NodeBatch | NodeCall[Any], results: _Results
) -> Flow[dict[_Key, ClientError]]:
    """Add to `results` what the node answers to those calls that are not in it.

    Returns the errors that a batch keeps.
    """
    errors: dict[_Key, ClientError] = {}
    missing = {_key(call): call for call in calls if _key(call) not in results}
    if not missing:
        return errors
    plain: tuple[NodeCall[Any], ...] = tuple(
        NodeCall(call.method, call.params) for call in missing.values()
    )
    if isinstance(effect, NodeBatch):
        answers = yield NodeBatch(plain, effect.keeps_errors)
    else:
        answers = ((yield plain[0]),)
    for key, answer in zip(missing, answers, strict=True):
        if isinstance(answer, ClientError):
            errors[key] = answer
        else:
            results[key] = answer
    return errors


def _value(call: NodeCall[Any], results: _Results) -> Any:
    return value_of(call, results[_key(call)])


def _key(call: NodeCall[Any]) -> _Key:
    return call.method, encode(list(call.params))
