"""Cookies of requests. Other programs of the same host set cookies, too, also malformed ones."""

from collections.abc import Iterable


def cookie_value(headers: Iterable[tuple[bytes, bytes]], name: str) -> str | None:
    """Return the value of the first cookie with exactly this name; None without one. `headers` are
    those of an ASGI scope.

    Every other pair of the header is ignored, whatever it is. `http.cookies` would drop the whole
    header for one pair that it cannot read, and ports of a host share their cookies.
    """
    for header, value in headers:
        if header != b"cookie":
            continue
        for pair in value.decode("latin-1").split(";"):
            found, equals, text = pair.partition("=")
            if equals and found.strip(" \t") == name:
                return text.strip(" \t")
    return None


def set_cookie(name: str, value: str, max_age_s: int, *, path: str, secure: bool) -> str:
    """Return a Set-Cookie header: unreadable by scripts, and sent by no other site.

    `max_age_s` is in seconds; 0 deletes the cookie.
    """
    parts = [f"{name}={value}", f"Path={path}", f"Max-Age={max_age_s}"]
    parts += ["HttpOnly", "SameSite=Strict", *(["Secure"] if secure else [])]
    return "; ".join(parts)
