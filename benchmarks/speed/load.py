"""A load of keep-alive clients, as a process of its own: raw HTTP/1.1, so that it costs little.

Run as `python -m benchmarks.speed.load PORT CLIENTS REQUESTS`; the whole requests come on standard
input, each as a line of hex, and are sent in turn. It prints one JSON object: `seconds`, `ms`
(every latency), `statuses` and `last` (one answer's body).
"""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from statistics import quantiles
from typing import Any

_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Result:
    """What a load met; `ms` are latencies in milliseconds."""

    seconds: float
    ms: list[float]
    statuses: dict[str, int]
    last: str

    @property
    def per_second(self) -> float:
        """Answers a second."""
        return len(self.ms) / self.seconds

    @property
    def p50(self) -> float:
        """The median latency in milliseconds."""
        return quantiles(self.ms, n=2)[0]

    @property
    def p99(self) -> float:
        """The latency in milliseconds that one in a hundred exceeds."""
        return quantiles(self.ms, n=100, method="inclusive")[98]


def get(path: str, key: str) -> bytes:
    """Return a GET with an API key."""
    return f"GET {path} HTTP/1.1\r\nhost: localhost\r\nx-api-key: {key}\r\n\r\n".encode()


def post(path: str, key: str, body: bytes, headers: Mapping[str, str] | None = None) -> bytes:
    """Return a POST of JSON with an API key."""
    lines = {"content-type": "application/json", "x-api-key": key, **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    start = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n{head}\r\n"
    return start.encode() + body


async def load(port: int, clients: int, count: int, requests: Sequence[bytes]) -> Result:
    """Send `count` requests from `clients` connections, in a process of its own.

    Raises RuntimeError when an answer was not 200.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.speed.load", str(port), str(clients), str(count),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd=_ROOT,
    )  # fmt: skip
    out, _ = await process.communicate("\n".join(r.hex() for r in requests).encode())
    if process.returncode:
        raise RuntimeError("the load ended in an error")
    result = Result(**json.loads(out))
    if set(result.statuses) != {"200"}:
        raise RuntimeError(f"answers were {result.statuses}, such as {result.last[:300]}")
    return result


@dataclass(slots=True)
class _Book:
    """What is still to be sent, and what came back."""

    requests: Iterator[bytes]
    left: int
    ms: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    last: bytes = b""

    def next(self) -> bytes | None:
        """Return the next request; None when all are sent."""
        if self.left == 0:
            return None
        self.left -= 1
        return next(self.requests)


class _Client(asyncio.Protocol):
    """One connection: the next request is sent when the answer to the last is whole."""

    def __init__(self, book: _Book) -> None:
        self._book = book
        self._waiting = b""
        self._sent_at = 0.0
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        """Count a connection closed in the middle as an answer of its own kind."""
        if not self.finished.done():
            self._book.statuses["closed"] += 1
            self.finished.set_result(None)

    def data_received(self, data: bytes) -> None:
        """Take in a part of an answer."""
        self._waiting = self._waiting + data if self._waiting else data
        end = self._waiting.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._waiting[:end]
        at = head.find(b"content-length:")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0])
        if len(self._waiting) < end + 4 + length:
            return
        book = self._book
        book.ms.append((time.perf_counter() - self._sent_at) * 1000)
        book.statuses[head[9:12].decode()] += 1
        book.last = self._waiting[end + 4 :]
        self._waiting = b""
        self._send()

    def _send(self) -> None:
        request = self._book.next()
        if request is None:
            self.finished.set_result(None)
            self._transport.close()
            return
        self._sent_at = time.perf_counter()
        self._transport.write(request)


async def _run(port: int, clients: int, count: int) -> dict[str, Any]:
    requests = [bytes.fromhex(line) for line in sys.stdin.read().split()]
    book = _Book(cycle(requests), count)
    loop = asyncio.get_running_loop()
    started = time.perf_counter()
    connected = await asyncio.gather(
        *(
            loop.create_connection(lambda: _Client(book), "127.0.0.1", port)
            for _ in range(min(clients, count))
        )
    )
    await asyncio.gather(*(client.finished for _, client in connected))
    return {
        "seconds": time.perf_counter() - started,
        "ms": book.ms,
        "statuses": dict(book.statuses),
        "last": book.last.decode("utf-8", "replace"),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_run(*map(int, sys.argv[1:4])))))
