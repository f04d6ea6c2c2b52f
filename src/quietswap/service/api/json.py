"""Values in their JSON form, so that msgspec encodes them without a Python call per value.

The contract declares these members with the types that a client decodes: WireAmount, Decimal and
datetime. A Struct that is built to be encoded holds strings and floats instead, hence `Any`.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

import msgspec

from quietswap.rules import errors
from quietswap.rules.contract.errors import ErrorEnvelope

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  a naive UTC value, the quickest to print


_SECONDS = tuple(f"{second:02d}." for second in range(60))
_MILLISECONDS = tuple(f"{ms:03d}Z" for ms in range(1000))


@lru_cache(maxsize=16_384)
def _minute(minutes: int) -> str:
    return (_EPOCH + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:")


def iso_timestamp(unix_ms: int) -> Any:
    """Return Unix milliseconds as ISO 8601 in UTC, always with three decimals and `Z`.

    Most times of a page are in a few minutes, whose text is cached.
    """
    seconds, ms = divmod(unix_ms, 1000)
    minutes, second = divmod(seconds, 60)
    return f"{_minute(minutes)}{_SECONDS[second]}{_MILLISECONDS[ms]}"


def iso_second(unix_s: int | None) -> Any:
    """Return Unix seconds as ISO 8601; None stays None."""
    return None if unix_s is None else iso_timestamp(unix_s * 1000)


def number(value: Decimal | None) -> Any:
    """Return a USD value or a percentage, rounded to six decimals; 0 where it is unknown."""
    return 0.0 if value is None else round(float(value), 6)


amount: Callable[[int | None], Any] = str
"""Returns an amount in smallest units or wei as a decimal string."""


def unavailable_error(codes: Sequence[str], told: str) -> errors.RequestError:
    """Return what an endpoint with these codes answers while node or database is unavailable.

    Where an order is submitted the interface's only 503 is PROVIDER_UNAVAILABLE. The order may or
    may not be stored by then, so it must not say that nothing was sent.
    """
    if "PROVIDER_UNAVAILABLE" in codes:
        return errors.ProviderUnavailable(
            f"{told}; if this request had a signed transaction, it is not known"
            " whether that was taken",
            "Send the same request again in a few seconds: the same signed transaction is taken"
            " once.",
            reason="STORE_UNAVAILABLE",
        )
    return errors.ServiceUnavailable(told)


def overload_error(codes: Sequence[str]) -> errors.RequestError:
    """Return what an endpoint with these codes answers while too many bodies are held."""
    text = "the service holds too many requests that are still being sent"
    if "PROVIDER_UNAVAILABLE" in codes:
        suggestion = "Nothing was taken or sent. Send the same request again in a few seconds."
        return errors.ProviderUnavailable(text, suggestion, reason="OVERLOADED")
    return errors.ServiceUnavailable(text, reason="OVERLOADED")


def error_envelope(error: errors.RequestError) -> ErrorEnvelope:
    envelope = ErrorEnvelope(
        ok=False,
        error=error.code,
        message=error.message,
        details=error.details,
        suggestion=error.suggestion,
    )
    if not isinstance(error, errors.RateLimitExceeded):
        return envelope
    return msgspec.structs.replace(
        envelope, retry_after=error.retry_after, limit=error.limit, window=error.window
    )


Message = dict[str, Any]


Send = Callable[[Any], Awaitable[None]]
Receive = Callable[[], Awaitable[Any]]
"""ASGI's calls; the responses do not depend on the framework."""


async def send_json(
    send: Send, body: bytes, headers: Sequence[tuple[bytes, bytes]] = (), status: int = 200
) -> None:
    """Send a whole answer. An empty body has no type and no length."""
    if body:
        length = b"content-length", b"%d" % len(body)
        headers = [*headers, length, (b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": [*headers]})
    await send({"type": "http.response.body", "body": body})


@dataclass(frozen=True, slots=True)
class StreamedAnswer:
    """Status 200 with these `headers` and the parts of `chunks` as its body.

    The first part is produced before the status is sent: so a fault that it meets has the error
    envelope. After a later fault the server closes the connection, and the client finds the
    transfer incomplete. A client that has gone stops the production at the next part.
    """

    headers: Sequence[tuple[bytes, bytes]]
    chunks: AsyncGenerator[bytes]

    async def respond(self, receive: Receive, send: Send, *, has_body: bool) -> None:
        """Send the answer; without a body for HEAD."""
        leaving = asyncio.create_task(until_disconnected(receive))
        try:
            if has_body:
                await self._send_parts(send, leaving)
            else:
                await send(self._start())
            if not leaving.done():
                await send({"type": "http.response.body", "body": b""})
        finally:
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)
            await self.chunks.aclose()

    async def _send_parts(self, send: Send, leaving: "asyncio.Task[None]") -> None:
        first = await anext(self.chunks)
        await send(self._start())
        await send({"type": "http.response.body", "body": first, "more_body": True})
        async for chunk in self.chunks:
            await asyncio.sleep(0)  # other requests get their turn, and the disconnect is noticed
            if leaving.done():
                return
            await send({"type": "http.response.body", "body": chunk, "more_body": True})

    def _start(self) -> Message:
        headers = [*self.headers, (b"cache-control", b"no-store")]
        return {"type": "http.response.start", "status": 200, "headers": headers}


async def until_disconnected(receive: Receive) -> None:
    """Return once the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
