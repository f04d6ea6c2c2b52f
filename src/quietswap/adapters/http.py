"""The one HTTP client of the service, over pyreqwest; nothing else knows which library it is.

Upstreams are hostile until proven otherwise: bodies are counted as they arrive after decompression,
redirects are never followed, the decoder stops at its recursion limit, and one total timeout bounds
a drip as well as a silence. No error text carries a URL: it may hold a key.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import msgspec
from pyreqwest import exceptions
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.request import RequestBuilder

MAX_BYTES = 1_000_000
"""Largest body read of an upstream, in bytes after decompression."""
_CONNECT_S = 2.0
_IDLE_S = 30.0
_NOT_CONNECTED = "client error (Connect)"
"""The library's word for a failure before any byte of the request was written. Its class does not
tell: a connection reset after the request was sent is a ConnectError, too."""


class HttpTrouble(Exception):
    """There is no whole answer; the text names no URL."""


class Unreachable(HttpTrouble):
    """The connection failed. `not_sent` only if no byte of the request can have arrived."""

    def __init__(self, reason: str, *, not_sent: bool) -> None:
        super().__init__(reason)
        self.not_sent = not_sent


class TimedOut(HttpTrouble):
    """The time for the whole exchange is over; the request may have arrived."""


class BadBody(HttpTrouble):
    """The body is too large, cut short, or not what it says it is."""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A whole answer; header names in lower case. Any status: redirects are not followed."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    def json(self) -> Any:
        """Return the decoded JSON.

        Raises BadBody for HTML, broken or too deeply nested JSON.
        """
        try:
            return msgspec.json.decode(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadBody(f"the body is not JSON{self._kind()}") from error

    def read(self, shape: type[Any]) -> Any:
        """Return the JSON as `shape`. Raises BadBody when it is another one."""
        try:
            return msgspec.json.decode(self.body, type=shape, strict=True)
        except msgspec.ValidationError as error:
            raise BadBody(f"the JSON has another shape: {str(error)[:80]}") from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadBody(f"the body is not JSON{self._kind()}") from error

    def _kind(self) -> str:
        return " but HTML" if self.body.lstrip()[:1] == b"<" else ""


class HttpClient:
    """Pooled connections, TLS certificates always checked. Close it with `close`."""

    def __init__(self, *, user_agent: str = "quietswap", max_connections: int = 512) -> None:
        self._user_agent = user_agent
        self._max_connections = max_connections
        self._client: Client | None = None

    async def get(
        self,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float,
        max_bytes: int = MAX_BYTES,
    ) -> HttpReply:
        """Return the answer to a GET. Raises HttpTrouble."""
        request = self._request("GET", url, headers or {})
        if params:
            request = request.query(dict(params))
        return await _exchange(request, timeout_s, max_bytes)

    async def post(
        self,
        url: str,
        body: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        timeout_s: float,
        max_bytes: int = MAX_BYTES,
    ) -> HttpReply:
        """Return the answer to a POST of JSON bytes. Raises HttpTrouble."""
        headers = {"content-type": "application/json", **(headers or {})}
        request = self._request("POST", url, headers).body_bytes(body)
        return await _exchange(request, timeout_s, max_bytes)

    async def close(self) -> None:
        """Close all connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _request(self, method: str, url: str, headers: Mapping[str, str]) -> RequestBuilder:
        try:
            return self._opened().request(method, url).headers(dict(headers))
        except (exceptions.BuilderError, ValueError):
            raise Unreachable("the URL cannot be used", not_sent=True) from None

    def _opened(self) -> Client:
        """Return the client, made when first used: inside the loop that will use it."""
        if self._client is None:
            self._client = (
                ClientBuilder()
                .user_agent(self._user_agent)
                .follow_redirects(False)
                .error_for_status(False)
                .no_proxy()
                .default_cookie_store(False)
                .connect_timeout(timedelta(seconds=_CONNECT_S))
                .pool_idle_timeout(timedelta(seconds=_IDLE_S))
                .max_connections(self._max_connections)
                .build()
            )
        return self._client


async def _exchange(request: RequestBuilder, timeout_s: float, max_bytes: int) -> HttpReply:
    try:
        async with asyncio.timeout(timeout_s):
            return await _read(request, max_bytes)
    except (TimeoutError, exceptions.RequestTimeoutError) as error:
        raise _late(error) from None
    except exceptions.PyreqwestError as error:
        raise _trouble(error) from None


async def _read(request: RequestBuilder, max_bytes: int) -> HttpReply:
    async with request.build_streamed() as response:
        chunks = []
        size = 0
        while (chunk := await response.body_reader.read_chunk()) is not None:
            size += len(chunk)
            if size > max_bytes:
                raise BadBody(f"the body is larger than {max_bytes} bytes")
            chunks.append(bytes(chunk))
        headers = {name.lower(): value for name, value in response.headers.items()}
        return HttpReply(response.status, b"".join(chunks), headers)


def _causes(error: Exception) -> str:
    details = getattr(error, "details", None) or {}
    return " ".join(str(cause.get("message", "")) for cause in details.get("causes") or [])


def _late(error: Exception) -> HttpTrouble:
    if isinstance(error, exceptions.ConnectTimeoutError) and _NOT_CONNECTED in _causes(error):
        return Unreachable("no connection in time", not_sent=True)
    return TimedOut("no whole answer in time")


def _trouble(error: exceptions.PyreqwestError) -> HttpTrouble:
    if isinstance(error, exceptions.DecodeError):
        return BadBody("the answer is cut short or cannot be decoded")
    if isinstance(error, exceptions.BuilderError):
        return Unreachable("the URL cannot be used", not_sent=True)
    if _NOT_CONNECTED in _causes(error):
        return Unreachable("no connection", not_sent=True)
    return Unreachable("the connection broke", not_sent=False)
