"""The limit of a quote: the same calls in the same HTTP client on the same loop, and nothing else.

Run as `python -m benchmarks.speed.fanout CLIENTS COUNT [CORE]`, the calls on standard input. It
prints one JSON object as `benchmarks.speed.load` does, and `cpu_s`.
"""

import asyncio
import os
import sys
import time
from dataclasses import dataclass
from typing import Any

import msgspec
import uvloop

from benchmarks.speed.load import Result
from benchmarks.speed.stage import ROOT, SOURCES, Stage, recording_request, source_settings
from quietswap.rules.chain.rpc_wire import RpcCall
from quietswap.service.base.clock import SystemClock
from quietswap.service.base.http_client import HttpClient, HttpReply
from quietswap.service.node.chain import NodeChain
from quietswap.service.node.rpc import MAX_BYTES, NodeRpcClient
from quietswap.service.server.factories import make_adapter

_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class HttpCall:
    """One call; `body` None for a GET."""

    url: str
    params: dict[str, str]
    headers: dict[str, str]
    body: str | None


@dataclass(frozen=True, slots=True)
class Calls:
    """What a quote asks: rows of calls, each row in its order, all rows at once; then `last`."""

    at_once: list[list[HttpCall]]
    last: list[HttpCall]

    @property
    def slowest(self) -> "Calls":
        """The calls of the source with the longest row alone."""
        return Calls([max(self.at_once, key=len)], [])


class Listener(HttpClient):
    """An HTTP client that keeps what it asked."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[HttpCall] = []

    async def get(self, url: str, **rest: Any) -> HttpReply:
        """Ask, and keep the question."""
        params, headers = rest.get("params") or {}, rest.get("headers") or {}
        self.calls.append(HttpCall(url, dict(params), dict(headers), None))
        return await super().get(url, **rest)

    async def post(self, url: str, body: bytes, **rest: Any) -> HttpReply:
        """Ask, and keep the question."""
        headers = rest.get("headers") or {}
        self.calls.append(HttpCall(url, {}, dict(headers), body.decode()))
        return await super().post(url, body, **rest)

    def taken(self) -> list[HttpCall]:
        """Return what was asked since the last time."""
        calls, self.calls = self.calls, []
        return calls


async def calls_of_a_quote(stage: Stage) -> Calls:
    """Let the service's own adapters ask once, and return what they asked."""
    http, clock, request = Listener(), SystemClock(), recording_request()
    settings = source_settings({name: f"{stage.upstreams_url}/{name}" for name in SOURCES})
    rows, routes = [], []
    for name in SOURCES:
        routes.append(await make_adapter(settings, name, http).route(request))
        rows.append(http.taken())
    rpc = NodeRpcClient(http, [stage.sandbox.chain.url], clock, timeout_s=3, max_lag_blocks=3)
    await rpc.batch([RpcCall("eth_chainId")])  # asked once in the life of a process
    http.taken()
    rehearsal = await NodeChain(rpc, clock).prepare_simulation(request, [r.spender for r in routes])
    rows.append(http.taken())
    await rehearsal.simulate(routes)
    last = http.taken()
    await http.close()
    return Calls(rows, last)


async def fan_out(calls: Calls, clients: int, count: int, core: int | None) -> tuple[Result, float]:
    """Run it in a process of its own, on `core` if one is named; return figures and CPU seconds."""
    words = [sys.executable, "-m", "benchmarks.speed.fanout", str(clients), str(count)]
    words += [] if core is None else [str(core)]
    process = await asyncio.create_subprocess_exec(
        *words, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    out, _ = await process.communicate(msgspec.json.encode(calls))
    if process.returncode:
        raise RuntimeError("the fan-out ended in an error")
    told = msgspec.json.decode(out)
    cpu_s = told.pop("cpu_s")
    return Result(**told), cpu_s


async def _run(calls: Calls, clients: int, count: int) -> dict[str, Any]:
    http = HttpClient()
    ms: list[float] = []

    async def row(asked: list[HttpCall]) -> None:
        for call in asked:
            await _ask(http, call)

    async def client(times: int) -> None:
        for _ in range(times):
            began = time.perf_counter()
            await asyncio.gather(*map(row, calls.at_once))
            await row(calls.last)
            ms.append((time.perf_counter() - began) * 1000)

    await asyncio.gather(*(client(2) for _ in range(clients)))  # connections are made
    ms.clear()
    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(client(count // clients) for _ in range(clients)))
    seconds, cpu_s = time.perf_counter() - began, time.process_time() - cpu
    await http.close()
    return {"seconds": seconds, "ms": ms, "statuses": {}, "last": "", "cpu_s": cpu_s}


async def _ask(http: HttpClient, call: HttpCall) -> None:
    if call.body is None:
        reply = await http.get(
            call.url, params=call.params, headers=call.headers, timeout_s=_TIMEOUT_S
        )
    else:
        reply = await http.post(
            call.url,
            call.body.encode(),
            headers=call.headers,
            timeout_s=_TIMEOUT_S,
            max_bytes=MAX_BYTES,
            repeatable=True,  # as the service asks aggregators and nodes
        )
    if reply.status != 200:
        raise RuntimeError(f"status {reply.status}")


if __name__ == "__main__":
    if sys.argv[3:]:
        os.sched_setaffinity(0, {int(sys.argv[3])})
    told = uvloop.run(
        _run(msgspec.json.decode(sys.stdin.buffer.read(), type=Calls), *map(int, sys.argv[1:3]))
    )
    sys.stdout.buffer.write(msgspec.json.encode(told))
