"""The outside world of the benchmark: one process that repeats what venues and relay once said.

Run as `python -m benchmarks.speed.upstreams RECORDING`, a JSON file of `Recorded` rows. It prints
its port and serves until it is terminated. Each answer waits `delay_ms`; a source named in `hangs`
never answers. Both are set by `POST /control`, which returns how many requests the relay received.
"""

import asyncio
import json
import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.keccak import keccak256

RELAY = "relay"
WALLET = re.compile(rb'(?:userAddress|account|sender|recipient)(?:=|":"?)0x([0-9a-fA-F]{40})')
"""Who asks, in the four vendors' words: the wallet of the recording is replaced by it."""


def wallet(number: int) -> Address:
    """Return the address of the benchmark's wallet `number`."""
    return addresses.from_any_case(f"0x00be9c{number:034x}")


RECORDED_WALLET = wallet(0)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One answer: `path` without query, `body` as text, sent with status 200."""

    path: str
    body: str


def write(path: Path, rows: list[Recorded]) -> None:
    """Write a recording."""
    path.write_text(json.dumps([asdict(row) for row in rows]), "utf-8")


class World:
    """What is answered, and how slowly."""

    def __init__(self, rows: list[Recorded]) -> None:
        self._marker = RECORDED_WALLET[2:].lower().encode()
        self._bodies = {row.path.encode(): row.body.encode() for row in rows}
        self.delay_s = 0.0
        self._hangs: tuple[bytes, ...] = ()
        self._relayed = 0

    def answer(self, method: bytes, path: bytes, request: bytes) -> bytes | None:
        """Return the whole HTTP answer; None for a source that hangs."""
        if self._hangs and path.startswith(self._hangs):
            return None
        if path == b"/control":
            self._control(json.loads(request.partition(b"\r\n\r\n")[2]))
            return _http(json.dumps({"relayed": self._relayed}).encode())
        if path.startswith(b"/relay"):
            self._relayed += 1
            return _http(_relayed(request) if method == b"POST" else b"{}")
        body = self._bodies[path]
        found = WALLET.search(request)
        return _http(body.replace(self._marker, found[1].lower()) if found else body)

    def _control(self, wanted: dict[str, Any]) -> None:
        self.delay_s = wanted["delay_ms"] / 1000
        self._hangs = tuple(f"/{name}/".encode() for name in wanted["hangs"])


def _relayed(request: bytes) -> bytes:
    call = json.loads(request.partition(b"\r\n\r\n")[2])
    digest = keccak256(bytes.fromhex(call["params"][0][2:])).hex()
    return json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": "0x" + digest}).encode()


def _http(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )


class Connection(asyncio.Protocol):
    """One keep-alive connection; requests come one after another."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._waiting = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every request that is whole."""
        self._waiting += data
        while (end := self._waiting.find(b"\r\n\r\n")) >= 0:
            head = self._waiting[:end].lower()
            at = head.find(b"content-length:")
            length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            whole = end + 4 + length
            if len(self._waiting) < whole:
                return
            request, self._waiting = self._waiting[:whole], self._waiting[whole:]
            self._respond(request)

    def _respond(self, request: bytes) -> None:
        method, target, _ = request.split(b" ", 2)
        answer = self._world.answer(method, target.partition(b"?")[0], request)
        if answer is None:
            return
        if self._world.delay_s:
            loop = asyncio.get_running_loop()
            loop.call_later(self._world.delay_s, self._transport.write, answer)
        else:
            self._transport.write(answer)


def read(path: Path) -> list[Recorded]:
    """Return a recording."""
    return [Recorded(**row) for row in json.loads(path.read_text("utf-8"))]


async def serve(world: World) -> None:
    """Serve on a free loopback port until cancelled."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(world), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(World(read(Path(sys.argv[1])))))
