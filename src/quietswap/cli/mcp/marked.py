"""JSON for a model in which text that others wrote is marked as data.

A model may take any text for an instruction: the name of a token, the words of a relay, a reason of
a vendor, a message of the service. Such text stands only in a member `untrustedText`, bounded and
without control characters. A text stays in its own place if the contract declares its values or its
pattern and it has one of them, or if it is an order id or the name of a source known here. So a new
member of the interface is marked until the contract declares what it may hold.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, Literal, get_args, get_origin

import msgspec
from msgspec import UNSET

from quietswap.client.wire import encode
from quietswap.contract.base import WireAmount, WireStruct
from quietswap.foreign_text import harmless
from quietswap.vendors import VENDORS

UNTRUSTED = "untrustedText"
LONGEST_TEXT = 200
"""Characters of one text that others wrote."""
LONGEST_ANSWER = 200_000
"""Characters of one result: more would fill a model's context."""

_ORDER_ID = re.compile(r"[a-z]{3}_[0-9a-f]{32}", re.ASCII)


def marked(value: object, *leave_out: str) -> Any:
    """Return decoded JSON of the contract with all foreign text marked.

    Unknown members (None) and the members `leave_out` of the outermost object are absent. Amounts
    are decimal strings, times ISO 8601.
    """
    if isinstance(value, WireStruct):
        return _members(value, leave_out)
    if isinstance(value, WireAmount):
        return str(int(value))
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return msgspec.json.decode(encode(value))
    if isinstance(value, tuple | list):
        return [marked(item) for item in value]
    return value


def untrusted(**texts: object) -> dict[str, Any]:
    """Return the member that holds these texts; None is absent."""
    found = {name: _harmless(text) for name, text in texts.items() if text is not None}
    return {UNTRUSTED: found} if found else {}


def order_named(order_id: str | None) -> dict[str, Any]:
    """Return the member `orderId` if there is one, and it is an id of this service."""
    is_id = order_id is not None and _ORDER_ID.fullmatch(order_id) is not None
    return {"orderId": order_id} if is_id else {}


def _members(value: WireStruct, leave_out: Sequence[str]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    foreign: dict[str, object] = {}
    for field in msgspec.structs.fields(type(value)):
        name, member = field.encode_name, getattr(value, field.name)
        if member is None or member is UNSET or name in leave_out:
            continue
        if _is_declared(type(value), field.name, member):
            plain[name] = marked(member)
        else:
            foreign[name] = member
    return plain | untrusted(**foreign)


def _harmless(text: object) -> Any:
    if isinstance(text, str):
        return harmless(text, LONGEST_TEXT)
    if isinstance(text, tuple | list):
        return [_harmless(item) for item in text]
    return harmless(encode(text).decode(), LONGEST_TEXT)


def _is_declared(kind: type[WireStruct], name: str, member: object) -> bool:
    """Return whether a member holds no text of its writer's choice."""
    if isinstance(member, str):
        values, patterns = _declared(kind)[name]
        return (
            member in values
            or member in VENDORS
            or _ORDER_ID.fullmatch(member) is not None
            or any(pattern.search(member) for pattern in patterns)
        )
    if isinstance(member, tuple | list):
        return all(_is_declared(kind, name, item) for item in member)
    return not isinstance(member, dict)


_Declared = tuple[frozenset[str], tuple[re.Pattern[str], ...]]


@cache
def _declared(kind: type[WireStruct]) -> dict[str, _Declared]:
    """Return the values and patterns that the contract declares for the texts of each member."""
    return {field.name: _of_type(field.type) for field in msgspec.structs.fields(kind)}


def _of_type(annotation: Any) -> _Declared:
    values: set[str] = set()
    patterns: set[str] = set()
    if get_origin(annotation) is Literal:
        return frozenset(get_args(annotation)), ()
    for meta in getattr(annotation, "__metadata__", ()):
        schema = getattr(meta, "extra_json_schema", None) or {}
        values |= {*schema.get("enum", ()), schema.get("const", "")}
        patterns |= {schema["pattern"].removesuffix("$") + r"\Z"} if "pattern" in schema else set()
    compiled = tuple(re.compile(pattern, re.ASCII) for pattern in patterns)
    for part in get_args(annotation):
        inner_values, inner_patterns = _of_type(part)
        values |= inner_values
        compiled += inner_patterns
    return frozenset(values), compiled
