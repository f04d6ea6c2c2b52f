"""Reads the body of a request, limited in size, time and memory."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from quietswap.api.request_parsing.body_memory import BodyReservation
from quietswap.api.request_parsing.body_shape import malformed
from quietswap.api.request_parsing.query_string import shown
from quietswap.domain.errors.http import PayloadTooLarge, UnsupportedMediaType

Headers = Mapping[bytes, bytes]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


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
        named = shown(f"Content-Encoding: {encoding}")
        raise UnsupportedMediaType(provided=named, is_compressed=True)


async def read_body(
    headers: Headers, receive: Receive, limit: int, timeout_s: float, reservation: BodyReservation
) -> bytes:
    """Return a body of at most `limit` bytes.

    Raises PayloadTooLarge, BodyMemoryFull and ValidationError.

    A declared length above the limit is refused before a byte is read. A body is complete at its
    declared length: the closing empty message of the server is not awaited. A body that is cut off
    or late is malformed (ValidationError), so a slow client cannot hold a connection.
    """
    declared = _declared_length(headers)
    if declared is not None and declared > limit:
        raise PayloadTooLarge(limit=limit)
    try:
        async with asyncio.timeout(timeout_s):
            return await _received(receive, declared, limit, reservation)
    except TimeoutError as error:
        provided = f"a part of it in {timeout_s:g} seconds"
        raise malformed(
            [{"field": "$", "expected": "a whole body", "provided": provided}]
        ) from error


async def _received(
    receive: Receive, declared: int | None, limit: int, reservation: BodyReservation
) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise malformed(
                [{"field": "$", "expected": "a whole body", "provided": "a part of it"}]
            )
        chunk: bytes = message.get("body", b"")
        reservation.grow(len(chunk))
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            raise PayloadTooLarge(limit=limit)
        if size == declared or not message.get("more_body", False):
            return b"".join(chunks)


def _declared_length(headers: Headers) -> int | None:
    text = headers.get(b"content-length", b"")
    return int(text[:20]) if text.isdigit() else None
