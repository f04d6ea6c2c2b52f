"""Strict parsing of the query string: no repeated name, valid percent-encoding, UTF-8 only."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import unquote_to_bytes

from quietswap.rules.errors.requests import InvalidParameter

# Detection of misspelt names: else a misspelt parameter is ignored and its default is used.
_MOST_LETTERS = 2
MOST_UNKNOWN = 50
"""Maximum number of unknown names in one object, because each comparison takes time."""
_UNIT = "Bps"
"""Vendors take a slippage in percent, as a fraction or in bps, and name it in as many ways."""


class TooManyUnknownNames(Exception):
    """An object has more unknown names than are compared, so a misspelt one could be missed."""


def find_misspelt(names: Iterable[str], known: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield each unknown name with the known name that it resembles.

    Names resemble each other if their Levenshtein distance, ignoring case, is at most 2, or if the
    known one has a unit and the other begins as it does: `slippage` and `slippageBps`. Raises
    TooManyUnknownNames before the first result.
    """
    unknown = [name for name in names if name not in known] if known else []
    if len(unknown) > MOST_UNKNOWN:
        raise TooManyUnknownNames
    for name in unknown:
        distances = [(_spelling_distance(name.lower(), right), right) for right in known]
        least, right = min(distances, default=(_MOST_LETTERS + 1, ""))
        if least <= _MOST_LETTERS:
            yield name, right


def _spelling_distance(lowered: str, right: str) -> int:
    """Return how far an unknown name, in lower case, is from a known one."""
    if right.endswith(_UNIT) and lowered.startswith(right.removesuffix(_UNIT).lower()):
        return 0
    return _distance(lowered, right.lower())


def _distance(one: str, other: str) -> int:
    """Return the Levenshtein distance if it is at most `_MOST_LETTERS`, else any larger number."""
    if abs(len(one) - len(other)) > _MOST_LETTERS:
        return _MOST_LETTERS + 1
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        last, row = row, [number]
        for place, right in enumerate(other):
            changed = last[place] + (letter != right)
            row.append(min(changed, last[place + 1] + 1, row[place] + 1))
        if min(row) > _MOST_LETTERS:
            return _MOST_LETTERS + 1
    return row[-1]


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


_TIME = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)


def parse_time(text: str, name: str) -> int:
    """Return a date or an ISO 8601 time as Unix ms, in UTC unless it names an offset.

    Raises InvalidParameter for other text, and for a time before 1970.
    """
    rule = "it must be a date as 2026-11-20 or a time as 2026-11-20T08:00:00Z, from 1970 on"
    try:
        # a space is also what a plus sign of an offset becomes in a query that is not encoded
        if not _TIME.fullmatch(text):
            raise ValueError(text)
        moment = datetime.fromisoformat(text)
        unix_ms = ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MS
        if unix_ms < 0:
            raise ValueError(text)
    except (ValueError, OverflowError) as error:
        raise InvalidParameter(parameter=name, provided=shown(text), reason=rule) from error
    return unix_ms


def parse_range(query: Mapping[str, str], now_ms: int) -> tuple[int, int]:
    """Return `from` and `to` of a query in Unix ms; by default all until `now_ms`, inclusive.

    Raises InvalidParameter.
    """
    since, until = query.get("from"), query.get("to")
    since_ms = 0 if since is None else parse_time(since, "from")
    until_ms = now_ms + 1 if until is None else parse_time(until, "to")
    if since is not None and until is not None and since_ms >= until_ms:
        reason = "it must be later than from"
        raise InvalidParameter(parameter="to", provided=shown(until), reason=reason)
    return since_ms, until_ms
