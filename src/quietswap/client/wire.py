"""How values travel: amounts as decimal strings, names in camelCase, JSON on both sides."""

from typing import TypeVar

import msgspec

T = TypeVar("T")


class Amount(int):
    """A whole number of smallest units (or wei) that travels as a decimal string."""


class Resource(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of all resources: snake_case here, camelCase on the wire."""


def _from_wire(kind: type, value: object) -> object:
    if kind is Amount and isinstance(value, str) and value.isascii() and value.isdigit():
        return Amount(value)
    raise ValueError("expected a decimal string")


def _to_wire(value: object) -> object:
    if isinstance(value, Amount):
        return str(int(value))
    raise NotImplementedError(type(value).__name__)


_ENCODER = msgspec.json.Encoder(enc_hook=_to_wire, decimal_format="number")


def decode(body: bytes, kind: type[T]) -> T:
    """Return the JSON `body` as `kind`. Raises msgspec.ValidationError or DecodeError."""
    return msgspec.json.decode(body, type=kind, dec_hook=_from_wire)


def convert(value: object, kind: type[T]) -> T:
    """Return already decoded JSON as `kind`. Raises msgspec.ValidationError."""
    return msgspec.convert(value, kind, dec_hook=_from_wire)


def encode(value: object) -> bytes:
    """Return any value with resources in it as JSON in the spelling of the wire."""
    return _ENCODER.encode(value)
