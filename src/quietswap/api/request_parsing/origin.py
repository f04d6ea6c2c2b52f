"""Whether a page of this very service made a request."""

from collections.abc import Iterable

_JUDGED = frozenset((b"sec-fetch-site", b"origin", b"host"))


def is_same_origin(headers: Iterable[tuple[bytes, bytes]], *, needs_origin: bool) -> bool:
    """Return whether the request comes from a page of this very origin, as the browser says.

    SameSite=Strict is not enough: another port of the same host is the same site. Browsers send
    Sec-Fetch-Site (https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header) to https and to
    loopback, which are the only places where pages are served. Older ones send Origin with
    everything but their own reads, whose answers no other origin can read: `needs_origin` is
    false for those. The scheme is not compared, it may differ behind a proxy.
    """
    judged = [(name, value) for name, value in headers if name in _JUDGED]
    found = dict(judged)
    if len(found) < len(judged):  # a browser sends each of them once
        return False
    site, origin = found.get(b"sec-fetch-site"), found.get(b"origin")
    if origin is not None:
        _, _, host = origin.partition(b"://")
        if host.lower() != found.get(b"host", b"").lower():
            return False
    if site is not None:
        return site == b"same-origin"
    return origin is not None or not needs_origin
