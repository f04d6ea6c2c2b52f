"""Hold answers against the OpenAPI document, with no member beyond what it describes."""

import csv
import io
import json
import re
from functools import cache
from typing import Any

import httpx
from jsonschema import Draft202012Validator, FormatChecker

from quietswap.rules.webhooks.webhook import WATCH_MET
from quietswap.service.orders import tax_tables
from quietswap.service.server.openapi import document, error_name

DOCUMENT = document()
TAX_COLUMNS = {"koinly": tax_tables.KOINLY, "cointracking": tax_tables.COINTRACKING}
"""Columns of the formats that are other programs' own."""
_PATHS = {path: re.compile(re.sub(r"{\w+}", "[^/]+", path)) for path in DOCUMENT["paths"]}


def closed(schema: Any) -> Any:
    """Return a schema whose described objects have no other members."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {name: closed(value) for name, value in schema.items()}
    if "properties" in copy and copy.get("type") == "object":
        copy["additionalProperties"] = False
    return copy


_COMPONENTS = {"components": closed(DOCUMENT["components"])}


@cache
def _validator(path: str, method: str, status: str) -> Draft202012Validator:
    responses = DOCUMENT["paths"][path][method]["responses"]
    assert status in responses, f"{method} {path} answered {status}, which is not documented"
    schema = responses[status]["content"]["application/json"]["schema"]
    return Draft202012Validator(closed(schema) | _COMPONENTS, format_checker=FormatChecker())


@cache
def _plain(code: str) -> Draft202012Validator:
    schema = _COMPONENTS["components"]["schemas"][error_name(code)]
    return Draft202012Validator(schema | _COMPONENTS)


def messages(text: str) -> list[dict[str, Any]]:
    """Return the `data` of each event of a client's stream, after its lines are checked."""
    found = []
    for block in filter(None, text.split("\n\n")):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line[0] != ":")
        assert fields.keys() <= {"id", "event", "data", "retry"}
        if "data" in fields:
            message = json.loads(fields["data"])
            assert (fields["id"], fields["event"]) == (str(message["sequence"]), message["type"])
            found.append(message)
    return found


def quote_events(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return name and `data` of each event of a streamed quote, after its lines are checked."""
    found = []
    for block in text.removesuffix("\n\n").split("\n\n"):
        (event, name), (data, value) = (line.split(": ", 1) for line in block.split("\n"))
        assert (event, data) == ("event", "data")
        found.append((name, json.loads(value)))
    return found


def check_stream(text: str, path: str) -> None:
    """Fail unless each event of a stream is one that the document describes."""
    if path != "/api/v1/quote/stream":
        for message in messages(text):
            kind = "WatchEventMessage" if message["type"] == WATCH_MET else "OrderEventMessage"
            _event(kind).validate(message)
        return
    *routes, (last, answer) = quote_events(text)
    for name, route in routes:
        assert name == "route"
        _event("StreamedRoute").validate(route)
    assert last == "answer"
    (_event("SwapQuoteEnvelope") if answer["ok"] else _plain(answer["error"])).validate(answer)


@cache
def _event(kind: str) -> Draft202012Validator:
    schema = _COMPONENTS["components"]["schemas"][kind] | _COMPONENTS
    return Draft202012Validator(schema, format_checker=FormatChecker())


def _check_csv(answer: httpx.Response, template: str | None, method: str) -> None:
    """Fail unless the answer has the documented columns, and each row has all of them."""
    assert template is not None
    documented = DOCUMENT["paths"][template][method]["responses"]["200"]["content"]["text/csv"]
    head, *rows = csv.reader(io.StringIO(answer.text, newline=""))
    form = answer.request.url.params.get("format", "csv")
    assert head == list(TAX_COLUMNS.get(form, documented["example"].split(",")))
    assert all(len(row) == len(head) for row in rows)


def check(answer: httpx.Response) -> None:
    """Fail unless the answer is one the document describes for its endpoint."""
    method, path = answer.request.method.lower(), answer.request.url.path
    if method == "head" or not path.startswith("/api/"):
        return
    template = next((t for t, shape in _PATHS.items() if shape.fullmatch(path)), None)
    if answer.headers["content-type"].startswith("text/event-stream"):
        check_stream(answer.text, path)
        return
    if answer.headers["content-type"].startswith("text/csv"):
        _check_csv(answer, template, method)
        return
    body = answer.json()
    if template is None or method not in DOCUMENT["paths"][template]:
        _plain(body["error"]).validate(body)
        return
    status = str(answer.status_code)
    _validator(template, method, status).validate(body)
    for name, header in DOCUMENT["paths"][template][method]["responses"][status]["headers"].items():
        needed = DOCUMENT["components"]["headers"][header["$ref"].rpartition("/")[2]]
        assert name in answer.headers or not needed.get("required"), name
