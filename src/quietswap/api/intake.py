"""Take in one request: its headers, the client's address, its body under a cap."""

import asyncio
import ipaddress
from collections.abc import Collection
from typing import Any

from quietswap.api.asgi import Receive, Scope
from quietswap.api.body import malformed
from quietswap.api.query import shown
from quietswap.domain.refusals import PayloadTooLarge, UnsupportedMediaType

Headers = dict[bytes, bytes]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def client_address(scope: Scope, headers: Headers, trusted: Collection[Network]) -> str:
    """Return who failed authentications are counted for.

    Behind a proxy in `trusted` it is the last entry of X-Forwarded-For, the one that proxy wrote.
    An IPv6 client counts by its /64, the smallest block a subscriber gets.
    """
    peer: tuple[str, int] | None = scope.get("client")
    parsed = _address(peer[0] if peer else "")
    if parsed is not None and any(parsed in network for network in trusted):
        said = headers.get(b"x-forwarded-for", b"").decode("latin-1")
        parsed = _address(said.rpartition(",")[2].strip())
    if parsed is None:
        return "unknown"
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((int(parsed), 64), strict=False))


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        parsed = ipaddress.ip_address(text)
    except ValueError:
        return None
    # a socket that listens on :: names its IPv4 peers so
    return (parsed.ipv4_mapped or parsed) if parsed.version == 6 else parsed


def check_media_type(headers: Headers) -> None:
    """Raise UnsupportedMediaType unless the body is plain `application/json` in UTF-8."""
    provided = headers.get(b"content-type", b"").decode("latin-1")
    encoding = headers.get(b"content-encoding", b"identity").decode("latin-1")
    media, *options = (part.strip().lower() for part in provided.split(";"))
    charset = next(
        (o.partition("=")[2].strip('"') for o in options if o.startswith("charset=")), ""
    )
    if media != "application/json" or charset not in ("", "utf-8", "utf8"):
        raise UnsupportedMediaType(provided=shown(provided))
    if encoding.strip().lower() != "identity":
        raise UnsupportedMediaType(provided=shown(f"Content-Encoding: {encoding}"))


async def read_body(headers: Headers, receive: Receive, limit: int, patience_s: float) -> bytes:
    """Return the body. Raises PayloadTooLarge above `limit` bytes.

    A declared length over the limit is refused before a byte is read, and a body is complete at
    its declared length: the server's closing empty message is not waited for. A body that does not
    arrive within `patience_s`, is cut off or badly framed is malformed (ValidationError): nobody
    may hold a connection by a byte a minute, and whoever still listens gets the envelope.
    """
    declared = _declared_length(headers)
    if declared is not None and declared > limit:
        raise PayloadTooLarge(limit=limit)
    try:
        async with asyncio.timeout(patience_s):
            return await _received(receive, declared, limit)
    except TimeoutError as error:
        provided = f"a part of it in {patience_s:g} seconds"
        raise malformed(
            [{"field": "$", "expected": "a whole body", "provided": provided}]
        ) from error


async def _received(receive: Receive, declared: int | None, limit: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        message: dict[str, Any] = await receive()
        if message["type"] == "http.disconnect":
            raise malformed(
                [{"field": "$", "expected": "a whole body", "provided": "a part of it"}]
            )
        chunk: bytes = message.get("body", b"")
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            raise PayloadTooLarge(limit=limit)
        if size == declared or not message.get("more_body", False):
            return b"".join(chunks)


def _declared_length(headers: Headers) -> int | None:
    text = headers.get(b"content-length", b"")
    return int(text[:20]) if text.isdigit() else None
