"""The only HTTP client of the service, on top of pyreqwest. No other module imports that library.

Responses are untrusted: body size is limited after decompression, redirects are not followed, deep
JSON is rejected before it is decoded, and one timeout limits the whole exchange. No error text
contains a URL, because a URL may contain a key.
"""

import atexit
import re
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any, NoReturn
from urllib.parse import quote_plus, urlsplit

import msgspec
from pyreqwest import exceptions
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.http import Url
from pyreqwest.request import RequestBuilder

from quietswap.rules.foreign_text import T, decode, host_is_ambiguous
from quietswap.rules.json_depth import may_overflow

MAX_BYTES = 1_000_000
"""Largest body read of an upstream, in bytes after decompression."""
_IDLE_S = 600.0
"""How long a connection without a request is kept, if the server keeps it: handshakes and the
look-up of a name would be on the way of nearly every quote of a service for one person."""
_PROBE_S, _PROBE_EVERY_S, _PROBES = 15.0, 5.0, 3
"""TCP keep-alive: routers on the way do not forget a quiet connection, and a dead one is closed
after 30 s, before a request is sent on it."""
_EXIT_DELAY_S = 0.05
_CONNECT_FAILURES = (exceptions.ConnectError, exceptions.ConnectTimeoutError)


class HttpError(Exception):
    """No complete response was received. The text contains no URL."""


class ConnectionFailed(HttpError):
    """The connection failed.

    `not_sent` is True only where it is proven that no byte of the body left this process. It is
    False for each GET and each repeatable POST that failed on the network.
    """

    def __init__(self, reason: str, *, not_sent: bool) -> None:
        super().__init__(reason)
        self.not_sent = not_sent


class HttpTimeout(HttpError):
    """The timeout of the whole exchange expired. The server may have received the request."""


class InvalidBody(HttpError):
    """The response body is too large, truncated, or does not match its content type."""


class BodyTooLarge(InvalidBody):
    """The response body has more bytes than the caller reads."""


class UnexpectedShape(InvalidBody):
    """The body is JSON with another structure than expected."""


_READ = 4000
_TAG = re.compile(r"<(style|script)[^>]*>.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_WORDS = ("error", "errors", "message", "detail", "reason", "title", "data", "code")
"""Members of an error that have its sentence, the first that is there."""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A complete response of any status. `headers` ignores the case of names."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    def json(self) -> Any:
        """Return the decoded JSON.

        Raises InvalidBody for other content and for nesting that the decoder refuses.
        """
        return self.read(Any)

    def read(self, shape: type[T]) -> T:
        """Return the JSON as `shape`. Raises UnexpectedShape, or InvalidBody for other content."""
        if not self.claims_json or may_overflow(self.body):
            self._refuse()
        try:
            return decode(self.body, shape)
        except msgspec.ValidationError as error:
            raise UnexpectedShape(f"the JSON has another shape: {str(error)[:80]}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._refuse()

    def words(self) -> str:
        """Return the sentence of a JSON error, or a page as text: foreign, not made harmless."""
        text = self.body[:_READ].decode("utf-8", "replace")
        try:
            text_part = self.json()
        except (InvalidBody, RecursionError):
            return " ".join(_TAG.sub(" ", text).split())
        while isinstance(text_part, dict | list) and text_part:
            if isinstance(text_part, list):
                text_part = text_part[0]
            else:
                text_part = next((text_part[key] for key in _WORDS if text_part.get(key)), "")
        return str(text_part or "")[:_READ]

    @property
    def claims_json(self) -> bool:
        """Return False if the content type is not JSON. A missing content type counts as JSON."""
        return "json" in self.headers.get("content-type", "json").lower()

    @property
    def is_html(self) -> bool:
        return self.body.lstrip()[:1] == b"<"

    def _refuse(self) -> NoReturn:
        raise InvalidBody("the body is a web page" if self.is_html else "the body is not JSON")


class RequestBody:
    """A request body that is either read by the library or withheld from it.

    The library reads the body only after it has a connection. A body that could be withheld was
    never read, and a later read gets nothing: no byte of it can have left this process. The
    exception type alone proves less: a reset or a timeout after the request was sent raises
    ConnectError or ConnectTimeoutError too.
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._decided = threading.Lock()  # the library reads in a thread of its own

    def __iter__(self) -> Iterator[bytes]:
        if self._decided.acquire(blocking=False):
            yield self._content

    def withhold(self) -> bool:
        """Return True if the library has not read the body and never will."""
        return self._decided.acquire(blocking=False)


class HttpClient:
    """Pooled connections. TLS certificates are always verified. Call `close` at the end."""

    def __init__(
        self,
        *,
        user_agent: str = "quietswap",
        max_connections: int = 512,
        connect_timeout_s: float = 2.0,
    ) -> None:
        self._user_agent = user_agent
        self._connect_timeout = timedelta(seconds=connect_timeout_s)
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
        """Return the response to a GET of `url` with `params` added. Raises HttpError."""
        full_url = with_query(url, params) if params else url
        request = self._request("GET", full_url, headers or {})
        return await _exchange(request, None, timeout_s, max_bytes)

    async def post(
        self,
        url: str,
        body: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        timeout_s: float,
        max_bytes: int = MAX_BYTES,
        repeatable: bool = False,
    ) -> HttpReply:
        """Return the response to a POST of JSON bytes. Raises HttpError.

        `repeatable`: the server may get it twice, so a failure need not prove that it was not sent.
        That proof costs a thread switch.
        """
        all_headers = {"content-type": "application/json", **(headers or {})}
        if repeatable:
            request = self._request("POST", url, all_headers).body_bytes(body)
            return await _exchange(request, None, timeout_s, max_bytes)
        sent = RequestBody(body)
        all_headers["content-length"] = str(len(body))
        request = self._request("POST", url, all_headers).body_stream(sent)
        return await _exchange(request, sent, timeout_s, max_bytes)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _request(self, method: str, url: str, headers: Mapping[str, str]) -> RequestBuilder:
        try:
            # a POST goes to one of few endpoints; the URL of a GET has its parameters
            target = _parsed(url) if method == "POST" else url
            return self._opened().request(method, target).headers(dict(headers))
        except (exceptions.BuilderError, ValueError):
            raise ConnectionFailed("the URL cannot be used", not_sent=True) from None

    def _opened(self) -> Client:
        """Return the client. It is created at first use, inside the event loop that uses it."""
        if self._client is None:
            _delay_exit()
            self._client = (
                ClientBuilder()
                .user_agent(self._user_agent)
                .follow_redirects(False)
                .error_for_status(False)
                .no_proxy()
                .default_cookie_store(False)
                .brotli(False)
                .deflate(False)
                .zstd(False)  # its window may use megabytes before the size limit applies
                .connect_timeout(self._connect_timeout)
                .pool_idle_timeout(timedelta(seconds=_IDLE_S))
                .tcp_keepalive(timedelta(seconds=_PROBE_S))
                .tcp_keepalive_interval(timedelta(seconds=_PROBE_EVERY_S))
                .tcp_keepalive_retries(_PROBES)
                .max_connections(self._max_connections)
                .build()
            )
        return self._client


def can_be_asked(url: str) -> bool:
    """Return whether this is a valid http(s) URL, as it stands. No request is made.

    URL parsers silently drop some blanks and line breaks, and not all drop the same. A fragment is
    never sent.
    """
    try:
        Url(url)
        parts = urlsplit(url)
        _ = parts.port  # read for its ValueError
    except ValueError:
        return False
    is_plain = url.isprintable() and " " not in url and not host_is_ambiguous(url)
    return is_plain and parts.scheme in {"http", "https"} and bool(parts.hostname)


@lru_cache(maxsize=1)
def _delay_exit() -> None:
    """Give the library's thread time to become idle before the interpreter ends.

    A foreign thread that holds the GIL at shutdown aborts the process, and the library does not
    report when its thread is idle.
    https://docs.python.org/3.11/c-api/init.html#non-python-created-threads
    """
    atexit.register(time.sleep, _EXIT_DELAY_S)


_parsed = lru_cache(maxsize=64)(Url)  # raises ValueError


@lru_cache(maxsize=64)  # the timeouts of the settings
def _span(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


async def _exchange(
    request: RequestBuilder, body: RequestBody | None, timeout_s: float, max_bytes: int
) -> HttpReply:
    try:
        return await _read(request.timeout(_span(timeout_s)), max_bytes)
    except exceptions.PyreqwestError as error:
        raise _trouble(error, body) from None


async def _read(request: RequestBuilder, max_bytes: int) -> HttpReply:
    async with request.build_streamed() as response:
        headers = response.headers
        body = bytes(await response.body_reader.read(max_bytes + 1) or b"")
        # One read usually returns the whole body. A read at the end costs a thread switch, so a
        # matching content-length ends the loop. The library removes that header from compressed
        # responses.
        while len(body) <= max_bytes and headers.get("content-length") != str(len(body)):
            more = await response.body_reader.read(max_bytes + 1 - len(body))
            if not more:
                break
            body += bytes(more)
        if len(body) > max_bytes:
            raise BodyTooLarge(f"the body is larger than {max_bytes} bytes")
        return HttpReply(response.status, body, headers)


def _trouble(error: exceptions.PyreqwestError, body: RequestBody | None) -> HttpError:
    if isinstance(error, exceptions.DecodeError):
        return InvalidBody("the response is cut short or cannot be decoded")
    if isinstance(error, exceptions.BuilderError):
        return ConnectionFailed("the URL cannot be used", not_sent=True)
    if isinstance(error, _CONNECT_FAILURES) and body is not None and body.withhold():
        return ConnectionFailed("no connection", not_sent=True)
    if body is None and isinstance(error, _CONNECT_FAILURES) and _names_the_connection(error):
        return ConnectionFailed("no connection", not_sent=False)
    if isinstance(error, exceptions.RequestTimeoutError):
        return HttpTimeout("no complete response in time")
    return ConnectionFailed("the connection failed", not_sent=False)


def _names_the_connection(error: exceptions.RequestError) -> bool:
    """Return whether the library's text says that there was no connection. This proves nothing.

    The text is that of hyper-util (`client::legacy::Error`). The type of the exception does not
    tell: a timeout of the whole exchange is a ConnectTimeoutError, too.
    """
    causes = error.details.get("causes") or ()
    return any(cause["message"] == "client error (Connect)" for cause in causes)


def with_query(url: str, params: Mapping[str, str]) -> str:
    """Return `url` with `params` added as `urllib.parse.urlencode` writes them.

    pyreqwest's own `query` releases the GIL: 25 us, 60 under load. `urlencode` takes 15 us for the
    parameters of a source, this 2: mostly addresses and digits, which need no escape.
    """
    query = "&".join([f"{_escaped(name)}={_escaped(value)}" for name, value in params.items()])
    return url + ("&" if "?" in url else "?") + query


def _escaped(text: str) -> str:
    return text if text.isascii() and text.isalnum() else _quoted(text)


_quoted = lru_cache(maxsize=256)(quote_plus)  # mostly constants of the adapters
