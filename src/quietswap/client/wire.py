"""JSON of the service and the node to and from Structs of the contract."""

import json
import math
from decimal import Decimal
from typing import Any, Never, TypeVar

import msgspec

from quietswap.client.number_limits import EXACT_DIGITS, MAX_LEVELS, MOST_NUMBER_CHARS
from quietswap.rules.json_depth import is_deeper
from quietswap.rules.wire import RequestStruct, WireAmount, WireFigure, from_json

T = TypeVar("T")


def _to_wire(value: object) -> object:
    if isinstance(value, WireAmount):
        return str(int(value))
    if isinstance(value, WireFigure):
        return Decimal(value)
    raise NotImplementedError(type(value).__name__)


_ENCODER = msgspec.json.Encoder(enc_hook=_to_wire, decimal_format="number")


def parse(body: bytes) -> Any:
    """Return the value of JSON text. Raises msgspec.DecodeError.

    Refused is what another reader could read as something else, or would send back changed: bytes
    that are no UTF-8, half a surrogate pair, a member named twice, a number that no double holds in
    its shortest form (https://www.rfc-editor.org/rfc/rfc7493), and deep nesting.
    """
    if is_deeper(body, MAX_LEVELS):
        raise msgspec.ValidationError("it nests too deep")
    try:
        text = body.decode()
        value = _DECODER.decode(text.strip(_BLANKS))
    except msgspec.ValidationError:
        raise
    except ValueError as error:
        raise msgspec.DecodeError(f"JSON is malformed: {error}") from error
    if "\\u" in text and not _is_whole(value):
        raise msgspec.ValidationError("half a surrogate pair")
    return value


def _is_whole(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise msgspec.ValidationError("a member is named twice")
    return members


def _number(text: str) -> int | float:
    """Return a number as its shortest double, a whole one as an int."""
    if len(text) <= EXACT_DIGITS and text.lstrip("-").isdigit():
        return int(text)
    value = float(text) if len(text) <= MOST_NUMBER_CHARS else math.inf
    if not math.isfinite(value) or not _is_exact(text, value):
        raise msgspec.ValidationError("a number that no double holds")
    return int(Decimal(text)) if value.is_integer() else value


def _is_exact(text: str, value: float) -> bool:
    try:
        return Decimal(text) == Decimal(repr(value))
    except ArithmeticError:  # an exponent that no Decimal has
        return False


def _constant(text: str) -> Never:
    raise ValueError(f"{text} is no number")


_BLANKS = " \t\n\r"
_DECODER = json.JSONDecoder(
    object_pairs_hook=_members, parse_float=_number, parse_int=_number, parse_constant=_constant
)


def decode(body: bytes, kind: type[T]) -> T:
    """Return the JSON `body` as `kind`. Raises msgspec.ValidationError or DecodeError."""
    return convert(parse(body), kind)


def convert(value: object, kind: type[T]) -> T:
    """Return parsed JSON as `kind`. Raises msgspec.ValidationError."""
    return msgspec.convert(value, kind, dec_hook=from_json)


def encode(value: object) -> bytes:
    """Return a value, which may contain Structs, as JSON.

    A member that is None is absent in a request body and null in any other Struct.
    """
    return _ENCODER.encode(_with_null(value))


def _with_null(value: Any) -> Any:
    if isinstance(value, RequestStruct):
        return value
    if isinstance(value, msgspec.Struct):
        members = ((f.encode_name, getattr(value, f.name)) for f in msgspec.structs.fields(value))
        return {name: _with_null(member) for name, member in members if member is not msgspec.UNSET}
    if isinstance(value, list | tuple):
        return [_with_null(item) for item in value]
    if isinstance(value, dict):
        return {name: _with_null(item) for name, item in value.items()}
    return value
