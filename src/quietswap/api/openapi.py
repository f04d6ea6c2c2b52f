"""The OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.1), from the edge's own tables.

Paths, parameters and bodies come from `operations`, statuses from `errors`, examples of errors from
the error classes themselves.
"""

from collections import defaultdict
from typing import Any

from quietswap import __version__
from quietswap.api import errors, order_schemas, quote_schemas, schema
from quietswap.api.error_schemas import error_schema
from quietswap.api.examples import EXAMPLES
from quietswap.api.operations import OPERATIONS, Operation
from quietswap.api.schema import Schema

_SUCCESS = {
    "swap_quote": quote_schemas.SWAP_QUOTE,
    "swap_order": order_schemas.SWAP_ORDER,
    "order_status": order_schemas.ORDER_STATUS,
    "order_history": order_schemas.ORDER_HISTORY,
    "wrap_info": order_schemas.WRAP_INFO,
    "wrap_quote": quote_schemas.WRAP_QUOTE,
    "wrap_order": order_schemas.WRAP_ORDER,
}
_TITLES = {"swap": "Swaps", "order": "Orders", "wrap": "Wrapping"}
_ABOUT = """\
Quotes swaps over several DEX aggregators, verifies the best route by simulation and submits the
signed transaction through a private relay. Ethereum mainnet only; native ETH must be wrapped.

Amounts in smallest units are decimal strings. Addresses are EIP-55 checksummed. Every answer is
`{"ok": true, "data": ...}` or `{"ok": false, "error": CODE, "message": ...}`.
"""


def document() -> dict[str, Any]:
    """Return the whole document."""
    paths: dict[str, Any] = defaultdict(dict)
    for operation in OPERATIONS:
        paths[operation.path][operation.method.lower()] = _operation(operation)
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
            "schemas": {_component(code): error_schema(code) for code in _codes()},
            "headers": _HEADERS,
        },
    }


def _codes() -> list[str]:
    listed = {code for operation in OPERATIONS for code in operation.codes}
    return [code for code in errors.STATUS if code in listed]


def _component(code: str) -> str:
    return "Error_" + code


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


def _operation(operation: Operation) -> dict[str, Any]:
    written: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [_TITLES[operation.name.partition("_")[0]]],
    }
    if operation.parameters:
        written["parameters"] = [
            {
                "name": parameter.name,
                "in": parameter.place,
                "required": parameter.required,
                "description": parameter.description,
                "schema": parameter.schema,
                "example": parameter.example,
            }
            for parameter in operation.parameters
        ]
    if operation.body:
        content = {
            "schema": schema.body(operation.body),
            "example": schema.example_of(operation.body),
        }
        written["requestBody"] = {"required": True, "content": {"application/json": content}}
    written["responses"] = {"200": _success(operation), **_refusals(operation)}
    return written


def _success(operation: Operation) -> dict[str, Any]:
    members = {"ok": schema.constant(True, "Always true"), "data": _SUCCESS[operation.name]}
    if operation.name == "swap_quote":
        members["timestamp"] = schema.integer("Unix milliseconds", 1_800_000_000_000)
    whole = schema.thing(operation.summary, members)
    return {
        "description": "Success",
        "headers": _headers(200),
        "content": {"application/json": {"schema": whole, "example": schema.sample(whole)}},
    }


def _refusals(operation: Operation) -> dict[str, Any]:
    by_status: dict[int, list[str]] = defaultdict(list)
    for code in operation.codes:
        by_status[errors.status_of(code, operation.name)].append(code)
    return {str(status): _refusal(status, by_status[status]) for status in sorted(by_status)}


def _refusal(status: int, codes: list[str]) -> dict[str, Any]:
    references: list[Schema] = [
        {"$ref": f"#/components/schemas/{_component(code)}"} for code in codes
    ]
    one = references[0] if len(references) == 1 else {"oneOf": references}
    return {
        "description": ", ".join(codes),
        "headers": _headers(status),
        "content": {
            "application/json": {
                "schema": one,
                "examples": {
                    code: {"summary": _meaning(code), "value": errors.envelope(EXAMPLES[code])}
                    for code in codes
                },
            }
        },
    }


def _meaning(code: str) -> str:
    """Return the first sentence of the error's own docstring."""
    lines = (type(EXAMPLES[code]).__doc__ or code).strip().splitlines()
    return lines[0]
