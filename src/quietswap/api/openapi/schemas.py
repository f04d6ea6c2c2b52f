"""JSON Schema of the contract Structs, as components of the OpenAPI document.

`msgspec.json.schema_components` derives it from the Structs. It describes what a client may send
or receive; what is added here is what generated clients need of it.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from quietswap.contract.base import (
    BESIDE_DATA,
    MAX_SAFE_INTEGER,
    RequestStruct,
    WireAmount,
    WireStruct,
)
from quietswap.contract.errors import ERRORS, ErrorEnvelope
from quietswap.contract.transactions import ProviderMetadata, SwapProviderMetadata
from quietswap.errors.base import FieldFault, NoDetails, SourceFault
from quietswap.orders.order import OrderStatus

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
    """Return a reference to a component."""
    return {"$ref": _REF.format(name=name)}


def components(kinds: Iterable[type[WireStruct]]) -> dict[str, Schema]:
    """Return the components of Structs, of the Structs inside them and of all errors."""
    details = [kind.shape for kind in ERRORS.values() if kind.shape is not NoDetails]
    roots = [*kinds, *_REFERRED, *details, ErrorEnvelope]
    _, found = msgspec.json.schema_components(roots, schema_hook=_custom, ref_template=_REF)
    structs = {kind.__name__: kind for kind in _subclasses(WireStruct)}
    schemas = {name: _object(schema, structs[name]) for name, schema in found.items()}
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
