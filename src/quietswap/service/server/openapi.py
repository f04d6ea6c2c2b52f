"""The OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.1).

Paths come from `routes`, schemas and statuses from the contract, examples of errors from the
classes that raise them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from quietswap import __version__
from quietswap.rules.contract.errors import ERRORS, ErrorEnvelope, status_of
from quietswap.rules.contract.transactions import ProviderMetadata, SwapProviderMetadata
from quietswap.rules.errors.base import FieldFault, NoDetails, SourceFault
from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.wire import (
    BESIDE_DATA,
    MAX_SAFE_INTEGER,
    RequestStruct,
    WireAmount,
    WireFigure,
    WireStruct,
    member_names,
)
from quietswap.service.api.event_sender import ANSWER_EVENT, ROUTE_EVENT
from quietswap.service.api.json import error_envelope
from quietswap.service.api.operation import Operation
from quietswap.service.server.routes import OPERATIONS

# JSON Schema of the contract Structs, as components of the OpenAPI document.
#
# `msgspec.json.schema_components` derives it from the Structs. It describes what a client may send
# or receive; what is added here is what generated clients need of it.
Schema = dict[str, Any]

_REF = "#/components/schemas/{name}"
_REFERRED = (ProviderMetadata, SwapProviderMetadata, FieldFault, SourceFault)
"""Structs that members refer to by name only: their values are dictionaries."""
_RATE_MEMBERS = ("retryAfter", "limit", "window")

_ORDER_STATE: Schema = {
    "type": "string",
    "description": "Order status",
    "enum": [status.value for status in OrderStatus],
}
"""One component: generated clients get one type for all members that hold a status."""


def reference(name: str) -> Schema:
    return {"$ref": _REF.format(name=name)}


def _components() -> dict[str, Schema]:
    """Return the components of all operations, of the Structs inside them and of all errors."""
    kinds = [k for op in OPERATIONS for k in (*op.answers, op.rows, op.body, *op.streams) if k]
    details = [kind.shape for kind in ERRORS.values() if kind.shape is not NoDetails]
    roots = [*kinds, *_REFERRED, *details, ErrorEnvelope]
    _, definitions = msgspec.json.schema_components(roots, schema_hook=_custom, ref_template=_REF)
    structs = {kind.__name__: kind for kind in _subclasses(WireStruct)}
    schemas = {name: _object(schema, structs[name]) for name, schema in definitions.items()}
    envelope = schemas.pop(ErrorEnvelope.__name__)
    errors = {error_name(code): _error(code, envelope) for code in ERRORS}
    return dict(sorted((schemas | errors | {"OrderState": _ORDER_STATE}).items()))


def error_name(code: str) -> str:
    """Return the component name of an error: InvalidAmountError for INVALID_AMOUNT."""
    return code.title().replace("_", "").removesuffix("Error") + "Error"


def expanded(schema: Any, schemas: dict[str, Schema]) -> Any:
    """Return a schema with its references replaced; members beside a reference have precedence."""
    if isinstance(schema, list):
        return [expanded(item, schemas) for item in schema]
    if not isinstance(schema, dict):
        return schema
    name = schema.get("$ref", "").removeprefix(_REF.format(name=""))
    own = {
        key: value if key in ("examples", "default") else expanded(value, schemas)
        for key, value in schema.items()
        if key != "$ref" or name not in schemas
    }
    return expanded(schemas[name], schemas) | own if name in schemas else own


def sample(schema: Schema, *, optional: bool = False) -> Any:
    """Return a value of an expanded schema, from its examples where it has some.

    `optional`: with the members that are not required.
    """
    if "const" in schema:
        return schema["const"]
    if "examples" in schema:
        return schema["examples"][0]
    if "enum" in schema:
        return schema["enum"][0]
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return None if {"type": "null"} in schema[several] else sample(schema[several][0])
    if schema["type"] == "object":
        names = schema["properties"] if optional else schema["required"]
        return {name: sample(schema["properties"][name], optional=optional) for name in names}
    if schema["type"] == "array":
        return [sample(schema["items"])]
    return {"integer": 1, "number": 1.0, "boolean": True, "null": None}.get(schema["type"], "...")


def _subclasses(kind: type[WireStruct]) -> Iterable[type[WireStruct]]:
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)


def _custom(kind: type) -> Schema:
    if kind is WireAmount:
        return {"type": "string"}
    if kind is WireFigure:
        return {"format": "decimal"}
    raise NotImplementedError


def _object(schema: Schema, kind: type[WireStruct]) -> Schema:
    """Return the component of a Struct: which members are always there, and no defaults.

    A generator takes a member with a default for one that is always there.
    """
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for field in msgspec.structs.fields(kind):
        member = schema["properties"][field.encode_name]
        if BESIDE_DATA.keys() <= member.keys():
            continue
        maybe_absent = kind.__struct_config__.omit_defaults and field.default in (None, False)
        absent_not_null = maybe_absent or issubclass(kind, RequestStruct)
        properties[field.encode_name] = _member(member, without_null=absent_not_null)
        if not maybe_absent:
            required.append(field.encode_name)
    return {
        "type": "object",
        "description": schema["description"],
        "properties": properties,
        "required": required,
        **kind.json_schema,
    }


def _member(schema: Schema, *, without_null: bool = False) -> Schema:
    """Return the schema of a member in the form that generated clients read best."""
    member = {name: value for name, value in schema.items() if name not in ("default", "title")}
    if member.get("format") == "decimal":
        del member["format"]
        member["type"] = "number"
    if member.get("multipleOf") == 1:
        del member["multipleOf"]
        member["type"] = "integer"
    if member.get("maximum") == MAX_SAFE_INTEGER:
        del member["minimum"], member["maximum"]
    if "type" in member or "$ref" in member:
        member.pop("anyOf", None)
    if "anyOf" in member:
        kinds = [_member(each) for each in member["anyOf"]]
        if without_null:
            kinds = [each for each in kinds if each != {"type": "null"}]
        member["anyOf"] = kinds
        if len(kinds) == 1:
            del member["anyOf"]
            member = kinds[0] | member
    if member.get("enum") == sorted(_ORDER_STATE["enum"]):
        del member["enum"]
        member |= reference("OrderState")
    if "$ref" in member or isinstance(member.get("const"), bool):
        member.pop("type", None)
    if member.get("type") == "array":
        member["items"] = _member(member.get("items", {}))
    return member


def _error(code: str, envelope: Schema) -> Schema:
    """Return the component of an error: the envelope with its own code and details."""
    kind = ERRORS[code]
    members = dict(envelope["properties"])
    members["error"] = members["error"] | {"const": code}
    required = ["ok", "error", "message"]
    if code == "RATE_LIMIT_EXCEEDED":
        required.extend(_RATE_MEMBERS)
    else:
        members = {name: member for name, member in members.items() if name not in _RATE_MEMBERS}
    if kind.shape is NoDetails:
        del members["details"]
    else:
        description = members["details"]["description"]
        members["details"] = reference(kind.shape.__name__) | {"description": description}
        if not kind.sometimes:
            required.append("details")
    return {
        "type": "object",
        "description": f"Error {code}",
        "properties": members,
        "required": required,
    }


EXAMPLES = {code: kind(**kind.example) for code, kind in ERRORS.items()}
"""One example of each error, made by the class that raises it."""


_TITLES = {
    "swap": "Swaps", "order": "Orders", "wrap": "Wrapping", "event": "Events",
    "webhook": "Webhooks", "rpc": "Wallet RPC", "token": "Tokens and prices",
    "watch": "Watches", "usage": "Limits and usage",
}  # fmt: skip
_ABOUT = """\
Quotes swaps over several DEX aggregators, verifies the best route by simulation and submits the
signed transaction through a private relay. Ethereum mainnet only. The tokens of a swap are ERC-20,
ETH as WETH; the clients plan wrap or unwrap and the swap as one.

Amounts in smallest units are decimal strings. Addresses are EIP-55 checksummed. Every answer is
`{"ok": true, "data": ...}` or `{"ok": false, "error": CODE, "message": ...}`.
"""


def document() -> dict[str, Any]:
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


def _header(description: str, kind: str = "integer", **more: bool) -> dict[str, Any]:
    return {"description": description, **more, "schema": {"type": kind}}


_COUNTED = "On every answer to a right key."
_NAMED = "Names the request in the service's log; a plain one sent by you is kept."
_HEADERS = {
    "X-RateLimit-Limit": _header(f"Requests allowed in one window. {_COUNTED}"),
    "X-RateLimit-Remaining": _header(f"Requests left in this window. {_COUNTED}"),
    "X-RateLimit-Reset": _header(f"End of this window, Unix seconds. {_COUNTED}"),
    "Retry-After": _header("Seconds to wait. On 429 only.", required=True),
    "X-Request-Id": _header(_NAMED, "string", required=True),
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
    places = {"path": operation.path_params, "query": operation.query, "header": operation.headers}
    parameters = [one for place, kind in places.items() if kind for one in _parameters(kind, place)]
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


def _parameters(kind: type[WireStruct], place: str) -> Iterator[Schema]:
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
    if operation.answers:
        schema = _one_of([answer.__name__ for answer in operation.answers])
    else:
        assert operation.rows is not None  # there is a row for each answer
        schema = {"type": "array", "items": reference(operation.rows.__name__)}
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
    kinds: Sequence[type[WireStruct]],
    answers: Sequence[type[WireStruct]],
    components: dict[str, Schema],
) -> dict[str, Any]:
    """Return the answer of a stream. OpenAPI 3.1 describes its text, and not each event in it."""
    schema = _one_of([one.__name__ for one in (*kinds, *answers)])
    text = ""
    for one in (*kinds, *answers):
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
    return {str(status): _refusal(status, codes) for status, codes in sorted(by_status.items())}


def _refusal(status: int, codes: list[str]) -> dict[str, Any]:
    examples = {}
    for code in codes:
        value = msgspec.to_builtins(error_envelope(EXAMPLES[code]))
        # the first line of the error's own docstring
        summary = (type(EXAMPLES[code]).__doc__ or code).strip().splitlines()[0]
        examples[code] = {"summary": summary, "value": value}
    content = {"schema": _one_of([error_name(code) for code in codes]), "examples": examples}
    return {
        "description": ", ".join(codes),
        "headers": _headers(status),
        "content": {"application/json": content},
    }
