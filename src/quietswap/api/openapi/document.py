"""The OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.1).

Paths come from `routes`, schemas and statuses from the contract, examples of errors from the
classes that raise them.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from quietswap import __version__
from quietswap.api.json import ANSWER_EVENT, ROUTE_EVENT, error_envelope
from quietswap.api.openapi import schemas
from quietswap.api.openapi.schemas import EXAMPLES, Schema, expanded, reference, sample
from quietswap.api.operation import Operation
from quietswap.api.routes import OPERATIONS
from quietswap.contract.base import WireStruct, member_names
from quietswap.contract.errors import status_of

_TITLES = {
    "swap": "Swaps", "order": "Orders", "wrap": "Wrapping", "event": "Events",
    "webhook": "Webhooks", "rpc": "Wallet RPC", "token": "Tokens and prices",
    "usage": "Limits and usage",
}  # fmt: skip
_ABOUT = """\
Quotes swaps over several DEX aggregators, verifies the best route by simulation and submits the
signed transaction through a private relay. Ethereum mainnet only; native ETH must be wrapped.

Amounts in smallest units are decimal strings. Addresses are EIP-55 checksummed. Every answer is
`{"ok": true, "data": ...}` or `{"ok": false, "error": CODE, "message": ...}`.
"""


def document() -> dict[str, Any]:
    """Return the whole document."""
    components = _components()
    paths: dict[str, Any] = defaultdict(dict)
    tags = list(_TITLES)
    for operation in sorted(OPERATIONS, key=lambda one: tags.index(_tag(one))):
        paths[operation.path][operation.method.lower()] = _operation(operation, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "quietswap",
            "version": __version__,
            "description": _ABOUT,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": title} for title in _TITLES.values()],
        "security": [{"apiKey": []}],
        "paths": dict(paths),
        "components": {
            "securitySchemes": {
                "apiKey": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "X-API-Key",
                    "description": "A key issued by the service's operator.",
                }
            },
            "schemas": components,
            "headers": _HEADERS,
        },
    }


def _components() -> dict[str, Schema]:
    kinds: list[type[WireStruct]] = []
    for operation in OPERATIONS:
        kinds.extend(operation.answers)
        if operation.rows:
            kinds.append(operation.rows)
        if operation.body:
            kinds.append(operation.body)
        if operation.streams:
            kinds.append(operation.streams)
    return schemas.components(kinds)


def _counter(description: str) -> dict[str, Any]:
    return {
        "description": f"{description} On every answer to a right key.",
        "schema": {"type": "integer"},
    }


_HEADERS = {
    "X-RateLimit-Limit": _counter("Requests allowed in one window."),
    "X-RateLimit-Remaining": _counter("Requests left in this window."),
    "X-RateLimit-Reset": _counter("End of this window, Unix seconds."),
    "Retry-After": {
        "description": "Seconds to wait. On 429 only.",
        "required": True,
        "schema": {"type": "integer"},
    },
    "X-Request-Id": {
        "description": "Names the request in the service's log; a plain one sent by you is kept.",
        "required": True,
        "schema": {"type": "string"},
    },
}


def _headers(status: int) -> dict[str, Any]:
    names = set(_HEADERS)
    if status != 429:
        names.remove("Retry-After")
    if status == 401:
        names -= {name for name in names if name.startswith("X-RateLimit")}
    return {name: {"$ref": f"#/components/headers/{name}"} for name in sorted(names)}


def _tag(operation: Operation) -> str:
    return operation.name.partition("_")[0]


def _operation(operation: Operation, components: dict[str, Schema]) -> dict[str, Any]:
    written: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [_TITLES[_tag(operation)]],
    }
    parameters = [
        *_parameters(operation.path_params, "path"),
        *_parameters(operation.query),
        *_parameters(operation.headers, "header"),
    ]
    if parameters:
        written["parameters"] = parameters
    if operation.body:
        schema = reference(operation.body.__name__)
        example = sample(expanded(schema, components), optional=True)
        written["requestBody"] = {
            "required": not operation.may_be_empty,
            "content": {"application/json": {"schema": schema, "example": example}},
        }
    written["responses"] = {"200": _success(operation, components), **_refusals(operation)}
    return written


def _parameters(kind: type[WireStruct] | None, place: str = "query") -> Iterator[Schema]:
    if kind is None:
        return
    schema = msgspec.json.schema(kind)["$defs"][kind.__name__]
    for name, member in schema["properties"].items():
        without = ("description", "examples", "anyOf")
        rule = {key: value for key, value in member.items() if key not in without}
        if rule.get("default", 0) is None:
            del rule["default"]
        yield {
            "name": name,
            "in": place,
            "required": name in schema["required"],
            "description": member["description"],
            "schema": rule,
            "example": member["examples"][0],
        }


def _one_of(names: Sequence[str]) -> Schema:
    references = [reference(name) for name in names]
    return references[0] if len(references) == 1 else {"oneOf": references}


def _success(operation: Operation, components: dict[str, Schema]) -> dict[str, Any]:
    if operation.streams:
        return _stream(operation.streams, operation.answers, components)
    if operation.rows:
        schema: Schema = {"type": "array", "items": reference(operation.rows.__name__)}
    else:
        schema = _one_of([answer.__name__ for answer in operation.answers])
    content = {
        "application/json": {"schema": schema, "example": sample(expanded(schema, components))}
    }
    if operation.rows:
        content["text/csv"] = {
            "schema": {"type": "string"},
            "example": ",".join(member_names(operation.rows)),
        }
    return {"description": "Success", "headers": _headers(200), "content": content}


def _stream(
    kind: type[WireStruct], answers: Sequence[type[WireStruct]], components: dict[str, Schema]
) -> dict[str, Any]:
    """Return the answer of a stream. OpenAPI 3.1 describes its text, and not each event in it."""
    schema = _one_of([one.__name__ for one in (kind, *answers)])
    text = ""
    for one in (kind, *answers):
        message = sample(expanded(reference(one.__name__), components))
        data = msgspec.json.encode(message).decode()
        if "sequence" in message:
            text += f"id: {message['sequence']}\n"
        name = message.get("type") or (ANSWER_EVENT if one in answers else ROUTE_EVENT)
        text += f"event: {name}\ndata: {data}\n\n"
    last = "; the last one is the answer, or an error as of a plain request" if answers else ""
    return {
        "description": "Server-sent events; `data` of each is an object of the schema of x-data"
        + last,
        "headers": _headers(200),
        "content": {
            "text/event-stream": {"schema": {"type": "string"}, "example": text, "x-data": schema}
        },
    }


def _refusals(operation: Operation) -> dict[str, Any]:
    by_status: dict[int, list[str]] = defaultdict(list)
    for code in operation.codes:
        by_status[status_of(code, operation.name)].append(code)
    return {str(status): _refusal(status, by_status[status]) for status in sorted(by_status)}


def _refusal(status: int, codes: list[str]) -> dict[str, Any]:
    return {
        "description": ", ".join(codes),
        "headers": _headers(status),
        "content": {
            "application/json": {
                "schema": _one_of([schemas.error_name(code) for code in codes]),
                "examples": {
                    code: {
                        "summary": _meaning(code),
                        "value": msgspec.to_builtins(error_envelope(EXAMPLES[code])),
                    }
                    for code in codes
                },
            }
        },
    }


def _meaning(code: str) -> str:
    """Return the first sentence of the error's own docstring."""
    lines = (type(EXAMPLES[code]).__doc__ or code).strip().splitlines()
    return lines[0]
