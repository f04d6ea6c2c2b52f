"""The network together with the real service: what `quietswap sandbox` runs."""

import asyncio
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Never

from quietswap.sandbox.faults.registry import Fault
from quietswap.sandbox.network import NetworkOptions, SandboxNetwork, running_network
from quietswap.sandbox.ports import Ports
from quietswap.sandbox.service_process import (
    ServiceFailed,
    ServiceProcess,
    StoreUrls,
    settings_text,
)

API_KEY = "qs_" + "5a" * 32
"""The API key of every sandbox with its own database. It is public and valid nowhere else."""
WALLET_RPC_SECRET = "qr_" + "5a" * 32
"""The secret of the RPC URL of every such sandbox, public as well."""

OPERATOR_SECRET = "qo_" + "5a" * 32
"""The secret of the operator of every such sandbox, public as well."""


class SandboxStack:
    """A network with its service; `block_time` in seconds.

    Without `stores`, the service has a temporary SQLite file, the API key is `API_KEY`, and the RPC
    URL of wallets ends in `WALLET_RPC_SECRET`; `OPERATOR_SECRET` opens the operator view.
    `patience_s` replaces the time limits of the service's calls, for a busy machine.
    """

    def __init__(
        self,
        ports: Ports | None = None,
        *,
        block_time: float = 2.0,
        faults: Sequence[tuple[str, Fault]] = (),
        stores: StoreUrls | None = None,
        patience_s: float | None = None,
    ) -> None:
        self._ports = ports or Ports()
        self._stores = stores
        self._patience_s = patience_s
        self._options = NetworkOptions(block_time, faults, self._ports.parts(), self._ports.stable)
        self._stack = AsyncExitStack()
        self.stage: SandboxNetwork | None = None
        self.service: ServiceProcess | None = None

    async def start(self) -> dict[str, Any]:
        """Start everything and return what a client needs, as `sandbox --json` prints it.

        Raises MissingPackage, AnvilFailed, ServiceFailed, and OSError when a port is in use.
        """
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="quietswap-")))
        stage = await self._stack.enter_async_context(running_network(self._options))
        port = self._stack.enter_context(self._ports.choose_api())
        block_time = self._options.block_time
        settings = folder / "quietswap.toml"
        patience_s = self._patience_s
        text = settings_text(
            stage.urls, folder, port, block_time, self._stores, patience_s=patience_s
        )
        settings.write_text(text, "utf-8")
        service = ServiceProcess(settings, port)
        self._stack.push_async_callback(service.stop)
        self.stage, self.service = stage, service
        if self._stores is not None:
            await service.migrate()
        # the public secrets must not be in a database that outlives the sandbox
        own = self._stores is None
        (key, rpc_url), operator, _ = await asyncio.gather(
            _access(stage, service, own), _operator(service, own), service.start()
        )
        view = {"operatorUrl": f"{service.url}/operator", "operatorSecret": operator}
        return _facts(stage, service, key, rpc_url) | view

    def moved(self, facts: Mapping[str, Any]) -> list[str]:
        """Return a line for each usual port that was in use; `facts` is the result of `start`."""
        return self._ports.moved(facts)

    async def broken(self) -> Never:
        """Wait until anvil or the service ends by itself. Raises ServiceFailed."""
        assert self.stage is not None
        assert self.service is not None
        ending = [
            asyncio.create_task(part.ended()) for part in (self.stage.chain.anvil, self.service)
        ]
        try:
            done, _ = await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
            raise ServiceFailed("\n".join(task.result() for task in done))
        finally:
            for task in ending:
                task.cancel()

    async def stop(self) -> None:
        """Stop everything and remove the temporary files. Does nothing before `start`."""
        await self._stack.aclose()


async def _access(
    stage: SandboxNetwork, service: ServiceProcess, use_public_secrets: bool
) -> tuple[str, str]:
    """Return an API key, and an RPC URL of all wallets that belongs to it."""
    public = (API_KEY, WALLET_RPC_SECRET) if use_public_secrets else (None, None)
    key_id, key = await service.create_key("sandbox", public[0])
    wallets = [one.address for one in stage.wallets]
    return key, await service.create_rpc_url(key_id, wallets, public[1])


async def _operator(service: ServiceProcess, use_public_secret: bool) -> str:
    """Return the secret of a new operator. A database that lives on may have one of that name."""
    if use_public_secret:
        return await service.create_operator("sandbox", OPERATOR_SECRET)
    return await service.create_operator(f"sandbox-{secrets.token_hex(4)}")


def _facts(
    stage: SandboxNetwork, service: ServiceProcess, key: str, wallet_rpc_url: str
) -> dict[str, Any]:
    wallets = [{"address": one.address, "privateKey": one.private_key} for one in stage.wallets]
    return {
        "baseUrl": service.url,
        "apiKey": key,
        "rpcUrl": stage.rpc_url,
        "walletRpcUrl": wallet_rpc_url,
        "relayUrl": stage.relay_url,
        "controlUrl": stage.control_url,
        "wallets": wallets,
        "tokens": dict(stage.tokens),
        "venues": dict(stage.venues),
        "settingsFile": str(service.settings),
    }
