"""JSON bodies: strict decoding, then a shape check that finds every fault, not just the first."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

import msgspec
import msgspec.inspect

from quietswap.api.request_parsing.misspelt_names import (
    MOST_UNKNOWN,
    TooManyUnknownNames,
    find_misspelt,
)
from quietswap.contract.requests import OWN_CODE
from quietswap.domain.errors.base import Details
from quietswap.domain.errors.request import MissingParameter, ValidationError
from quietswap.domain.json_nesting import is_deeper

_decoder = msgspec.json.Decoder()
_MOST_LEVELS = 100
"""Far beyond any body of the interface."""


class Kind(Enum):
    """The JSON types of body fields, by the Python types they decode to."""

    STRING = (str,)
    NUMBER = (int, float)
    OBJECT = (dict,)
    ARRAY = (list,)


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a body, derived from its contract Struct.

    `has_own_code` leaves a wrong JSON type to the check of the value, where the interface has a
    code of its own for it. `inside` are the members of an object; other members are tolerated,
    unless their name is nearly a known one. `untyped` are known members of any JSON type.
    """

    name: str
    kind: Kind
    required: bool
    has_own_code: bool = False
    inside: tuple["Field", ...] = ()
    untyped: tuple[str, ...] = ()


def struct_fields(kind: type[msgspec.Struct]) -> tuple[msgspec.inspect.Field, ...]:
    """Return the members of a Struct with their types and limits."""
    found = msgspec.inspect.type_info(kind)
    assert isinstance(found, msgspec.inspect.StructType)
    return found.fields


def unwrap(type_: msgspec.inspect.Type) -> msgspec.inspect.Type:
    """Return the type of a member without its documentation and without null."""
    while isinstance(type_, msgspec.inspect.Metadata | msgspec.inspect.UnionType):
        if isinstance(type_, msgspec.inspect.Metadata):
            type_ = type_.type
        else:
            type_ = next(t for t in type_.types if not isinstance(t, msgspec.inspect.NoneType))
    return type_


_KINDS: dict[type[msgspec.inspect.Type], Kind] = {
    msgspec.inspect.StrType: Kind.STRING,
    msgspec.inspect.FloatType: Kind.NUMBER,
    msgspec.inspect.DecimalType: Kind.NUMBER,
    msgspec.inspect.StructType: Kind.OBJECT,
    msgspec.inspect.DictType: Kind.OBJECT,
    msgspec.inspect.ListType: Kind.ARRAY,
}


@lru_cache
def body_fields(kind: type[msgspec.Struct]) -> tuple[Field, ...]:
    """Return the typed members of a body or of an object inside it."""
    return tuple(
        _field(member)
        for member in struct_fields(kind)
        if not isinstance(unwrap(member.type), msgspec.inspect.AnyType)
    )


def _field(member: msgspec.inspect.Field) -> Field:
    found = unwrap(member.type)
    inside: tuple[Field, ...] = ()
    untyped: tuple[str, ...] = ()
    if isinstance(found, msgspec.inspect.StructType):
        inside = body_fields(found.cls)
        names = {field.name for field in inside}
        untyped = tuple(n.encode_name for n in found.fields if n.encode_name not in names)
    return Field(
        name=member.encode_name,
        kind=_KINDS[type(found)],
        required=member.required,
        has_own_code=_has_own_code(member.type),
        inside=inside,
        untyped=untyped,
    )


def _has_own_code(type_: msgspec.inspect.Type) -> bool:
    while isinstance(type_, msgspec.inspect.Metadata):
        if OWN_CODE in (type_.extra or {}):
            return True
        type_ = type_.type
    return False


def parse_body(raw: bytes, kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the body once its shape is right; null counts as absent.

    Raises ValidationError (reason MALFORMED) for misspelt members and for an object with more
    unknown ones than are looked at; MissingParameter with the dotted
    path of the first required field that is absent; else ValidationError (reason MALFORMED) with
    the path of each field of a wrong JSON type.
    """
    body, fields = _decoded(raw), body_fields(kind)
    slips = list(_slips(body, fields, (), ""))
    if slips:
        raise malformed(slips)
    missing: list[str] = []
    faults: list[Details] = []
    _compare(body, fields, "", missing, faults)
    if missing:
        raise MissingParameter(field=missing[0])
    if faults:
        raise malformed(faults)
    return body


def _slips(
    value: dict[str, Any], fields: Sequence[Field], untyped: Sequence[str], prefix: str
) -> Iterator[Details]:
    known = {field.name for field in fields} | set(untyped)
    try:
        for name, right in find_misspelt(value, known):
            yield {"field": prefix + name, "expected": prefix + right, "provided": name}
    except TooManyUnknownNames:
        most = f"at most {MOST_UNKNOWN} unknown members"
        yield {"field": prefix.rstrip(".") or "$", "expected": most, "provided": "more"}
    for field in fields:
        inner = value.get(field.name)
        if field.inside and isinstance(inner, dict):
            yield from _slips(inner, field.inside, field.untyped, f"{prefix}{field.name}.")


def malformed(faults: Sequence[Details]) -> ValidationError:
    """Return the refusal of a body whose shape is wrong."""
    first = faults[0]
    where = "" if first["field"] == "$" else f"{first['field']} is wrong, "
    more = f"; see also {', '.join(fault['field'] for fault in faults[1:])}" if faults[1:] else ""
    text = f"{where}expected {first['expected']}, not {first['provided']}{more}"
    return ValidationError(f"the body is malformed: {text}", faults, reason="MALFORMED")


def _decoded(raw: bytes) -> dict[str, Any]:
    if is_deeper(raw, _MOST_LEVELS):
        fault = {
            "field": "$",
            "expected": f"at most {_MOST_LEVELS} nested arrays and objects",
            "provided": "more",
        }
        raise malformed([fault])
    try:
        body = _decoder.decode(raw)
    except msgspec.DecodeError as error:
        raise _not_json(_text_fault(raw) or str(error)) from error
    except UnicodeDecodeError as error:  # msgspec lets it through for bytes inside a string
        raise _not_json("text that is not UTF-8") from error
    if not isinstance(body, dict):
        raise _not_json(_type_name(body))
    return body


def _text_fault(raw: bytes) -> str | None:
    """Return what is wrong with the text of well-formed JSON that the decoder refuses."""
    try:
        json.dumps(json.loads(raw), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "a string with half of a surrogate pair"
    except ValueError:
        return None
    return None


def _not_json(provided: str) -> ValidationError:
    fault = {"field": "$", "expected": "a JSON object", "provided": provided}
    message = f"the body is not a JSON object ({provided})"
    return ValidationError(message, [fault], reason="MALFORMED")


def _compare(
    value: dict[str, Any],
    fields: Sequence[Field],
    prefix: str,
    missing: list[str],
    faults: list[Details],
) -> None:
    for field in fields:
        path = prefix + field.name
        found = value.get(field.name)
        if found is None:
            if field.required:
                missing.append(path)
        elif type(found) in field.kind.value:
            _compare(found, field.inside, path + ".", missing, faults)
        elif not field.has_own_code:
            expected = field.kind.name.lower()
            faults.append({"field": path, "expected": expected, "provided": _type_name(found)})


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return next(kind.name.lower() for kind in Kind if type(value) in kind.value)
