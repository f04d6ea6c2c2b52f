"""Two thin ways to perform an effect, blocking and asynchronous, over one HTTP library.

What is sent and how the answer is read is decided without I/O in `_Wire`; the transports only carry
bytes. Nothing here names a URL in an error: a node's URL often carries a key.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from pyreqwest.client import Client, ClientBuilder, SyncClient, SyncClientBuilder
from pyreqwest.exceptions import RequestError
from pyreqwest.http import Url

from quietswap.client.calls import Call, read_answer
from quietswap.client.chain import NodeCall, read_result
from quietswap.client.errors import BadAnswer, NodeUnreachable, Unreachable
from quietswap.client.flow import Effect, Moment, Pause, ReadClock
from quietswap.client.wire import encode

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where the service and, optionally, the caller's own Ethereum node answer."""

    url: str
    api_key: str
    rpc_url: str | None = None
    timeout_s: float = 30.0

    def __post_init__(self) -> None:
        for name, url in (("url", self.url), ("rpc_url", self.rpc_url)):
            if url is not None and not _is_http(url):
                raise ValueError(f"{name} must be an http:// or https:// address")
        if urlsplit(self.url).query or urlsplit(self.url).fragment:
            raise ValueError("url must be a base address, without ? and #")
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


class _Wire:
    """Turns effects into requests and answers into values."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._at = endpoints

    def outgoing(self, effect: Call[Any] | NodeCall[Any]) -> _Outgoing:
        if isinstance(effect, NodeCall):
            return self._to_node(effect)
        headers = {"X-API-Key": self._at.api_key, "Accept": "application/json"}
        body = None
        if effect.body is not None:
            headers["Content-Type"] = "application/json"
            body = encode(effect.body)
        url = self._at.url.rstrip("/") + effect.path
        return _Outgoing(effect.method, url, effect.query, headers, body)

    def _to_node(self, call: NodeCall[Any]) -> _Outgoing:
        if self._at.rpc_url is None:
            raise ValueError(f"{call.method} needs an Ethereum node: give `rpc_url`")
        request = {"jsonrpc": "2.0", "id": 1, "method": call.method, "params": list(call.params)}
        headers = {"Content-Type": "application/json"}
        return _Outgoing("POST", self._at.rpc_url, {}, headers, encode(request))

    def incoming(self, effect: Call[Any] | NodeCall[Any], status: int, body: bytes) -> Any:
        if isinstance(effect, Call):
            return read_answer(effect, status, body)
        try:
            return read_result(effect, status, body)
        except BadAnswer as error:
            if status == 429 or status >= 500:
                raise NodeUnreachable(f"the node refuses to answer: HTTP {status}") from error
            raise

    def silence(self, effect: Call[Any] | NodeCall[Any], error: Exception) -> Unreachable:
        is_node = isinstance(effect, NodeCall)
        who = "the node" if is_node else "the service"
        url = (self._at.rpc_url or "") if is_node else self._at.url
        how = "in time" if isinstance(error, TimeoutError) else "(connection failed)"
        kind = NodeUnreachable if is_node else Unreachable
        return kind(f"{who} at {_host(url)} does not answer {how}")


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        Url(url)  # the library's own reading: it knows more bad hosts
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _host(url: str) -> str:
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}"


def _configured(builder: Any, endpoints: Endpoints) -> Any:
    """Return the builder with what both clients share.

    Redirects are not followed: the API key belongs to one host. A proxy from the environment is
    passed by for loopback addresses.
    """
    timeout = timedelta(seconds=endpoints.timeout_s)
    builder = builder.timeout(timeout).follow_redirects(False).user_agent("quietswap-client")
    urls = [endpoints.url, *([endpoints.rpc_url] if endpoints.rpc_url else [])]
    if all(urlsplit(url).hostname in _LOOPBACK for url in urls):
        builder = builder.no_proxy()
    return builder


def _request(client: Any, out: _Outgoing) -> Any:
    builder = client.request(out.method, out.url).query(out.query)
    for name, value in out.headers.items():
        builder = builder.header(name, value, is_sensitive=name == "X-API-Key")
    if out.body is not None:
        builder = builder.body_bytes(out.body)
    return builder.build()


class BlockingTransport:
    """Performs effects one after another; `sleep` and the clocks can be replaced."""

    def __init__(
        self,
        endpoints: Endpoints,
        *,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wire = _Wire(endpoints)
        self._client: SyncClient = _configured(SyncClientBuilder(), endpoints).build()
        self._sleep = sleep
        self._monotonic = monotonic

    def perform(self, effect: Effect) -> Any:
        """Return the effect's outcome. Raises ClientError."""
        if isinstance(effect, Pause):
            return self._sleep(effect.seconds)
        if isinstance(effect, ReadClock):
            return Moment(self._monotonic(), time.time_ns() // 1_000_000)
        request = _request(self._client, self._wire.outgoing(effect))
        try:
            response = request.send()
            body = bytes(response.bytes())
        except RequestError as error:
            raise self._wire.silence(effect, error) from None
        return self._wire.incoming(effect, response.status, body)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


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
        self._client: Client = _configured(ClientBuilder(), endpoints).build()
        self._sleep = sleep
        self._monotonic = monotonic

    async def perform(self, effect: Effect) -> Any:
        """Return the effect's outcome. Raises ClientError."""
        if isinstance(effect, Pause):
            return await self._sleep(effect.seconds)
        if isinstance(effect, ReadClock):
            return Moment(self._monotonic(), time.time_ns() // 1_000_000)
        request = _request(self._client, self._wire.outgoing(effect))
        try:
            response = await request.send()
            body = bytes(await response.bytes())
        except RequestError as error:
            raise self._wire.silence(effect, error) from None
        return self._wire.incoming(effect, response.status, body)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
