"""The query string, read strictly: no repeated name, no broken percent-encoding, UTF-8 only."""

import re
from urllib.parse import unquote_to_bytes

from quietswap.domain.errors import InvalidParameter

_BROKEN = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_SHOWN = 100


def shown(text: str) -> str:
    """Return what is echoed of a client's value in an error: at most its first 100 characters."""
    return text[:_SHOWN]


def parse_query(raw: bytes) -> dict[str, str]:
    """Return the parameters by name; unknown names stay in and are not looked at.

    Raises InvalidParameter when a name comes twice or text is not percent-encoded UTF-8.
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
    return values


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
