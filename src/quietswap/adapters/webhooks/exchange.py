"""One HTTP/1.1 request to one IP address, on asyncio streams.

Why not the HTTP client of the service: docs/decisions/0032-webhooks.md. Only the status of the
answer is used. Its head and the part of its body that is read are limited, and nothing is
decompressed or decoded.
"""

import asyncio
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass

from quietswap.domain.webhook.addresses import IpAddress
from quietswap.domain.webhook.url import WebhookUrl

MAX_HEAD = 16_384
"""Bytes of the status line and the headers of an answer."""
MAX_BODY = 16_384
"""Bytes of the answer's body that are read. A longer body is cut, and its status counts."""
_MOST_INTERIM = 8
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: [^\r\n]*)?")
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")
_CUT = "the connection closed before the end of the answer"


class BadAnswer(Exception):
    """The answer is not HTTP/1.1, or it ended early; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Head:
    """The status of an answer and its headers, whose names are in lower case."""

    status: int
    headers: Mapping[bytes, bytes]


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def connect(url: WebhookUrl, address: IpAddress, context: ssl.SSLContext | None) -> Streams:
    """Connect to `address`; with a `context`, its certificate must be valid for the URL's host.

    Raises OSError, which includes ssl.SSLError. The caller limits the time.
    """
    return await asyncio.open_connection(
        str(address),
        url.port,
        ssl=context,
        server_hostname=url.host if context else None,
        limit=MAX_HEAD,
    )


async def post(streams: Streams, url: WebhookUrl, headers: Mapping[str, str], body: bytes) -> int:
    """Send one POST, return the status of the answer and close the connection.

    Raises BadAnswer and OSError. The caller limits the time.
    """
    reader, writer = streams
    try:
        # Without a drain: it could fail where the answer came before the end of the request.
        writer.write(_request(url, headers, body))
        head = await _head(reader)
        await _skip_body(reader, head)
        return head.status
    finally:
        writer.transport.abort()


def _request(url: WebhookUrl, headers: Mapping[str, str], body: bytes) -> bytes:
    fields = {
        "Host": url.authority,
        "User-Agent": "quietswap-webhooks",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Accept-Encoding": "identity",
        "Connection": "close",
        **headers,
    }
    lines = [f"POST {url.target} HTTP/1.1", *(f"{name}: {text}" for name, text in fields.items())]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("a header holds a line break")
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


async def _head(reader: asyncio.StreamReader) -> Head:
    """Return the head of the final answer, after any interim answers (1xx)."""
    for _ in range(_MOST_INTERIM):
        try:
            raw = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            raise BadAnswer(_CUT) from None
        except asyncio.LimitOverrunError:
            raise BadAnswer(f"the headers of the answer exceed {MAX_HEAD} bytes") from None
        first, *lines = raw[:-4].split(b"\r\n")
        found = _STATUS.fullmatch(first)
        if not found:
            raise BadAnswer("the answer is not HTTP/1.1")
        status = int(found[1])
        if status == 101:
            raise BadAnswer("the receiver changed the protocol")
        if status >= 200:
            pairs = (line.partition(b":") for line in lines)
            return Head(status, {name.strip().lower(): text.strip() for name, _, text in pairs})
    raise BadAnswer("the receiver sent only interim answers")


async def _skip_body(reader: asyncio.StreamReader, head: Head) -> None:
    """Read the body up to the limit. Raises BadAnswer if it ends early."""
    if head.status in (204, 304):
        return
    if head.headers.get(b"transfer-encoding", b"").lower().endswith(b"chunked"):
        await _skip_chunks(reader)
        return
    declared = head.headers.get(b"content-length")
    if declared is None:  # the body ends with the connection
        await _read_up_to(reader, MAX_BODY)
        return
    if not declared.isdigit() or len(declared) > 20:
        raise BadAnswer("the answer has an invalid Content-Length")
    wanted = min(int(declared), MAX_BODY)
    if await _read_up_to(reader, wanted) < wanted:
        raise BadAnswer(_CUT)


async def _read_up_to(reader: asyncio.StreamReader, limit: int) -> int:
    """Read until the limit or the end; return the number of bytes."""
    count = 0
    while count < limit:
        part = await reader.read(limit - count)
        if not part:
            break
        count += len(part)
    return count


async def _skip_chunks(reader: asyncio.StreamReader) -> None:
    left = MAX_BODY
    while left > 0:
        try:
            line = await reader.readuntil(b"\r\n")
        except asyncio.IncompleteReadError:
            raise BadAnswer(_CUT) from None
        except asyncio.LimitOverrunError:
            raise BadAnswer("the answer has an invalid chunk") from None
        size = _SIZE.fullmatch(line.partition(b";")[0].strip())
        if not size:
            raise BadAnswer("the answer has an invalid chunk")
        length = int(size[0], 16)
        if length == 0:
            return
        wanted = min(length + 2, left)
        if await _read_up_to(reader, wanted) < wanted:
            raise BadAnswer(_CUT)
        left -= wanted + len(line)
