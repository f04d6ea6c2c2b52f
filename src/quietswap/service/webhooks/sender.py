"""Requests to the URLs of webhooks: HTTP/1.1 to one checked IP address, on asyncio streams and h11.

Why not the HTTP client of the service: docs/decisions/0031-events.md. Only the status of the
answer is used. Its head and the part of its body that is read are limited, and nothing is
decompressed or decoded.
"""

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import h11

from quietswap.rules.webhooks import addresses
from quietswap.rules.webhooks.addresses import IpAddress, WebhookUrl
from quietswap.rules.webhooks.webhook import DeliveryFailed, WebhookUrlRefused
from quietswap.service.webhooks.resolver import ResolutionFailed, SystemResolver, TooManyLookups

MAX_HEAD = 16_384
"""Bytes of the status line and the headers of an answer."""
MAX_BODY = 16_384
"""Bytes of the answer's body that are read. A longer body is cut, and its status counts."""
_MOST_READ = MAX_HEAD + 2 * MAX_BODY
"""Bytes of an answer with all that surrounds its chunks."""
_MOST_INTERIM = 8


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def connect(url: WebhookUrl, address: IpAddress, context: ssl.SSLContext | None) -> Streams:
    """Connect to `address`; with a `context`, its certificate must be valid for the URL's host.

    Raises OSError, which includes ssl.SSLError. The caller limits the time.
    """
    return await asyncio.open_connection(
        str(address), url.port, ssl=context, server_hostname=url.host if context else None
    )


async def post(streams: Streams, url: WebhookUrl, headers: Mapping[str, str], body: bytes) -> int:
    """Send one POST, return the status of the answer and close the connection.

    Raises DeliveryFailed and OSError. The caller limits the time.
    """
    reader, writer = streams
    try:
        peer = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
        # Without a drain: it could fail where the answer came before the end of the request.
        writer.write(_request(peer, url, headers, body))
        return await _status(peer, reader)
    finally:
        writer.transport.abort()


def _request(
    peer: h11.Connection, url: WebhookUrl, headers: Mapping[str, str], body: bytes
) -> bytes:
    fields = {
        "Host": url.authority,
        "User-Agent": "quietswap-webhooks",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Accept-Encoding": "identity",
        "Connection": "close",
        **headers,
    }
    try:
        request = h11.Request(method="POST", target=url.target, headers=list(fields.items()))
    except h11.LocalProtocolError:
        raise ValueError("a header holds a line break or a control character") from None
    parts = (request, h11.Data(body), h11.EndOfMessage())
    return b"".join(peer.send(part) or b"" for part in parts)


async def _status(peer: h11.Connection, reader: asyncio.StreamReader) -> int:
    """Return the status of the answer once it is complete, or its body is as long as is read."""
    status, interim, size, body, ended = 0, 0, 0, 0, False
    while body < MAX_BODY and (not status or size < _MOST_READ):
        try:
            event = peer.next_event()
        except h11.RemoteProtocolError as error:
            raise DeliveryFailed(_fault(error, status, ended=ended)) from None
        if event is h11.NEED_DATA:
            read = await reader.read(MAX_HEAD)
            peer.receive_data(read)
            size, ended = size + len(read), not read
        elif isinstance(event, h11.InformationalResponse):
            interim += 1
            if interim > _MOST_INTERIM:
                raise DeliveryFailed("the receiver sent only interim answers")
        elif isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            body += len(event.data)
        else:
            break
    return status


def _fault(error: h11.RemoteProtocolError, status: int, *, ended: bool) -> str:
    """Return what is wrong with the answer, without a word of it."""
    if ended:
        return "the connection closed before the end of the answer"
    if status:
        return "the answer has an invalid chunk"
    if error.error_status_hint == 431:
        return f"the headers of the answer exceed {MAX_HEAD} bytes"
    if "Content-Length" in str(error):
        return "the answer has an invalid Content-Length"
    return "the answer is not HTTP/1.1, or changes the protocol"


# Requests to the URLs of webhooks, without access to the operator's own network.
#
# The host is resolved once and every address is checked; one bad address refuses the request. The
# connection goes to a checked address. A name server that changes its answer (DNS rebinding)
# alters nothing: no second lookup happens. Redirects are not followed.
_RESOLVE_S = 5.0
_CONNECT_S = 5.0
"""Time for one of several addresses of a host."""


@dataclass(frozen=True, slots=True)
class SenderPolicy:
    """Which URLs are allowed, and the time of one request in seconds.

    `allow_private` allows addresses of private networks, and http to loopback addresses.
    """

    timeout_s: float = 15.0
    allow_private: bool = False
    allowed_hosts: Sequence[str] = ()


def tls_context(ca_file: str | Path | None = None) -> ssl.SSLContext:
    """Return a context that verifies certificates and host names, TLS 1.2 or later.

    `ca_file` (PEM) adds certificate authorities to the system's. Raises OSError.
    """
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context


class WebhookSender:
    """Sends a request only to an address that was checked, and to that very address.

    `client_id` is the client that the work counts for.
    """

    def __init__(
        self, resolver: SystemResolver, context: ssl.SSLContext, policy: SenderPolicy
    ) -> None:
        self._resolver = resolver
        self._context = context
        self._policy = policy

    async def check(self, url: str, *, client_id: str = "") -> None:
        """Check the URL and each address of its host. Raises WebhookUrlRefused."""
        parts = self._parsed(url)
        try:
            async with asyncio.timeout(_RESOLVE_S):
                await self._checked_addresses(parts, client_id)
        except TimeoutError:
            raise WebhookUrlRefused("its host could not be resolved in time") from None
        except (ResolutionFailed, TooManyLookups) as error:
            raise WebhookUrlRefused(str(error)) from None

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, *, client_id: str = ""
    ) -> int:
        """Send a POST and return the status.

        Raises DeliveryFailed, WebhookUrlRefused and SenderBusy.
        """
        parts = self._parsed(url)
        try:
            async with asyncio.timeout(self._policy.timeout_s):
                resolved = await self._checked_addresses(parts, client_id)
                return await post(await self._connected(parts, resolved), parts, headers, body)
        except TimeoutError:
            raise DeliveryFailed(f"no complete answer in {self._policy.timeout_s:g} s") from None
        except OSError as error:
            raise DeliveryFailed(_explained(error)) from None

    def _parsed(self, url: str) -> WebhookUrl:
        parts = addresses.parse_webhook_url(url, allow_http=self._policy.allow_private)
        if not addresses.is_allowed_host(parts.host, self._policy.allowed_hosts):
            raise WebhookUrlRefused("its host is not in this service's list of allowed hosts")
        return parts

    async def _checked_addresses(self, url: WebhookUrl, client_id: str) -> Sequence[IpAddress]:
        resolved = await self._resolver.resolve(url.host, client_id)
        if not resolved:
            raise ResolutionFailed("its host has no address")
        for address in resolved:
            kind = addresses.refusal(address, allow_private=self._policy.allow_private)
            if kind is not None:
                raise WebhookUrlRefused(f"its host has an address that is not public ({kind})")
            if url.scheme == "http" and not address.is_loopback:
                raise WebhookUrlRefused("it must begin with https:// (http only to loopback)")
        return resolved

    async def _connected(self, url: WebhookUrl, found: Sequence[IpAddress]) -> Streams:
        """Connect to the first address that accepts a connection."""
        context = self._context if url.scheme == "https" else None
        for address in found[:-1]:
            try:
                async with asyncio.timeout(_CONNECT_S):
                    return await connect(url, address, context)
            except (OSError, TimeoutError) as error:
                if isinstance(error, ssl.SSLError):
                    raise
        return await connect(url, found[-1], context)


def _explained(error: OSError) -> str:
    """Return the reason without an address or a URL."""
    match error:
        case ssl.SSLCertVerificationError():
            return f"the certificate is not trusted: {error.verify_message}"
        case ssl.SSLError():
            return "the TLS handshake failed"
        case ConnectionRefusedError():
            return "the connection was refused"
        case ConnectionError():
            return "the connection closed before the end of the answer"
        case _:
            return "the connection failed"
