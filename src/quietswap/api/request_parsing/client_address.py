"""The address of a client, for the log and for limits by address."""

import ipaddress
from collections.abc import Collection, Mapping
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
    """Return whether an address is that of a trusted proxy."""
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
