"""All that follow one order to its end, each by its own way, and what each tells of it."""

import asyncio
import contextlib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import msgspec

from quietswap.cli.mcp.prepare import Preparer
from quietswap.cli.mcp.tools import Tools
from quietswap.client import AsyncQuietswapClient, PollingPolicy, QuietswapClient
from quietswap.client.errors import ClientError
from quietswap.client.flows.finality import SignedOrders, SubmittedTransaction
from tests import loopback
from tests.forked import Forked, without_settings
from tests.typescript.package import Thrown, TypeScript

_POLLING = PollingPolicy(interval_s=1.0, patience_s=120, node_interval_s=0.5, doubt_s=4)
_COMMANDS = 8
"""Commands that run at the same time."""
_TOOL_CALLS, _TOOL_S = 5, 5
_POLLS = 120
FATES = {"mined": "mined", "reverted": "reverted", "replaced": "replaced"}
NOTHING = "came to nothing"
"""What is told of an order whose transaction did not succeed, and never will."""
_BY_STATUS = {"confirmed": "mined", "failed": NOTHING, "cancelled": NOTHING}


@dataclass(frozen=True, slots=True)
class Way:
    """The service and the node that a follower asks; only one service and some nodes are true."""

    url: str
    rpc_url: str
    name: str


@dataclass
class Followers:
    """`orders` has what was signed, as the clients and the command keep it."""

    ways: Mapping[str, Way]
    key: str
    folder: Path
    typescript: TypeScript | None
    orders: SignedOrders = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._stack = contextlib.AsyncExitStack()
        self._commands, self._script = asyncio.Semaphore(_COMMANDS), asyncio.Lock()
        self._awaited: dict[str, AsyncQuietswapClient] = {}
        self._blocking: dict[str, QuietswapClient] = {}

    async def __aenter__(self) -> "Followers":
        for name, way in self.ways.items():
            each: dict[str, Any] = {"rpc_url": way.rpc_url, "orders": self.orders}
            awaited = AsyncQuietswapClient(way.url, self.key, polling=_POLLING, **each)
            self._awaited[name] = await self._stack.enter_async_context(awaited)
            blocking = QuietswapClient(way.url, self.key, polling=_POLLING, **each)
            self._blocking[name] = self._stack.enter_context(blocking)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def record(self, sent: SubmittedTransaction) -> None:
        """Keep what was signed, for the clients and for the command."""
        self.orders[str(sent.order_id)] = sent
        path = self.folder / "quietswap" / "orders.jsonl"
        path.parent.mkdir(exist_ok=True)
        with path.open("ab") as file:
            file.write(msgspec.json.encode(sent) + b"\n")

    async def awaited(self, order_id: str, way: str) -> str | None:
        """Return the end that `follow` returns to an asynchronous program; None without one."""
        with contextlib.suppress(ClientError):
            return _BY_STATUS[(await self._awaited[way].follow(order_id)).status]
        return None

    async def blocking(self, order_id: str, way: str) -> str | None:
        """Return the end that `end` returns to a blocking program."""
        with contextlib.suppress(ClientError):
            end = await asyncio.to_thread(self._blocking[way].end, order_id)
            return FATES[str(end.fate)] if end.is_final else None
        return None

    async def tools(self, order_id: str, way: str) -> str | None:
        """Return the end that a model reads."""
        tools = Tools(Preparer(self._awaited[way], has_node=True))
        for _ in range(_TOOL_CALLS):
            with contextlib.suppress(ClientError):
                answer = await tools.follow_order(order_id, _TOOL_S)
                if answer["final"]:
                    return FATES[str(answer["outcome"])]
                if not answer["mayBeMined"]:
                    return "mined"
        return None

    async def command(self, order_id: str, way: str) -> str | None:
        """Return the end that `history --follow` tells: by its exit code, and by its JSON."""
        async with self._commands:
            code, out = await self._run("history", "--order", order_id, "--follow", way=way)
        body = json.loads(out) if out.strip() else {}
        fate = FATES.get(str(body.get("fate"))) if body.get("final") else None
        by_code = {0: "mined", 1: NOTHING if body.get("final") else None}.get(code)
        return fate or by_code

    async def _run(self, *words: str, way: str) -> tuple[int, str]:
        variables = without_settings() | {
            "QUIETSWAP_URL": self.ways[way].url, "QUIETSWAP_API_KEY": self.key,
            "QUIETSWAP_RPC_URL": self.ways[way].rpc_url, "XDG_STATE_HOME": str(self.folder),
        }  # fmt: skip
        with tempfile.TemporaryFile() as out:
            process = Forked([*words, "--poll", "2", "--json"], variables, stdout=out.fileno())
            try:
                code = await _ended(process)
            finally:
                process.terminate()
            out.seek(0)
            return code, out.read().decode()

    async def script(self, order_id: str, way: str) -> str | None:
        """Return the end that `end` of the TypeScript client returns, of one order at a time."""
        if self.typescript is None or self._script.locked():
            return None
        sent, at = self.orders[order_id], self.ways[way]
        own = {
            "what": sent.what, "txHash": sent.tx_hash, "wallet": sent.wallet, "nonce": sent.nonce,
            "orderId": order_id,
        }  # fmt: skip
        options = {
            "url": at.url, "apiKey": self.key, "rpcUrl": at.rpc_url, "orders": {order_id: own},
            "polling": {"intervalS": 1, "patienceS": 120, "nodeIntervalS": 0.5, "doubtS": 4},
        }  # fmt: skip
        ask = partial(self.typescript.ask, "end", order_id, options=options, realTime=True)
        async with self._script:
            with contextlib.suppress(Thrown):
                end = await asyncio.to_thread(ask)
                return FATES[end["fate"]] if end["isFinal"] else None
        return None


async def _ended(process: Forked) -> int:
    """Return the exit code; asked in this thread alone: multiprocessing looks at all children."""
    while True:
        code = process.poll()
        if code is not None:
            return code
        await asyncio.sleep(0.2)


async def service_end(url: str, key: str, order_id: str) -> str | None:
    """Return the first end that the service tells of an order; it may correct itself later."""
    async with loopback.AsyncClient(base_url=url, headers={"X-API-Key": key}, timeout=20) as http:
        for _ in range(_POLLS):
            await asyncio.sleep(1.0)
            try:
                answer = await http.get(f"/api/v1/mev/orders/{order_id}")
            except httpx.TransportError:
                continue
            record = answer.json()["data"] if answer.status_code == 200 else {}
            if record.get("status") in _BY_STATUS:
                is_open = record.get("error", {}).get("mayBeMined")
                return None if is_open else _BY_STATUS[record["status"]]
    return None
