"""The address of a client, for the log and for limits by address."""

import ipaddress
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_MAX_CACHED_CHARS = 45
"""An address without a zone: eight groups, the last two of them as an IPv4 address."""


def client_address(scope: Mapping[str, Any], trusted_proxies: Collection[Network]) -> str:
    """Return the client's address of an ASGI scope, "unknown" if it is not an IP address.

    Behind a proxy in `trusted_proxies` it is the last entry of the last X-Forwarded-For, which that
    proxy wrote. An IPv6 client counts by its /64, the smallest block a subscriber gets.
    """
    peer: tuple[str, int] | None = scope.get("client")
    text = peer[0] if peer else ""
    block = address_block(text)
    if is_trusted(text, trusted_proxies):
        forwarded = dict(scope["headers"]).get(b"x-forwarded-for", b"").decode("latin-1")
        block = address_block(forwarded.rpartition(",")[2].strip())
    return block


def address_block(text: str) -> str:
    """Return the address that a client counts by; that of an IPv6 client is its /64."""
    return _parsed(text)[1]


def is_trusted(text: str, trusted_proxies: Collection[Network]) -> bool:
    address, _ = _parsed(text)
    return address is not None and any(address in network for network in trusted_proxies)


def _parsed(text: str) -> tuple[_Address | None, str]:
    """Return the address and the block it counts by. A long text is never kept in memory."""
    return _cached(text) if len(text) <= _MAX_CACHED_CHARS else _parse(text)


def _parse(text: str) -> tuple[_Address | None, str]:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None, "unknown"
    if address.version == 6:
        # a socket that listens on :: has IPv4 peers as mapped addresses
        address = address.ipv4_mapped or address
    if address.version == 4:
        return address, str(address)
    return address, str(ipaddress.ip_network((int(address), 64), strict=False))


_cached = lru_cache(maxsize=4096)(_parse)


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
    by_name = dict(judged)
    if len(by_name) < len(judged):  # a browser sends each of them once
        return False
    site, origin = by_name.get(b"sec-fetch-site"), by_name.get(b"origin")
    if origin is not None:
        _, _, host = origin.partition(b"://")
        if host.lower() != by_name.get(b"host", b"").lower():
            return False
    if site is not None:
        return site == b"same-origin"
    return origin is not None or not needs_origin
