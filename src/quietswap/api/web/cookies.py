"""The session cookie of the web page, and which requests may use it."""

from starlette.types import Scope

from quietswap.api.request_parsing.cookies import cookie_value, set_cookie
from quietswap.api.request_parsing.origin import is_same_origin
from quietswap.ports.web_sessions import SECRET_PREFIX

_NAME = "quietswap_session"
_LONGEST = 128


def cookie_name(*, secure: bool) -> str:
    """Return the cookie's name. By TLS no other host of the same domain can set it.

    https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Headers/Set-Cookie#cookie_prefixes
    """
    return f"__Host-{_NAME}" if secure else _NAME


def session_secret(scope: Scope, *, secure: bool) -> str | None:
    """Return the session's secret of a request that the page itself makes, else None."""
    secret = cookie_value(scope["headers"], cookie_name(secure=secure))
    if secret is None or not is_of_the_page(scope):
        return None
    return secret if secret.startswith(SECRET_PREFIX) and len(secret) <= _LONGEST else None


def session_cookie(secret: str, max_age_s: int, *, secure: bool) -> str:
    """Return the Set-Cookie header of the session; `max_age_s` is in seconds."""
    return set_cookie(cookie_name(secure=secure), secret, max_age_s, path="/", secure=secure)


def is_of_the_page(scope: Scope) -> bool:
    """Return whether the page itself made the request."""
    is_read = scope["method"] in ("GET", "HEAD")
    return is_same_origin(scope["headers"], needs_origin=not is_read)
