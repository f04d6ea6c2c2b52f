"""Strict parsing of the query string: no repeated name, valid percent-encoding, UTF-8 only."""

import re
from collections.abc import Collection
from urllib.parse import unquote_to_bytes

from quietswap.api.request_parsing.misspelt_names import (
    MOST_UNKNOWN,
    TooManyUnknownNames,
    find_misspelt,
)
from quietswap.domain.errors.request import InvalidParameter

_BROKEN = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_SHOWN = 100


def shown(text: str) -> str:
    """Return at most the first 100 characters of a client's value, for an error."""
    return text[:_SHOWN]


def parse_query(raw: bytes, known: Collection[str] = ()) -> dict[str, str]:
    """Return the parameters by name, including unknown ones.

    Raises InvalidParameter for a misspelt or repeated name, for text that is not percent-encoded
    UTF-8, and for too many unknown names.
    """
    values: dict[str, str] = {}
    for pair in raw.split(b"&"):
        if not pair:
            continue
        raw_name, _, raw_value = pair.partition(b"=")
        name = _decoded(raw_name, raw_name)
        value = _decoded(raw_value, raw_name)
        if name in values:
            raise _refused(name, value, "it is given more than once")
        values[name] = value
    _check_names(values, known)
    return values


def _check_names(values: dict[str, str], known: Collection[str]) -> None:
    try:
        for name, right in find_misspelt(values, known):
            raise _refused(name, values[name], f"there is no such parameter; there is {right}")
    except TooManyUnknownNames as error:
        last = next(name for name in reversed(values) if name not in known)
        reason = f"there are more than {MOST_UNKNOWN} unknown parameters"
        raise _refused(last, values[last], reason) from error


def _decoded(raw: bytes, name: bytes) -> str:
    plain = raw.replace(b"+", b" ")
    if b"%" in plain:
        if _BROKEN.search(plain):
            raise _refused(_printable(name), _printable(raw), "its percent-encoding is broken")
        plain = unquote_to_bytes(plain)
    try:
        return plain.decode()
    except UnicodeDecodeError as error:
        raise _refused(_printable(name), _printable(raw), "it is not UTF-8") from error


def _printable(raw: bytes) -> str:
    return raw.decode("ascii", "backslashreplace")


def _refused(name: str, provided: str, reason: str) -> InvalidParameter:
    return InvalidParameter(parameter=shown(name), provided=shown(provided), reason=reason)
