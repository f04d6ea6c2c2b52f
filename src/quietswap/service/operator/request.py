"""A request of the operator view: its cookies, its query, its form, and where it comes from."""

import hmac
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.types import Receive, Scope

from quietswap.service.api.parsing.body import BodyMemory, read_body
from quietswap.service.api.parsing.headers import (
    cookie_value,
    is_same_origin,
    set_cookie,
)
from quietswap.service.operator.page import (
    PATH,
)

SESSION_COOKIE = "quietswap_operator"
FORM_COOKIE = "quietswap_operator_form"
"""Of the login form, where there is no session yet."""
_SESSION = re.compile(r"qt_[0-9a-f]{64}")
_FORM = "application/x-www-form-urlencoded"
_MOST_BYTES = 8192
_WITHIN_S = 15.0
_MOST_FIELDS = 20


class Forged(Exception):
    """The request does not come from an operator page, or its form is not of this session."""


def cookie_name(name: str, *, secure: bool) -> str:
    """Return the name as browsers know it. With the prefix, plain HTTP cannot set the cookie.

    `__Host-` would be stricter, but demands the path of the whole host.
    """
    return f"__Secure-{name}" if secure else name


def session_secret(scope: Scope, *, secure: bool) -> str | None:
    """Return the secret of the operator's session in the cookie; None without one."""
    secret = cookie_value(scope["headers"], cookie_name(SESSION_COOKIE, secure=secure)) or ""
    return secret if _SESSION.fullmatch(secret) else None


def query_of(scope: Scope) -> dict[str, str]:
    """Return the query by name; the first value of a name counts."""
    pairs = parse_qsl(
        scope["query_string"].decode("latin-1"), keep_blank_values=True, errors="replace"
    )
    return dict(reversed(pairs[:_MOST_FIELDS]))


async def form_of(
    scope: Scope, receive: Receive, memory: BodyMemory, sender: str
) -> dict[str, str]:
    """Return the fields of a posted form of this view. Raises Forged and the errors of bodies.

    Every browser sends `Origin` with a form. `sender` is whose memory holds the body: strangers at
    the login cannot use up that of operators.
    """
    headers = dict(scope["headers"])
    if b"origin" not in headers or not is_same_origin(scope["headers"], needs_origin=True):
        raise Forged
    if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != _FORM.encode():
        raise Forged
    with memory.reserve(sender) as grow:
        body = await read_body(headers, receive, _MOST_BYTES, _WITHIN_S, grow)
    try:
        pairs = parse_qsl(
            body.decode(), keep_blank_values=True, errors="replace", max_num_fields=_MOST_FIELDS
        )
    except ValueError as error:  # more fields, or bytes that are not UTF-8
        raise Forged from error
    return dict(pairs)


def check_token(form: Mapping[str, str], expected: str) -> None:
    """Compare the form's token in constant time. Raises Forged."""
    if not hmac.compare_digest(form.get("token", "").encode(), expected.encode()):
        raise Forged


def cookie(name: str, value: str, max_age_s: int, *, secure: bool) -> str:
    """Return a Set-Cookie header: only below /operator, unreadable by scripts, no other site."""
    named = cookie_name(name, secure=secure)
    return set_cookie(named, value, max_age_s, path=PATH, secure=secure)
