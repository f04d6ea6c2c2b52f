"""Blocking and asynchronous transports that perform effects over one HTTP library.

`_Wire` builds requests and reads answers without I/O; the transports only send bytes. No error
message holds a full URL, because a node's URL often contains a key.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pyreqwest.client import Client, ClientBuilder, SyncClient, SyncClientBuilder
from pyreqwest.exceptions import BuilderError, RequestError
from pyreqwest.http import Url
from pyreqwest.response import BaseResponse, Response, SyncResponse

from quietswap.client import number_limits, read_events
from quietswap.client.api_calls import ApiCall, read_answer
from quietswap.client.errors import NodeUnreachable, ServiceUnreachable, UnexpectedResponse
from quietswap.client.event_stream import AwaitEvent, QuoteEvents
from quietswap.client.flows.effects import ClockReading, Effect, ReadClock, Request, Sleep
from quietswap.client.node_answers import read_result, read_results
from quietswap.client.node_calls import NodeBatch, NodeCall
from quietswap.client.wire import encode
from quietswap.rules.chain.rpc_wire import BUSY_STATUS, messages
from quietswap.rules.foreign_text import secrets_of

_PEM = b"-----BEGIN CERTIFICATE-----"
_SELF_SIGNED = (
    "its TLS certificate is self-signed, or signed by an authority unknown here: if it is yours,"
    " trust it with --ca-file FILE (`ca_file` in Python)"
)
_FAULTS = {
    "UnknownIssuer": _SELF_SIGNED,
    "UnknownCA": _SELF_SIGNED,
    "CaUsedAsEndEntity": "its TLS certificate is self-signed and marked as an authority (CA:TRUE),"
    " which cannot stand for a server: make it with -addext basicConstraints=critical,CA:FALSE,"
    " then trust it with --ca-file FILE (`ca_file` in Python)",
    "not valid for name": "its TLS certificate is for another host name",
    "Expired": "its TLS certificate has expired",
}
"""By words of rustls (https://docs.rs/rustls/latest/rustls/enum.CertificateError.html)."""
_CERTIFICATE_FAULT = "invalid peer certificate: "


def read_ca_file(path: str | Path) -> bytes:
    """Return the certificates of a PEM file. Raises ValueError, which names the file."""
    try:
        pem = Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"ca_file {path}: {error.strerror or error}") from error
    if _PEM not in pem:
        raise ValueError(f"ca_file {path}: no certificate in PEM format")
    return pem


def fault(error: Exception) -> str | None:
    """Return the fault of a server's certificate and its remedy.

    None if the connection failed for another reason.
    """
    certificate_fault = _certificate_fault(error)
    if certificate_fault is None:
        return None
    words_of_fault = (text for words, text in _FAULTS.items() if words in certificate_fault)
    return next(words_of_fault, f"its TLS certificate is not valid ({certificate_fault[:80]})")


def _certificate_fault(error: Exception) -> str | None:
    details: dict[str, Any] = getattr(error, "details", None) or {}
    for cause in details.get("causes") or []:
        message = str(cause.get("message", ""))
        if _CERTIFICATE_FAULT in message:
            return message.partition(_CERTIFICATE_FAULT)[2]
    return None


_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Endpoints:
    """URLs of the service and, optionally, of the caller's own Ethereum node."""

    url: str
    api_key: str
    rpc_url: str | None = None
    timeout_s: float = 30.0
    ca_file: str | Path | None = None
    """PEM file of certificate authorities to trust in addition to the system's."""

    def __post_init__(self) -> None:
        for name, url in (("url", self.url), ("rpc_url", self.rpc_url)):
            if url is not None and not _is_http(url):
                raise ValueError(f"{name} must be an http:// or https:// address")
        if urlsplit(self.url).query or urlsplit(self.url).fragment:
            raise ValueError("url must be a base address, without ? and #")
        number_limits.wait("timeout_s", self.timeout_s)
        if not self.api_key.isascii() or not self.api_key.isprintable():
            raise ValueError("the API key holds characters that no key has")

    def __repr__(self) -> str:
        return f"Endpoints({_host(self.url)})"


@dataclass(frozen=True, slots=True)
class _Outgoing:
    method: str
    url: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes | None
    timeout: timedelta | None = None


class _Wire:
    """Converts effects to requests, and answers to values."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._at = endpoints
        self._secrets = secrets_of(endpoints.rpc_url or "")

    def outgoing(self, effect: Request) -> _Outgoing:
        if isinstance(effect, NodeCall | NodeBatch):
            return self._to_node(effect)
        is_stream = effect.verified is not None
        media = "text/event-stream" if is_stream else "application/json"
        headers = {"X-API-Key": self._at.api_key, "Accept": media}
        body = None
        if effect.body is not None:
            headers["Content-Type"] = "application/json"
            body = encode(effect.body)
        url = self._at.url.rstrip("/") + effect.path
        timeout = timedelta(seconds=self._at.timeout_s) if is_stream else None
        return _Outgoing(effect.method, url, effect.query, headers, body, timeout)

    def _to_node(self, sent: NodeCall[Any] | NodeBatch) -> _Outgoing:
        calls = sent.calls if isinstance(sent, NodeBatch) else (sent,)
        if self._at.rpc_url is None:
            raise ValueError(f"{calls[0].method} needs an Ethereum node: give `rpc_url`")
        bodies = messages(calls, 1)
        headers = {"Content-Type": "application/json"}
        body = encode(bodies if isinstance(sent, NodeBatch) else bodies[0])
        return _Outgoing("POST", self._at.rpc_url, {}, headers, body)

    def stream(self, effect: AwaitEvent) -> _Outgoing:
        headers = {"X-API-Key": self._at.api_key, "Accept": "text/event-stream"}
        url = self._at.url.rstrip("/") + "/api/v1/mev/events"
        seconds = self._at.timeout_s if effect.after is None else effect.seconds
        return _Outgoing("GET", url, effect.query, headers, None, timedelta(seconds=seconds))

    def incoming(
        self,
        effect: Request,
        status: int,
        body: bytes,
        events: QuoteEvents | None,
    ) -> Any:
        if len(body) > number_limits.MAX_BODY:
            raise self._too_large(effect)
        if events is not None:
            if events.answer is None:
                raise ServiceUnreachable("the stream of the quote ended before its answer")
            body = events.answer
        try:
            return self._read(effect, status, body)
        except RecursionError as error:
            raise UnexpectedResponse("an answer nests too deep to be read") from error

    def _read(self, effect: Request, status: int, body: bytes) -> Any:
        if isinstance(effect, ApiCall):
            return read_answer(effect, status, body)
        try:
            if isinstance(effect, NodeBatch):
                return read_results(effect, status, body, self._secrets)
            return read_result(effect, status, body, self._secrets)
        except UnexpectedResponse as error:
            if status == 429 or status >= 500:
                text, is_busy = f"the node refuses to answer: HTTP {status}", status in BUSY_STATUS
                raise NodeUnreachable(text, is_busy=is_busy) from error
            raise

    def unreachable(self, effect: Request, error: Exception) -> ServiceUnreachable:
        is_node = isinstance(effect, NodeCall | NodeBatch)
        peer = "the node" if is_node else "the service"
        url = (self._at.rpc_url or "") if is_node else self._at.url
        kind = NodeUnreachable if is_node else ServiceUnreachable
        if wrong := fault(error):
            return kind(f"{peer} at {_host(url)} cannot be trusted: {wrong}")
        manner = "in time" if isinstance(error, TimeoutError) else "(connection failed)"
        return kind(f"{peer} at {_host(url)} does not answer {manner}")

    def _too_large(self, effect: Request) -> UnexpectedResponse:
        url = self._at.url if isinstance(effect, ApiCall) else (self._at.rpc_url or "")
        return UnexpectedResponse(
            f"{_host(url)} answers more than {number_limits.MAX_BODY} bytes: not read"
        )


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        Url(url)  # this parser refuses more invalid hosts than urlsplit
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _host(url: str) -> str:
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}"


def _configured(builder: Any, endpoints: Endpoints) -> Any:
    """Return the HTTP client with the settings that both transports share.

    Redirects are not followed, because the API key belongs to one host. A proxy of the environment
    is not used if all URLs are loopback addresses. Only gzip is accepted: other decompressors may
    allocate megabytes before the body's size is checked. Raises ValueError for an invalid CA file.
    """
    timeout = timedelta(seconds=endpoints.timeout_s)
    builder = builder.timeout(timeout).follow_redirects(False).user_agent("quietswap-client")
    builder = builder.brotli(False).deflate(False).zstd(False)
    urls = [endpoints.url, *([endpoints.rpc_url] if endpoints.rpc_url else [])]
    if all(urlsplit(url).hostname in _LOOPBACK for url in urls):
        builder = builder.no_proxy()
    if endpoints.ca_file is not None:
        builder = builder.add_root_certificate_pem(read_ca_file(endpoints.ca_file))
    try:
        return builder.build()
    except BuilderError as error:
        raise ValueError(f"ca_file {endpoints.ca_file}: not a certificate") from error


_NO_URL = "no URL can hold what the service named: its id is too long, or no text"


def _request(client: Any, out: _Outgoing) -> Any:
    builder = client.request(out.method, out.url).query(out.query)
    for name, value in out.headers.items():
        builder = builder.header(name, value, is_sensitive=name == "X-API-Key")
    if out.body is not None:
        builder = builder.body_bytes(out.body)
    if out.timeout is not None:
        builder = builder.timeout(out.timeout).streamed_read_buffer_limit(1)
    return builder.build_streamed()


def _events(effect: Request, response: BaseResponse) -> QuoteEvents | None:
    verified = effect.verified if isinstance(effect, ApiCall) else None
    return QuoteEvents(verified) if verified and read_events.is_stream(response) else None


def _whole(response: SyncResponse, events: QuoteEvents | None) -> bytes:
    """Return the body, or its first MAX_BODY + 1 bytes or more if it is larger.

    `events` reads a stream while it comes.
    """
    body, reader = b"", response.body_reader
    while not _has_ended(response, len(body)):
        more = (
            reader.read_chunk() if events else reader.read(number_limits.MAX_BODY + 1 - len(body))
        )
        if not more:
            break
        body += bytes(more)
        if events:
            events.feed(bytes(more))
    return body


async def _whole_async(response: Response, events: QuoteEvents | None) -> bytes:
    body, reader = b"", response.body_reader
    while not _has_ended(response, len(body)):
        more = await (
            reader.read_chunk() if events else reader.read(number_limits.MAX_BODY + 1 - len(body))
        )
        if not more:
            break
        body += bytes(more)
        if events:
            events.feed(bytes(more))
    return body


def _has_ended(response: BaseResponse, size: int) -> bool:
    """Return whether the body is complete or too large; a known length saves one more read."""
    return size > number_limits.MAX_BODY or response.headers.get("content-length") == str(size)


class SyncTransport:
    """Performs effects one after another; `sleep` and the clocks can be replaced."""

    def __init__(
        self,
        endpoints: Endpoints,
        *,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wire = _Wire(endpoints)
        self._client: SyncClient = _configured(SyncClientBuilder(), endpoints)
        self._endpoints = endpoints
        self._streams: Client | None = None
        self._sleep = sleep
        self._monotonic = monotonic

    def perform(self, effect: Effect) -> Any:
        """Return the effect's outcome. Raises ClientError."""
        if isinstance(effect, Sleep):
            return self._sleep(effect.seconds)
        if isinstance(effect, ReadClock):
            return ClockReading(self._monotonic(), time.time_ns() // 1_000_000)
        if isinstance(effect, AwaitEvent):
            if self._streams is None:
                self._streams = _configured(ClientBuilder(), self._endpoints)
            return read_events.read_events(
                _request(self._streams, self._wire.stream(effect)), effect
            )
        request = _request(self._client, self._wire.outgoing(effect))
        try:
            with request as response:
                events = _events(effect, response)
                body = _whole(response, events)
        except RequestError as error:
            raise self._wire.unreachable(effect, error) from None
        except BuilderError:
            raise UnexpectedResponse(_NO_URL) from None
        return self._wire.incoming(effect, response.status, body, events)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
        self._streams = None


class AsyncTransport:
    """Performs effects on the running event loop; `sleep` and the clocks can be replaced."""

    def __init__(
        self,
        endpoints: Endpoints,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wire = _Wire(endpoints)
        self._client: Client = _configured(ClientBuilder(), endpoints)
        self._sleep = sleep
        self._monotonic = monotonic

    async def perform(self, effect: Effect) -> Any:
        """Return the effect's outcome. Raises ClientError."""
        if isinstance(effect, Sleep):
            return await self._sleep(effect.seconds)
        if isinstance(effect, ReadClock):
            return ClockReading(self._monotonic(), time.time_ns() // 1_000_000)
        if isinstance(effect, AwaitEvent):
            return await read_events.read_events_async(
                _request(self._client, self._wire.stream(effect)), effect
            )
        request = _request(self._client, self._wire.outgoing(effect))
        try:
            async with request as response:
                events = _events(effect, response)
                body = await _whole_async(response, events)
        except RequestError as error:
            raise self._wire.unreachable(effect, error) from None
        except BuilderError:
            raise UnexpectedResponse(_NO_URL) from None
        return self._wire.incoming(effect, response.status, body, events)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
