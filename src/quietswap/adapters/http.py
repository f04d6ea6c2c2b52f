"""The one HTTP client of the service, over pyreqwest; nothing else knows which library it is.

Upstreams are hostile until proven otherwise: bodies are counted as they arrive after decompression,
redirects are never followed, deep JSON is refused before it is decoded, and one total timeout
bounds a drip as well as a silence. No error text carries a URL: it may hold a key.
"""

import atexit
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from itertools import accumulate
from typing import Any, NoReturn, TypeVar
from urllib.parse import urlsplit

import msgspec
from pyreqwest import exceptions
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.http import Url
from pyreqwest.request import RequestBuilder

T = TypeVar("T")

MAX_BYTES = 1_000_000
"""Largest body read of an upstream, in bytes after decompression."""
_CONNECT_S = 2.0
_IDLE_S = 30.0
_DEEPEST = 200
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[{]}")
_LAST_WORDS_S = 0.05
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


class OtherShape(BadBody):
    """The body is JSON, but not of the shape asked for."""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A whole answer of any status, redirects too; `headers` finds a name in any case."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    def json(self) -> Any:
        """Return the decoded JSON. Raises BadBody for anything else, and for 200 levels of it."""
        return self.read(Any)

    def read(self, shape: type[T]) -> T:
        """Return the JSON as `shape`. Raises OtherShape, or BadBody when it is no JSON at all."""
        if not self.claims_json or _is_deep(self.body):
            self._refuse()
        try:
            return msgspec.json.decode(self.body, type=shape, strict=True)
        except msgspec.ValidationError as error:
            raise OtherShape(f"the JSON has another shape: {str(error)[:80]}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._refuse()

    @property
    def claims_json(self) -> bool:
        """Return False when the content type names something else; silence is no claim."""
        return "json" in self.headers.get("content-type", "json").lower()

    @property
    def is_html(self) -> bool:
        """Return True for a web page, whatever it was sent as."""
        return self.body.lstrip()[:1] == b"<"

    def _refuse(self) -> NoReturn:
        raise BadBody("the body is a web page" if self.is_html else "the body is not JSON")


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
            _leave_slowly()
            self._client = (
                ClientBuilder()
                .user_agent(self._user_agent)
                .follow_redirects(False)
                .error_for_status(False)
                .no_proxy()
                .default_cookie_store(False)
                .brotli(False)
                .deflate(False)
                .zstd(False)  # its window may take megabytes before a byte can be counted
                .connect_timeout(timedelta(seconds=_CONNECT_S))
                .pool_idle_timeout(timedelta(seconds=_IDLE_S))
                .max_connections(self._max_connections)
                .build()
            )
        return self._client


def can_be_asked(url: str) -> bool:
    """Return whether a request can be made of this http(s) URL; nobody is asked."""
    try:
        Url(url)
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


@lru_cache(maxsize=1)
def _leave_slowly() -> None:
    """Let the library's thread finish before the interpreter ends: else it may abort the process.

    https://docs.python.org/3.11/c-api/init.html#non-python-created-threads: a thread that holds the
    interpreter's lock while it ends is not forgiven. Nothing tells when the thread is idle.
    """
    atexit.register(time.sleep, _LAST_WORDS_S)


def _is_deep(body: bytes) -> bool:
    """Return whether JSON nests deeper than anybody means it.

    The decoder stops at the interpreter's recursion limit. A library that raises the limit would
    make 10^5 brackets end the process, so they are counted first, where there are enough.
    """
    if body.count(b"[") + body.count(b"{") <= _DEEPEST:
        return False
    steps = memoryview(_STRING.sub(b"", body).translate(_STEPS, _NO_BRACKETS)).cast("b")
    return max(accumulate(steps), default=0) > _DEEPEST


@lru_cache(maxsize=64)  # a handful of settings
def _span(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


async def _exchange(request: RequestBuilder, timeout_s: float, max_bytes: int) -> HttpReply:
    try:
        return await _read(request.timeout(_span(timeout_s)), max_bytes)
    except exceptions.RequestTimeoutError as error:
        raise _late(error) from None
    except exceptions.PyreqwestError as error:
        raise _trouble(error) from None


async def _read(request: RequestBuilder, max_bytes: int) -> HttpReply:
    async with request.build_streamed() as response:
        headers = response.headers
        body = bytes(await response.body_reader.read(max_bytes + 1) or b"")
        # One read mostly brings it all. Asking for the end costs a switch of threads, and the end
        # is known where the length is: the library takes the header off what it decompresses.
        while len(body) <= max_bytes and headers.get("content-length") != str(len(body)):
            more = await response.body_reader.read(max_bytes + 1 - len(body))
            if not more:
                break
            body += bytes(more)
        if len(body) > max_bytes:
            raise BadBody(f"the body is larger than {max_bytes} bytes")
        return HttpReply(response.status, body, headers)


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
