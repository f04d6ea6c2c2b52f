"""A few words for writing JSON Schema (https://json-schema.org, the dialect of OpenAPI 3.1)."""

from collections.abc import Collection, Sequence
from typing import Any

from quietswap.api.body import Field, Kind

Schema = dict[str, Any]

EIP55 = {"format": "eip55", "pattern": "^0x[0-9a-fA-F]{40}$"}
UINT256 = {"format": "uint256", "pattern": "^[0-9]{1,78}$"}
ETHER = {"format": "ether", "pattern": "^[0-9]+([.][0-9]{1,18})?$"}
"""A pattern cannot say what a checksum is, or what lies between 1 and 2^256 - 1: the formats name
it for people and for generators that are taught them."""


def text(description: str, example: Any = None, **more: Any) -> Schema:
    """Return a string."""
    return _leaf("string", description, example, more)


def integer(description: str, example: Any = None, **more: Any) -> Schema:
    """Return a whole number."""
    return _leaf("integer", description, example, more)


def number(description: str, example: Any = None, **more: Any) -> Schema:
    """Return any JSON number."""
    return _leaf("number", description, example, more)


def boolean(description: str, example: bool | None = None) -> Schema:
    """Return true or false."""
    return _leaf("boolean", description, example, {})


def array(description: str, items: Schema) -> Schema:
    """Return a list of one kind of thing."""
    return {"type": "array", "description": description, "items": items}


def thing(
    description: str, members: dict[str, Schema], *, optional: Collection[str] = ()
) -> Schema:
    """Return an object; members are required unless they are named in `optional`."""
    required = [name for name in members if name not in optional]
    return {
        "type": "object",
        "description": description,
        "properties": members,
        "required": required,
    }


def constant(value: Any, description: str) -> Schema:
    """Return the one value that is allowed."""
    return {"const": value, "description": description}


def or_null(schema: Schema) -> Schema:
    """Return the same, or null."""
    nullable = {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        nullable["enum"] = [*schema["enum"], None]
    return nullable


def address(description: str, example: Any = None) -> Schema:
    """Return an Ethereum address."""
    return text(f"{description} (EIP-55 checksummed)", example, **EIP55)


def ether(description: str, example: Any = None) -> Schema:
    """Return an amount in ETH as a decimal string."""
    return text(description, example, pattern=ETHER["pattern"])


def units(description: str, example: Any = None) -> Schema:
    """Return an amount as a decimal string."""
    return text(description, example, pattern="^[0-9]+$")


def moment(description: str, example: Any = None) -> Schema:
    """Return a time as ISO 8601."""
    return text(
        f"{description} (ISO 8601, UTC)", example or "2027-01-15T08:00:00.000Z", format="date-time"
    )


def body(fields: Sequence[Field]) -> Schema:
    """Return the schema of a request body from the table its shape is checked with."""
    members = {field.name: _member(field) for field in fields}
    optional = [field.name for field in fields if not field.required]
    return thing("Request body.", members, optional=optional)


def _member(field: Field) -> Schema:
    """Return a field's schema; where it is optional, null says the same as leaving it out."""
    if field.inside:
        schema = {**body(field.inside), "description": field.description}
    else:
        more: Schema = {"items": {}} if field.kind is Kind.ARRAY else {}
        more.update(field.rule or {})
        schema = _leaf(field.kind.name.lower(), field.description, field.example, more)
    return schema if field.required else or_null(schema)


def example_of(fields: Sequence[Field]) -> dict[str, Any]:
    """Return a whole example body."""
    return {f.name: example_of(f.inside) if f.inside else f.example for f in fields}


def sample(schema: Schema) -> Any:
    """Return a value that fits a schema, from its own examples where it has some."""
    if "const" in schema:
        return schema["const"]
    if "examples" in schema:
        return schema["examples"][0]
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema["type"]
    if kind == "object":
        required = schema["required"]
        return {name: sample(schema["properties"][name]) for name in required}
    if kind == "array":
        return [sample(schema["items"])]
    if isinstance(kind, list):
        return None
    return {"integer": 1, "number": 1.0, "boolean": True, "null": None}.get(kind, "...")


def _leaf(kind: str, description: str, example: Any, more: dict[str, Any]) -> Schema:
    schema = {"type": kind, "description": description, **more}
    return schema if example is None else {**schema, "examples": [example]}
