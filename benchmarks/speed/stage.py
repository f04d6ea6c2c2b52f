"""A service among local upstreams: anvil, one process of recorded answers, and `quietswap serve`.

A vendor's answers are recorded once from its stand-in through the service's own adapter, then
padded to the size of a real one and repeated by `benchmarks.speed.upstreams`, so that pricing a
route costs the upstream nothing. The chain is the sandbox's: simulations run real bytecode.
"""

import asyncio
import os
import sqlite3
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from benchmarks.speed.upstreams import RECORDED_WALLET, RELAY, Recorded, wallet, write
from quietswap.rules.quotes.quote import RouteRequest
from quietswap.rules.tokens.token import Token
from quietswap.sandbox.contracts import addresses
from quietswap.sandbox.contracts.abi import set_storage
from quietswap.sandbox.contracts.pools import TOKENS
from quietswap.sandbox.faults import PRICES, RELAYS
from quietswap.sandbox.network import SandboxNetwork, running_network
from quietswap.sandbox.ports import free_port
from quietswap.sandbox.stack import QUIETSWAP, ServiceProcess, settings_text
from quietswap.service.base.clock import SystemClock
from quietswap.service.base.http_client import HttpClient, HttpReply
from quietswap.service.server.factories import make_adapter
from quietswap.service.settings import Settings

ROOT = Path(__file__).parents[2]
SOURCES = ("kyberswap", "velora", "sushi")
SELL, BUY = TOKENS["WETH"], TOKENS["USDC"]
SELL_AMOUNT = 10**18
SLIPPAGE_BPS = 50
WALLETS = 256
_FAR_FUTURE_S = 10**6
_SIZES = {
    "/kyberswap/ethereum/api/v1/routes": 5_000,
    "/kyberswap/ethereum/api/v1/route/build": 7_000,
    "/velora/swap": 8_000,
    "/sushi/swap/v7/1": 4_000,
}
"""Bytes of an answer, by path: a real route has more legs than the sandbox's, and says more."""


class Recorder(HttpClient):
    """An HTTP client that keeps what it was answered."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, str] = {}

    async def get(self, url: str, **rest: Any) -> HttpReply:
        """Return the answer to a GET."""
        return self._kept(url, await super().get(url, **rest))

    async def post(self, url: str, body: bytes, **rest: Any) -> HttpReply:
        """Return the answer to a POST."""
        return self._kept(url, await super().post(url, body, **rest))

    def _kept(self, url: str, reply: HttpReply) -> HttpReply:
        self.rows[urlsplit(url).path] = reply.body.decode()
        return reply


@dataclass(frozen=True, slots=True)
class Stage:
    """Where everything is."""

    sandbox: SandboxNetwork
    folder: Path
    upstreams_url: str
    stack: AsyncExitStack

    async def world(self, *, delay_ms: float = 0, hangs: tuple[str, ...] = ()) -> int:
        """Set how slowly the upstreams answer, and which never do.

        Returns the number of requests that the relay has received.
        """
        http = HttpClient()
        body = msgspec.json.encode({"delay_ms": delay_ms, "hangs": hangs})
        reply = await http.post(self.upstreams_url + "/control", body, timeout_s=5)
        await http.close()
        return int(reply.json()["relayed"])

    async def service(
        self,
        name: str,
        *,
        program: Sequence[str] = QUIETSWAP,
        fill: Callable[[Path, str], Awaitable[None]] | None = None,
        urls: Mapping[str, str] = {},
    ) -> "Served":
        """Start a service with a database of its own.

        `fill(database, key id)` is called before it starts, `program` runs instead of quietswap,
        and `urls` are upstreams of its own.
        """
        folder = self.folder / name
        folder.mkdir()
        port = free_port()
        base = self.upstreams_url
        usual = {name: self.sandbox.urls[name] for name in PRICES}
        usual |= {source: f"{base}/{source}" for source in SOURCES}
        usual |= {"node": self.sandbox.chain.url} | dict.fromkeys(RELAYS, f"{base}/{RELAY}")
        text = settings_text(usual | urls, folder, port, 12)
        text = text.replace("per_second = 1000.0", "per_second = 1e9")
        text = text.replace("per_day = 100000000", "per_day = 1000000000")
        text = text.replace("[server]\n", "[server]\nrate_limit = 1000000000\n")
        settings = folder / "quietswap.toml"
        text += f"[quotes]\nsources = {list(SOURCES)}\n[wallet_rpc]\nrate_limit = 1000000000\n"
        settings.write_text(text, "utf-8")
        service = ServiceProcess(settings, port, program)
        self.stack.push_async_callback(service.stop)
        _, key = await service.create_key(name)
        if fill:
            database = folder / "quietswap.sqlite3"
            await fill(database, _client_id(database))
        await service.start()
        return Served(service, key)


@dataclass(frozen=True, slots=True)
class Served:
    """A running service and a key to it."""

    service: ServiceProcess
    key: str

    @property
    def pids(self) -> list[int]:
        """The server's process and its workers."""
        parent = self.service.pid
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text("ascii")
        return [parent, *map(int, children.split())]

    def cpu_s(self) -> float:
        """Return the CPU seconds all of them have used."""
        return sum(_cpu_s(pid) for pid in self.pids)

    def memory_mb(self) -> float:
        """Return what server and worker hold, in MB; pages they share are counted once."""
        return sum(_memory_mb(pid) for pid in self.pids)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory_mb(pid: int) -> float:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
    return int(rollup.partition("\nPss:")[2].split()[0]) * 1024 / 1e6


def _client_id(database: Path) -> str:
    with closing(sqlite3.connect(database)) as connection:
        found: str = connection.execute("SELECT client_id FROM api_keys").fetchone()[0]
    return found


def pin(pid: int, core: int) -> None:
    """Keep every thread of a process, and what they start, on one core."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), {core})


@asynccontextmanager
async def running_stage() -> AsyncIterator[Stage]:
    """Run chain and upstreams for the length of a `with` block, and every service started in it."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="quietswap-bench-")))
        sandbox = await stack.enter_async_context(running_network(block_time=12))
        await ready_to_swap(sandbox, [wallet(number) for number in range(WALLETS)])
        rows = await _record(sandbox.venues)
        write(folder / "recording.json", rows)
        url = await repeating(stack, folder / "recording.json")
        yield Stage(sandbox, folder, url, stack)


async def ready_to_swap(
    sandbox: SandboxNetwork, owners: Sequence[str], *, approved: bool = True
) -> None:
    """Give wallets ETH, what they sell, and their approvals."""
    calls = []
    for owner in owners:
        calls.append(set_storage(SELL.address, SELL.balance_key(owner), 10**21))
        for source in SOURCES if approved else ():
            key = SELL.allowance_key(owner, addresses.ROUTERS[source])
            calls.append(set_storage(SELL.address, key, 10**24))
        calls.append(("anvil_setBalance", (owner, hex(10**19))))
    for start in range(0, len(calls), 500):
        await sandbox.chain.rpc.batch(calls[start : start + 500])
    await sandbox.chain.mine()


def source_settings(urls: Mapping[str, str]) -> Settings:
    """Return settings that name nothing but where the sources are."""
    return msgspec.convert({"source": {n: {"url": urls[n]} for n in SOURCES}}, Settings)


def recording_request() -> RouteRequest:
    """Return the swap that an answer of the recording is about."""
    return RouteRequest(
        sell=Token(SELL.address, SELL.decimals, SELL.symbol),
        buy=Token(BUY.address, BUY.decimals, BUY.symbol),
        sell_amount=SELL_AMOUNT,
        wallet=RECORDED_WALLET,
        slippage_bps=SLIPPAGE_BPS,
        gas_price_wei=10**9,
        deadline=SystemClock().now_ms() // 1000 + _FAR_FUTURE_S,
    )


async def _record(venues: Mapping[str, str]) -> list[Recorded]:
    """Return what each venue answers the service's adapter for one swap."""
    rows = []
    for name in SOURCES:
        recorder = Recorder()
        adapter = make_adapter(source_settings(venues), name, recorder)
        await adapter.route(recording_request())
        await recorder.close()
        rows += [_padded(f"/{name}{path}", body) for path, body in recorder.rows.items()]
    return rows


def _padded(path: str, body: str) -> Recorded:
    """Return an answer filled up with legs, as members of a name no adapter reads."""
    text = body.replace(RECORDED_WALLET, RECORDED_WALLET.lower())
    leg = {"pool": "0x" + "ab" * 20, "swapAmount": "1000000000000000000", "exchange": "uniswapv3"}
    one = msgspec.json.encode(leg).decode()
    count = max(_SIZES[path] - len(text), 0) // (len(one) + 1)
    padding = ",".join([one] * count)
    return Recorded(path, f'{text.rstrip()[:-1]},"alternatives":[{padding}]}}')


async def repeating(stack: AsyncExitStack, recording: Path) -> str:
    """Start the process that repeats a recording; return its URL."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.speed.upstreams", str(recording),
        stdout=asyncio.subprocess.PIPE, cwd=ROOT,
    )  # fmt: skip
    stack.push_async_callback(process.wait)
    stack.callback(process.terminate)
    assert process.stdout is not None
    return f"http://127.0.0.1:{int(await process.stdout.readline())}"
