"""The network together with the real service: what `quietswap sandbox` runs."""

import asyncio
import base64
import json
import os
import secrets
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Never

from pyreqwest.client import ClientBuilder
from pyreqwest.exceptions import RequestError
from pyreqwest.request import RequestBuilder

from quietswap.rules.vendors import VENDORS
from quietswap.sandbox.chain.anvil import die_with_parent, end_process
from quietswap.sandbox.faults import VENUES, Fault
from quietswap.sandbox.network import GethOptions, SandboxNetwork, running_network
from quietswap.sandbox.ports import Ports

QUIETSWAP = (sys.executable, "-m", "quietswap")
_READY_SECONDS = 60
_WEBHOOK_KEY = base64.b64encode(b"the sandbox protects no secrets!").decode()
"""The same in each run, because the database may outlive the sandbox."""
_VISITS = 100_000
"""Requests a minute of the page's visitors: all wallets of a test have one address."""
_SETTINGS_HEAD = (
    "# The settings of this sandbox's service. The file is removed when the sandbox stops."
)
_STARTING = b'"event":"service_starting"'
"""In the log once the process has found its port free (service/server/process.py)."""
_PROBE_TIMEOUT = timedelta(seconds=5)


class ServiceFailed(Exception):
    """The service did not become ready; the message ends with its last output."""


@dataclass(frozen=True, slots=True)
class StoreUrls:
    """Where the service stores orders and rate windows, as in its settings."""

    url: str
    redis_url: str | None = None


def settings_text(
    urls: Mapping[str, str],
    folder: Path,
    port: int,
    block_time: float,
    stores: StoreUrls | None = None,
    *,
    patience_s: float | None = None,
) -> str:
    """Return the service's TOML settings; `urls` has its upstreams by part name.

    Without `stores`, orders go to a SQLite file in `folder`. `patience_s` replaces all time limits
    of upstream calls and of a quote.
    """
    slow = {} if patience_s is None else {"timeout_s": patience_s}
    stores = stores or StoreUrls(f"sqlite:///{folder / 'quietswap.sqlite3'}")
    redis = {"redis_url": stores.redis_url} if stores.redis_url else {}
    backup = {"kind": "private_rpc", "name": "Backup relay", "url": urls["backup_relay"]}
    prices = {f"{name}_url": urls[name] for name in ("defillama", "coingecko")}
    tables: dict[str, dict[str, Any]] = {
        "server": {"port": port},
        "web": {"rate_limit": _VISITS},
        "storage": {"url": stores.url, **redis},
        "node": {"urls": [urls["node"]], **slow},
        "quotes": {f"{name}_deadline_s": patience_s for name in ("soft", "hard") if slow},
        "tracking": {"poll_s": max(block_time / 2, 0.1)},
        "webhooks": {"encryption_key": _WEBHOOK_KEY, "allow_private": True},
        "prices": prices,
        "relay.first": {"url": urls["relay"], **slow},
        "relay.backup": {**backup, **slow},
    }
    for name in VENUES:
        if name in urls:
            a_day = {"per_day": 100_000_000} if VENDORS[name].budget.per_day else {}
            tables[f"source.{name}"] = {"url": urls[name], "per_second": 1000.0, **slow, **a_day}
    lines = [_SETTINGS_HEAD]
    for table, values in tables.items():
        lines += [f"[{table}]"] if values else []
        lines += [f"{name} = {json.dumps(value)}" for name, value in values.items()]  # valid TOML
    return "\n".join(lines) + "\n"


class ServiceProcess:
    """One `quietswap serve` process, which ends with the sandbox."""

    def __init__(self, settings: Path, port: int, program: Sequence[str] = QUIETSWAP) -> None:
        self.settings = settings
        self.port = port
        self._program = program
        self.url = f"http://127.0.0.1:{port}"
        self._process: asyncio.subprocess.Process | None = None

    async def create_key(self, name: str) -> tuple[str, str]:
        """Create an API key by `quietswap keys create`; return id and key."""
        made = json.loads(await self._command("keys", "create", "--name", name, "--json"))
        return made["id"], made["key"]

    async def create_access(
        self, wallets: Sequence[str], operator: str, secrets: Sequence[str]
    ) -> dict[str, str]:
        """Create an API key, an RPC URL of `wallets` and an operator; return them for a client.

        `secrets` sets the three. One process runs the three commands: most of a command's time is
        the start of Python.
        """
        program = (sys.executable, "-m", "quietswap.cli.sandbox_access", str(self.settings))
        access = await _output("access", (*program, *wallets), "\n".join((operator, *secrets)))
        return json.loads(access)  # type: ignore[no-any-return]

    async def migrate(self) -> None:
        await self._command("migrate")

    async def _command(self, *words: str) -> bytes:
        command = (*self._program, *words, "--settings", str(self.settings))
        return await _output(f"quietswap {' '.join(words)}", command, "")

    async def start(self) -> None:
        with self._log.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._program, "serve", "--settings", str(self.settings), "--port", str(self.port),
                stdout=log, stderr=log, stdin=asyncio.subprocess.DEVNULL,
                preexec_fn=die_with_parent(), env=_environment(),
            )  # fmt: skip
        await self._until_ready(self._process)

    async def stop(self) -> None:
        if self._process is not None and self._process.returncode is None:
            await end_process(self._process, 12)

    async def ended(self) -> str:
        assert self._process is not None
        code = await self._process.wait()
        return f"the service ended with exit code {code}: {self._last_output()}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def _log(self) -> Path:
        return self.settings.with_name("service.log")

    def _last_output(self) -> str:
        return self._log.read_text("utf-8", "replace")[-800:].strip()

    async def _until_ready(self, process: asyncio.subprocess.Process) -> None:
        async with ClientBuilder().no_proxy().timeout(_PROBE_TIMEOUT).build() as http:
            for _ in range(_READY_SECONDS * 50):
                if process.returncode is not None:
                    raise ServiceFailed(f"the service ended at start: {self._last_output()}")
                # what answers before the process has found its port free is another service
                is_bound = _STARTING in self._log.read_bytes()
                if is_bound and await _answers(http.get(f"{self.url}/healthz")):
                    return
                await asyncio.sleep(0.02)
        raise ServiceFailed(f"the service did not answer within {_READY_SECONDS} s")


async def _output(name: str, words: Sequence[str], typed: str) -> bytes:
    """Run a program to its end and return what it prints. Raises ServiceFailed with `name`."""
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, env=_environment(),
    )  # fmt: skip
    out, err = await process.communicate(typed.encode())
    if process.returncode:
        reason = err.decode().strip().rpartition("Error: ")[2]  # without the command's usage
        raise ServiceFailed(f"{name}: {reason[-500:]}")
    return out


async def _answers(request: RequestBuilder) -> bool:
    try:
        return (await request.build().send()).status == 200
    except RequestError:
        return False


def _environment() -> dict[str, str]:
    """Return this process's environment without settings, so that only the file counts."""
    return {name: value for name, value in os.environ.items() if not name.startswith("QUIETSWAP_")}


API_KEY = "qs_" + "5a" * 32
"""The API key of every sandbox with its own database. It is public and valid nowhere else."""
WALLET_RPC_SECRET = "qr_" + "5a" * 32
"""The secret of the RPC URL of every such sandbox, public as well."""
OPERATOR_SECRET = "qo_" + "5a" * 32
"""The secret of the operator of every such sandbox, public as well."""


@dataclass(eq=False)
class SandboxStack:
    """A network with its service; `block_time` in seconds.

    Without `stores`, the service has a temporary SQLite file, the API key is `API_KEY`, and the RPC
    URL of wallets ends in `WALLET_RPC_SECRET`; `OPERATOR_SECRET` opens the operator view.
    `patience_s` replaces the time limits of the service's calls, for a busy machine. With `geth`
    the chain is on geth.
    """

    ports: Ports = field(default_factory=Ports)
    block_time: float = 2.0
    faults: Sequence[tuple[str, Fault]] = ()
    stores: StoreUrls | None = None
    patience_s: float | None = None
    geth: GethOptions | None = None
    stage: SandboxNetwork | None = field(default=None, init=False)
    service: ServiceProcess | None = field(default=None, init=False)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack, init=False)

    async def start(self) -> dict[str, Any]:
        """Start everything and return what a client needs, as `sandbox --json` prints it.

        Raises MissingPackage, AnvilFailed, GethFailed, ServiceFailed, and OSError when a port is in
        use.
        """
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="quietswap-")))
        network = running_network(
            self.block_time, self.faults, self.ports.parts(), yields=self.ports.stable,
            geth=self.geth,
        )  # fmt: skip
        stage = await self._stack.enter_async_context(network)
        port = self._stack.enter_context(self.ports.choose_api())
        settings, block_time = folder / "quietswap.toml", self.block_time
        slow = self.patience_s
        text = settings_text(stage.urls, folder, port, block_time, self.stores, patience_s=slow)
        settings.write_text(text, "utf-8")
        service = ServiceProcess(settings, port)
        self._stack.push_async_callback(service.stop)
        self.stage, self.service = stage, service
        operator, access_secrets = "sandbox", (API_KEY, WALLET_RPC_SECRET, OPERATOR_SECRET)
        if self.stores is not None:
            await service.migrate()
            # a database that outlives the sandbox gets no public secret, and may have this operator
            operator, access_secrets = f"sandbox-{secrets.token_hex(4)}", ("", "", "")
        wallets = [one.address for one in stage.wallets]
        creating = service.create_access(wallets, operator, access_secrets)
        access, _ = await asyncio.gather(creating, service.start())
        return {
            "baseUrl": service.url,
            "rpcUrl": stage.rpc_url,
            "relayUrl": stage.relay_url,
            "controlUrl": stage.control_url,
            "wallets": [{"address": w.address, "privateKey": w.private_key} for w in stage.wallets],
            "tokens": dict(stage.tokens),
            "venues": dict(stage.venues),
            "settingsFile": str(settings),
            **access,
            "operatorUrl": f"{service.url}/operator",
        }

    def moved(self, facts: Mapping[str, Any]) -> list[str]:
        """Return a line for each usual port that was in use; `facts` is the result of `start`."""
        return self.ports.moved(facts)

    async def broken(self) -> Never:
        """Wait until the node or the service ends by itself. Raises ServiceFailed."""
        assert self.stage is not None
        assert self.service is not None
        parts = self.stage.chain.node, self.service
        ending = [asyncio.create_task(part.ended()) for part in parts]
        try:
            done, _ = await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
            raise ServiceFailed("\n".join(task.result() for task in done))
        finally:
            for task in ending:
                task.cancel()

    async def stop(self) -> None:
        """Stop everything and remove the temporary files. Does nothing before `start`."""
        await self._stack.aclose()
