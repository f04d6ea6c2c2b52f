"""JSON of the service and the node to and from Structs of the contract."""

import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, TypeVar

import msgspec

from quietswap.rules.amounts import may_overflow
from quietswap.rules.wire import RequestStruct, WireAmount

# Limits for the numbers of a service or node; a number outside is refused or limited.
#
# Without them a hostile service could make a client poll without pause, sleep for years, run out
# of memory or print a megabyte. They are no part of the API: real answers are far within them. The
# waits that a caller sets have limits, too: a client without a pause would use up the limits of
# its key.

LEAST_INTERVAL_S, MOST_INTERVAL_S = 1.0, 60.0
"""The range of the poll interval that a service may set, in s."""
MOST_RETRY_S = 300.0
"""The longest wait for a `retryAfter`, in s."""
MAX_BODY = 4 * 2**20
"""Largest body of an answer that is read, in bytes after decompression."""
MOST_WAIT_S = 86_400.0
"""The longest pause or timeout that a caller may set, in s: a day."""
MAX_AMOUNT = 2**256 - 1
"""The largest EVM integer; larger amounts cannot exist."""

_MOST_DIGITS = len(str(MAX_AMOUNT))
_MOST_USD = Decimal(10) ** 18
_FINEST_EXPONENT = -60


def amount(text: str) -> int:
    """Return an amount of smallest units or wei. Raises ValueError unless it fits into 256 bits."""
    if not (text.isascii() and text.isdigit()) or len(text) > _MOST_DIGITS:
        raise ValueError("expected a decimal string of at most 78 digits")
    found = int(text)
    if found > MAX_AMOUNT:
        raise ValueError("an amount is at most 2^256 - 1")
    return found


def figure(value: Decimal) -> None:
    """Refuse a USD value or percentage outside any realistic range. Raises ValueError."""
    if not value.is_finite() or abs(value) > _MOST_USD:
        raise ValueError("expected a number between -10^18 and 10^18")
    exponent = value.as_tuple().exponent
    if isinstance(exponent, int) and exponent < _FINEST_EXPONENT:
        raise ValueError("expected a number of at most 60 decimals")


def wait(name: str, seconds: float) -> None:
    """Refuse a pause or timeout of the caller that is not above 0 s, or is more than a day.

    Raises ValueError.
    """
    if not 0 < seconds <= MOST_WAIT_S:
        raise ValueError(
            f"{name} must be seconds above 0, at most {MOST_WAIT_S:.0f}, not {seconds}"
        )


def interval(suggested_s: float) -> float:
    """Return the suggested poll interval in s, limited to the allowed range."""
    if not math.isfinite(suggested_s):
        return MOST_INTERVAL_S
    return min(max(suggested_s, LEAST_INTERVAL_S), MOST_INTERVAL_S)


def retry_after(asked_s: float | None) -> float | None:
    """Return the requested wait in s, limited to `MOST_RETRY_S`; None if none is requested."""
    if asked_s is None or math.isnan(asked_s):
        return None
    return min(max(asked_s, 0.0), MOST_RETRY_S)


T = TypeVar("T")


def _from_wire(kind: type, value: object) -> object:
    if kind is WireAmount and isinstance(value, str):
        return WireAmount(amount(value))
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
        figure(value)
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
