"""Times in a query, and ranges of them."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from quietswap.api.request_parsing.query_string import shown
from quietswap.domain.errors.request import InvalidParameter

_TIME = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)


def parse_time(text: str, name: str) -> int:
    """Return a date or an ISO 8601 time as Unix ms, in UTC unless it names an offset.

    Raises InvalidParameter for other text, and for a time before 1970.
    """
    wanted = "it must be a date as 2026-11-20 or a time as 2026-11-20T08:00:00Z, from 1970 on"
    try:
        # a space is also what a plus sign of an offset becomes in a query that is not encoded
        if not _TIME.fullmatch(text):
            raise ValueError(text)
        moment = datetime.fromisoformat(text)
        unix_ms = ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MS
        if unix_ms < 0:
            raise ValueError(text)
    except (ValueError, OverflowError) as error:
        raise InvalidParameter(parameter=name, provided=shown(text), reason=wanted) from error
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
