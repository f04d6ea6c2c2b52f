"""JSON bodies: strict decoding, then a shape check that finds every fault, not just the first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec

from quietswap.domain.errors import Details, MissingParameter
from quietswap.domain.refusals import ValidationError

_decoder = msgspec.json.Decoder()
_MOST_BRACKETS = 500
"""Far beyond any order. The decoder recurses as deep as the body nests and only Python's recursion
limit stops it, which libraries raise: then 30,000 brackets overflow the C stack and the process
dies. Counting them costs a microsecond and cannot be fooled."""


class Kind(Enum):
    """The JSON types of body fields, by the Python types they decode to."""

    STRING = (str,)
    NUMBER = (int, float)
    OBJECT = (dict,)
    ARRAY = (list,)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a body: the checker reads its shape, the OpenAPI document also its words.

    `judged_later` leaves a wrong JSON type to the meaning check, where the interface has a code
    of its own for it. `inside` lists the members of an object; members not listed are tolerated.
    `rule` is JSON Schema the meaning check keeps, for the document.
    """

    name: str
    kind: Kind
    description: str
    example: Any = None
    required: bool = True
    judged_later: bool = False
    inside: tuple["Field", ...] = ()
    rule: Mapping[str, Any] | None = None


def parse_body(raw: bytes, fields: Sequence[Field]) -> dict[str, Any]:
    """Return the body once its shape is right; null counts as absent.

    Raises MissingParameter with the dotted path of the first required field that is absent, else
    ValidationError (reason MALFORMED) with the path of each field of a wrong JSON type.
    """
    body = _decoded(raw)
    missing: list[str] = []
    faults: list[Details] = []
    _compare(body, fields, "", missing, faults)
    if missing:
        raise MissingParameter(field=missing[0])
    if faults:
        raise malformed(faults)
    return body


def malformed(faults: Sequence[Details]) -> ValidationError:
    """Return the refusal of a body whose shape is wrong."""
    paths = ", ".join(fault["field"] for fault in faults)
    return ValidationError(f"the body is malformed: see {paths}", faults, reason="MALFORMED")


def _decoded(raw: bytes) -> dict[str, Any]:
    if raw.count(b"[") + raw.count(b"{") > _MOST_BRACKETS:
        raise _not_json("too many brackets")
    try:
        body = _decoder.decode(raw)
    except msgspec.DecodeError as error:
        raise _not_json(str(error)) from error
    except UnicodeDecodeError as error:  # msgspec lets it through for bytes inside a string
        raise _not_json("text that is not UTF-8") from error
    if not isinstance(body, dict):
        raise _not_json(_type_name(body))
    return body


def _not_json(provided: str) -> ValidationError:
    fault = {"field": "$", "expected": "a JSON object", "provided": provided}
    return ValidationError("the body is not a JSON object", [fault], reason="MALFORMED")


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
        elif not field.judged_later:
            expected = field.kind.name.lower()
            faults.append({"field": path, "expected": expected, "provided": _type_name(found)})


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return next(kind.name.lower() for kind in Kind if type(value) in kind.value)
