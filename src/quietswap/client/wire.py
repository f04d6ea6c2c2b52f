"""JSON of the service and the node to and from Structs of the contract."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, TypeVar

import msgspec

from quietswap.client import bounds
from quietswap.contract.base import RequestStruct, WireAmount
from quietswap.domain.json_nesting import may_overflow

T = TypeVar("T")


def _from_wire(kind: type, value: object) -> object:
    if kind is WireAmount and isinstance(value, str):
        return WireAmount(bounds.amount(value))
    raise ValueError("expected a decimal string")


def _to_wire(value: object) -> object:
    if isinstance(value, WireAmount):
        return str(int(value))
    raise NotImplementedError(type(value).__name__)


_ENCODER = msgspec.json.Encoder(enc_hook=_to_wire, decimal_format="number")


def decode(body: bytes, kind: type[T]) -> T:
    """Return the JSON `body` as `kind`. Raises msgspec.ValidationError or DecodeError."""
    if may_overflow(body):  # eth_account raises the recursion limit, which would stop the decoder
        raise msgspec.DecodeError("it nests too deep")
    try:
        return _checked(msgspec.json.decode(body, type=kind, dec_hook=_from_wire))
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(f"not UTF-8: {error.reason}") from error


def convert(value: object, kind: type[T]) -> T:
    """Return decoded JSON as `kind`. Raises msgspec.ValidationError."""
    return _checked(msgspec.convert(value, kind, dec_hook=_from_wire))


def _checked(value: T) -> T:
    try:
        _check_figures(value)
    except ValueError as error:
        raise msgspec.ValidationError(str(error)) from error
    return value


def _check_figures(value: object) -> None:
    if isinstance(value, Decimal):
        bounds.figure(value)
    elif isinstance(value, tuple):
        _check_all(value)
    elif isinstance(value, msgspec.Struct):
        _check_all(getattr(value, name) for name in value.__struct_fields__)


def _check_all(values: Iterable[object]) -> None:
    for value in values:
        _check_figures(value)


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
