"""The stage of a campaign: the sandbox in this process, the real service as a victim beside it."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from quietswap.sandbox.chain.anvil import die_with_parent
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.abi import Wallet
from quietswap.sandbox.contracts.addresses import ROUTERS
from quietswap.sandbox.faults import NODE, RELAYS
from quietswap.sandbox.network import SandboxNetwork, running_network
from quietswap.sandbox.ports import free_port
from quietswap.sandbox.stack import ServiceProcess, settings_text
from tests.forked import without_settings
from tests.processes import children
from tests.reports.proxy import RpcProxy, proxy
from tests.sandbox.accounts import send

BLOCK_S = 0.5
EXPIRY_S = 10
"""Seconds until an order expires: short, so that what the relay lost ends within the campaign."""
TRADED = ("WETH", "USDC")
_MAX = 2**256 - 1
_TUNED = {
    "[server]": "rate_limit = 10000000",
    "[node]": "timeout_s = {patience_s}",
    "[tracking]": (
        f"order_expiry_s = {EXPIRY_S}\nresend_every_blocks = 3\nbackstop_every_blocks = 4"
    ),
    "[relay.first]": "timeout_s = {patience_s}",
    "[relay.backup]": "timeout_s = {patience_s}",
}
_REVERTS_ARE_MINED = '[relay]\nswap_endpoint = "fast"\nbackup_after_blocks = 2\n'


class Victim(ServiceProcess):
    """A service whose processes can be killed all together, in the middle of anything."""

    async def launch(self) -> None:
        """Start the processes and return at once."""
        with self.settings.with_name("service.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "quietswap", "serve",
                "--settings", str(self.settings), "--port", str(self.port),
                stdout=log, stderr=log, stdin=asyncio.subprocess.DEVNULL,
                preexec_fn=die_with_parent(), start_new_session=True, env=without_settings(),
            )  # fmt: skip

    async def ready(self) -> None:
        """Return when the service answers. Raises ServiceFailed."""
        assert self._process is not None
        await self._until_ready(self._process)

    @property
    def workers(self) -> list[int]:
        """Return the process ids of the workers."""
        assert self._process is not None
        return _children(self._process.pid)

    async def kill_server(self) -> None:
        """Send SIGKILL to the server alone, as a system short of memory does."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()

    def kill_worker(self) -> bool:
        """Send SIGKILL to the workers alone, which the server starts anew; False without any."""
        workers = self.workers
        for worker in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        return bool(workers)

    async def kill(self) -> None:
        """Send SIGKILL to the server and to its workers; harmless when they are gone."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        self._process = None


def _children(pid: int) -> list[int]:
    """Return the children of a process; none if it has ended."""
    try:
        return list(children(pid))
    except psutil.NoSuchProcess:
        return []


@dataclass(frozen=True, slots=True)
class CampaignEnvironment:
    """Everything a campaign plays with; `database` is the service's own file."""

    sandbox: SandboxNetwork
    victim: Victim
    key: str
    database: Path
    proxies: Mapping[str, RpcProxy]
    """In front of node and relays, by part; tests/reports has what they can do."""


@asynccontextmanager
async def running_environment(
    folder: Path, seed: int, patience_s: float = 1.0
) -> AsyncIterator[CampaignEnvironment]:
    """Run the sandbox and the service, every wallet's approvals given, for a `with` block.

    The service waits `patience_s` for the node and for a relay.
    """
    async with contextlib.AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(running_network(BLOCK_S))
        await _approve(sandbox)
        proxies = {
            part: await stack.enter_async_context(proxy(sandbox.urls[part], seed=f"{seed} {part}"))
            for part in (*NODE, *RELAYS)
        }
        port = free_port()
        settings = folder / "quietswap.toml"
        settings.write_text(
            _settings(
                sandbox.urls | {part: one.url for part, one in proxies.items()},
                folder,
                port,
                patience_s,
            ),
            "utf-8",
        )
        victim = Victim(settings, port)
        _, key = await victim.create_key("chaos")
        await victim.launch()
        try:
            await victim.ready()
            yield CampaignEnvironment(sandbox, victim, key, folder / "quietswap.sqlite3", proxies)
        finally:
            await victim.kill()


def _settings(urls: Mapping[str, str], folder: Path, port: int, patience_s: float) -> str:
    text = settings_text(urls, folder, port, BLOCK_S)
    for table, lines in _TUNED.items():
        assert f"{table}\n" in text
        tuned = lines.format(patience_s=patience_s)
        text = text.replace(f"{table}\n", f"{table}\n{tuned}\n")
    return text.replace("[relay.first]", _REVERTS_ARE_MINED + "[relay.first]")


async def _approve(sandbox: SandboxNetwork) -> None:
    for wallet in sandbox.wallets:
        for symbol in TRADED:
            await _approve_all(sandbox, wallet, symbol)
    await sandbox.builder.mine(1)


async def _approve_all(sandbox: SandboxNetwork, wallet: Wallet, symbol: str) -> None:
    for router in ROUTERS.values():
        data = abi.call("approve(address,uint256)", router, _MAX)
        await send(sandbox.chain, wallet.address, sandbox.tokens[symbol], data, gas=100_000)
