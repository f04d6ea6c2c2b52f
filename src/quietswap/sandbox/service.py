"""The sandbox's own service: the real one, as a process and on a settings file of its own."""

import asyncio
import contextlib
import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quietswap.sandbox.anvil import die_with_parent

_READY_SECONDS = 20
_LOOPBACK = "127.0.0.1"


class ServiceFailed(Exception):
    """The service did not become ready; the message carries its last words."""


@dataclass(frozen=True, slots=True)
class Upstreams:
    """The base URLs the settings file names; `venues` by source name."""

    rpc_url: str
    relay_url: str
    backup_relay_url: str
    venues: Mapping[str, str]
    defillama_url: str
    coingecko_url: str


@dataclass(frozen=True, slots=True)
class Stores:
    """Where the service keeps its orders and rate windows, as its settings name them."""

    url: str
    redis_url: str | None = None


def free_port() -> int:
    """Return a loopback port nobody listens on."""
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def settings_text(
    upstreams: Upstreams, folder: Path, port: int, block_time: float, stores: Stores | None = None
) -> str:
    """Return the TOML the service runs on; texts go in as JSON strings, which TOML reads, too.

    Without `stores` orders go into a SQLite file in `folder`.
    """
    text = json.dumps
    stores = stores or Stores(f"sqlite:///{folder / 'quietswap.sqlite3'}")
    lines = [
        "# The settings of this sandbox's own service. It is removed when the sandbox stops.",
        "[server]",
        f"port = {port}",
        "[storage]",
        f"url = {text(stores.url)}",
        *([f"redis_url = {text(stores.redis_url)}"] if stores.redis_url else []),
        "[node]",
        f"urls = [{text(upstreams.rpc_url)}]",
        "[tracking]",
        f"poll_s = {max(block_time / 4, 0.1)}",
        "[prices]",
        f"defillama_url = {text(upstreams.defillama_url)}",
        f"coingecko_url = {text(upstreams.coingecko_url)}",
        "[relay.first]",
        f"url = {text(upstreams.relay_url)}",
        "[relay.backup]",
        'kind = "private_rpc"',
        'name = "Backup relay"',
        f"url = {text(upstreams.backup_relay_url)}",
    ]
    for name, url in upstreams.venues.items():
        lines += [f"[source.{name}]", f"url = {text(url)}", "per_second = 1000.0"]
        lines += ["per_day = 100000000"] if name == "velora" else []
    return "\n".join(lines) + "\n"


QUIETSWAP = (sys.executable, "-m", "quietswap")


class Service:
    """One `quietswap serve` on a settings file; it never outlives the sandbox."""

    def __init__(
        self,
        settings: Path,
        port: int,
        program: Sequence[str] = (sys.executable, "-m", "quietswap"),
    ) -> None:
        self.settings = settings
        self.port = port
        self._program = program
        self.url = f"http://{_LOOPBACK}:{port}"
        self._process: asyncio.subprocess.Process | None = None

    async def create_key(self, name: str) -> str:
        """Return a new API key, issued by the same command an operator uses."""
        key: str = json.loads(await self._command("keys", "create", "--name", name, "--json"))[
            "key"
        ]
        return key

    async def migrate(self) -> None:
        """Bring the database to this release's schema. Raises ServiceFailed."""
        await self._command("migrate")

    async def _command(self, *words: str) -> bytes:
        process = await asyncio.create_subprocess_exec(
            *self._program, *words, "--settings", str(self.settings),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=_environment(),
        )  # fmt: skip
        out, err = await process.communicate()
        if process.returncode:
            raise ServiceFailed(f"quietswap {' '.join(words)}: {err.decode()[-500:]}")
        return out

    async def start(self) -> None:
        """Start the process and return when it answers. Raises ServiceFailed."""
        log = self.settings.with_name("service.log").open("wb")
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._program, "serve", "--settings", str(self.settings), "--port", str(self.port),
                stdout=log, stderr=log, stdin=asyncio.subprocess.DEVNULL,
                preexec_fn=die_with_parent(), env=_environment(),
            )  # fmt: skip
        finally:
            log.close()
        await self._until_ready(self._process)

    async def stop(self) -> None:
        """End the process and wait until it is gone."""
        if self._process is None or self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        try:
            await asyncio.wait_for(self._process.wait(), 12)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    @property
    def pid(self) -> int:
        """The server's process id, once started."""
        assert self._process is not None
        return self._process.pid

    async def _until_ready(self, process: asyncio.subprocess.Process) -> None:
        for _ in range(_READY_SECONDS * 50):
            if process.returncode is not None:
                words = self.settings.with_name("service.log").read_text("utf-8", "replace")
                raise ServiceFailed(f"the service ended while starting: {words[-800:]}")
            if await _answers(self.port):
                return
            await asyncio.sleep(0.02)
        raise ServiceFailed(f"the service did not answer within {_READY_SECONDS} s")


def _environment() -> dict[str, str]:
    """Return our environment without settings: the file alone decides."""
    return {name: value for name, value in os.environ.items() if not name.startswith("QUIETSWAP_")}


async def _answers(port: int) -> bool:
    try:
        reader, writer = await asyncio.open_connection(_LOOPBACK, port)
    except OSError:
        return False
    try:
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: sandbox\r\nConnection: close\r\n\r\n")
        status = await asyncio.wait_for(reader.readline(), 2)
    except (OSError, TimeoutError):
        return False
    finally:
        writer.close()
    return b" 200 " in status
