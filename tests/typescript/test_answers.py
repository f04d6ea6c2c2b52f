"""Both clients judge every raw answer the same, and send what they took back unchanged."""

import base64
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from quietswap.client.api_calls import ApiCall, read_answer
from quietswap.client.errors import ClientError, UnexpectedResponse
from quietswap.client.event_stream import QuoteEvents
from quietswap.client.node_calls import NodeBatch, NodeCall
from quietswap.client.transports import Endpoints, _Wire
from quietswap.client.wire import convert, encode, parse
from quietswap.rules.chain.rpc_wire import MalformedResult, number
from quietswap.rules.contract import clients, exports, orders, quotes, tokens, wraps
from quietswap.rules.wire import Envelope
from quietswap.service.server.openapi import document, expanded, sample
from tests.typescript.package import TypeScript
from tests.vectors import quote_vectors

pytestmark = pytest.mark.xdist_group("typescript")
CASES = json.loads((Path(quote_vectors.__file__).parent / "answers.json").read_bytes())["cases"]
KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        quotes.SwapQuoteEnvelope, quotes.PriceEnvelope, orders.SwapOrderEnvelope,
        orders.OrderStatusEnvelope, orders.OrderHistoryEnvelope, orders.CancelQuoteEnvelope,
        orders.CancelOrderEnvelope, wraps.WrapQuoteEnvelope, wraps.WrapOrderEnvelope,
        wraps.WrapInfoEnvelope, clients.UsageEnvelope, tokens.TokensEnvelope,
        tokens.BalancesEnvelope, exports.OrderStatsEnvelope,
    )
}  # fmt: skip
OTHERS = (None, True, 0, -1, 1.5, 1e17, "", "x", "7", [], [1], {}, {"a": 1})
"""What stands in the place of each member, one after the other."""


@pytest.fixture(scope="module")
def examples() -> dict[str, Any]:
    """Return the example of each answer, with all members."""
    schemas = expanded(document()["components"]["schemas"], document()["components"]["schemas"])
    route = sample(schemas["StreamedRoute"], optional=True)
    found = {name: sample(schemas[name], optional=True) for name in KINDS}
    return found | {"StreamedRoute": route}


def in_python(case: dict[str, Any]) -> Any:
    """Return the data that the Python client takes, as JSON; or the name of its error."""
    body, name = case["body"], case["answer"]
    try:
        if name == "StreamedRoute":
            routes: list[Any] = []
            QuoteEvents(routes.append).feed(body)
            return parse(encode(routes[0]))
        read_answer(ApiCall("GET", "/x", KINDS[name]), case["status"], body)
        return parse(encode(parse(body)["data"]))
    except ClientError as error:
        return {"error": "ApiError" if hasattr(error, "raw_details") else type(error).__name__}


def in_both(typescript: TypeScript, cases: list[dict[str, Any]]) -> list[Any]:
    """Return what each client makes of the cases: the same of each one."""
    sent = [case | {"body": base64.b64encode(case["body"]).decode()} for case in cases]
    answers = typescript.ask("answers", sent)
    differing = []
    for case, answer in zip(cases, answers, strict=True):
        python = in_python(case)
        other = exact(answer) if isinstance(answer, str) else answer
        if is_error(python) or is_error(other):
            same = python == other
        else:
            same = case["answer"] == "StreamedRoute" or exact(encode(python)) == other
        if not same:
            differing.append((case["name"], python if is_error(python) else "taken", str(other)))
    assert not differing, f"{len(differing)} of {len(cases)}: {differing[:8]}"
    return answers


def is_error(outcome: Any) -> bool:
    return isinstance(outcome, dict) and outcome.keys() == {"error"}


def exact(text: str | bytes) -> Any:
    """Return JSON with numbers as they are written."""
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def test_each_case_of_the_table(typescript: TypeScript, examples: dict[str, Any]) -> None:
    cases = []
    for case in CASES:
        text = json.dumps(examples[case["answer"]], separators=(",", ":"))
        before, after = case.get("change", ("", ""))
        assert before in text, case["name"]
        opening, times, *closing = case.get("repeat", ("", 0))
        filler = opening * times + "".join(closing) * times
        changed = text.replace(before, after.replace("@", filler), 1)
        body = changed.encode("latin-1")
        cases.append(case | {"body": body, "status": case.get("status", 200)})
    outcomes = in_both(typescript, cases)
    wrong = [
        (case["name"], outcome)
        for case, outcome in zip(cases, outcomes, strict=True)
        if isinstance(outcome, str) is not case["taken"]
    ]
    assert not wrong
    for case, outcome in zip(cases, outcomes, strict=True):
        if case["taken"]:
            data = exact(case["body"].decode())["data"]
            assert exact(outcome) == data, f"{case['name']}: sent back changed"


@pytest.mark.parametrize("answer", [*KINDS, "StreamedRoute"])
def test_each_member_is_missing_or_something_else(
    typescript: TypeScript, examples: dict[str, Any], answer: str
) -> None:
    cases = []
    for name, text in changed(examples[answer]):
        body = text if answer != "StreamedRoute" else b"event: route\ndata: " + text + b"\n\n"
        cases.append({"name": name, "answer": answer, "status": 200, "body": body})
    outcomes = in_both(typescript, cases)
    assert {is_error(outcome) for outcome in outcomes} == {True, False}


def changed(example: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Yield the example with each member removed, and with each other value in its place."""
    for place in places(example):
        for other in ("removed", *OTHERS):
            copy = json.loads(json.dumps(example))
            *parents, last = place
            inner = copy
            for parent in parents:
                inner = inner[parent]
            if other == "removed" and isinstance(inner, dict):
                del inner[last]
            else:
                inner[last] = other
            yield f"{'.'.join(map(str, place))} {other!r}", json.dumps(copy).encode()


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each member and item."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for name, each in members:
        yield (name,)
        if isinstance(each, dict | list):
            yield from ((name, *rest) for rest in places(each))


def test_each_refusal(typescript: TypeScript) -> None:
    """Statuses of the service, of gateways and of others, with bodies of all kinds."""
    good = {"ok": False, "error": "INVALID_AMOUNT", "message": "m", "details": {}}
    bodies = [b"", b"<html>", b"\xff", b"{}", b'{"error":"x"}', b"[" * 100_000]
    bodies += [text for _, text in changed(good | {"retryAfter": 1, "limit": 2, "window": 3})]
    cases = []
    for status in (200, 400, 429, 500, 502, 503, 504):
        for body in bodies:
            name = f"{status} {body[:80]!r}"
            case = {"name": name, "answer": "UsageEnvelope", "status": status, "body": body}
            cases.append(case)
    names = {outcome["error"] for outcome in in_both(typescript, cases)}
    assert names == {"ApiError", "UnexpectedResponse", "ServiceUnreachable"}


NODE = {
    "a result": (b'{"jsonrpc":"2.0","id":1,"result":"0x1"}', True),
    "a number that no double holds": (b'{"result":"0x1","x":1e999}', False),
    "invalid UTF-8": (b'{"result":"0x1","x":"\xff"}', False),
    "a result twice": (b'{"result":"0x1","result":"0x2"}', False),
    "100 000 nested arrays": (b'{"result":' + b"[" * 100_000 + b"]" * 100_000 + b"}", False),
    "nested arrays as words": (
        b'{"error":{"code":3,"message":' + b"[" * 100_000 + b"]" * 100_000 + b"}}", False,
    ),
    "nested arrays without an end": (b'{"result":' + b"[" * 100_000, False),
    "a byte order mark": (b'\xef\xbb\xbf{"result":"0x1"}', False),
    "null": (b'{"result":null}', True),
    "an error that is none": (b'{"error":"x","result":"0x1"}', True),
    "no words": (b'{"error":{"code":3,"message":{"a":[]}}}', False),
    "a list": (b'[{"result":"0x1"}]', False),
    "nothing": (b"", False),
}  # fmt: skip


@pytest.mark.parametrize("status", [200, 400, 403, 429, 500, 503])
def test_each_answer_of_a_node(typescript: TypeScript, status: int) -> None:
    wire = _Wire(Endpoints("http://service", "key", "http://node"))
    call = NodeCall("eth_call", (), json.loads)
    sent = [
        {"status": status, "body": base64.b64encode(body).decode()} for body, _ in NODE.values()
    ]
    outcomes = typescript.ask("nodeAnswers", sent)
    for (name, (body, taken)), outcome in zip(NODE.items(), outcomes, strict=True):
        try:
            python: Any = json.dumps(wire.incoming(call, status, body, None))
        except ClientError as error:
            python = type(error).__name__
        other = outcome if isinstance(outcome, str) else outcome["error"]
        assert python == other, name
        assert status != 200 or isinstance(outcome, str) is taken, name


def test_each_number_of_a_node(typescript: TypeScript) -> None:
    """A padded word in the place of a number is the answer to another call."""
    results = ["0x0", "0x5", "0xF", "0x" + "f" * 64, "0x", "0x00", "0x05", "0x" + "0" * 64, "5", 5]
    assert typescript.ask("quantities", results) == [number_of(result) for result in results]


def number_of(result: object) -> str | None:
    try:
        return str(number(json.dumps(result).encode()))
    except MalformedResult:
        return None


@pytest.mark.parametrize("named", ["[]", "{}", "null", '"1"', "3"])
def test_a_batch_whose_answers_have_other_ids(named: str) -> None:
    wire = _Wire(Endpoints("http://service", "key", "http://node"))
    calls = NodeBatch((NodeCall("eth_call"), NodeCall("eth_call")))
    body = f'[{{"id":{named},"result":"0x"}},{{"id":2,"result":"0x"}}]'.encode()
    with pytest.raises(UnexpectedResponse, match=r"answer is missing|no JSON-RPC result"):
        wire.incoming(calls, 200, body, None)


def test_the_contract_has_no_envelope_that_says_no() -> None:
    """Where it decodes one, not only where the client asks first."""
    with pytest.raises(msgspec.ValidationError, match="ok: true"):
        convert({"ok": False, "data": 1}, Envelope[int])
