"""The stage with the real service on it: what `quietswap sandbox` runs."""

import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from quietswap.sandbox.faults import Fault
from quietswap.sandbox.service import Service, Stores, Upstreams, free_port, settings_text
from quietswap.sandbox.stage import Options, Sandbox, running_sandbox


class Town:
    """A whole sandbox. `port` is the API's (0 picks one), `block_time` in seconds.

    Without `stores` the service's orders go into a SQLite file that goes with the sandbox.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        block_time: float = 2.0,
        faults: Sequence[tuple[str, Fault]] = (),
        stores: Stores | None = None,
    ) -> None:
        self._port = port
        self._stores = stores
        self._options = Options(block_time=block_time, faults=faults)
        self._stack = AsyncExitStack()
        self.stage: Sandbox | None = None
        self.service: Service | None = None

    async def start(self) -> dict[str, Any]:
        """Start everything and return the facts a client needs, as `sandbox --json` prints them.

        Raises MissingPackage, AnvilFailed, ServiceFailed, and OSError for a port that is taken.
        """
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="quietswap-")))
        stage = await self._stack.enter_async_context(running_sandbox(self._options))
        port = self._port or free_port()
        settings = folder / "quietswap.toml"
        text = settings_text(
            _upstreams(stage), folder, port, self._options.block_time, self._stores
        )
        settings.write_text(text, "utf-8")
        service = Service(settings, port)
        self._stack.push_async_callback(service.stop)
        self.stage, self.service = stage, service
        if self._stores is not None:
            await service.migrate()
        key, _ = await asyncio.gather(service.create_key("sandbox"), service.start())
        return _facts(stage, service, key)

    async def stop(self) -> None:
        """Stop everything and leave nothing behind; harmless when it never started."""
        await self._stack.aclose()


def _upstreams(stage: Sandbox) -> Upstreams:
    return Upstreams(
        rpc_url=stage.rpc_url,
        relay_url=stage.relay_url,
        backup_relay_url=stage.backup_relay_url,
        venues=stage.venues,
        defillama_url=stage.defillama_url,
        coingecko_url=stage.coingecko_url,
    )


def _facts(stage: Sandbox, service: Service, key: str) -> dict[str, Any]:
    return {
        "baseUrl": service.url,
        "apiKey": key,
        "rpcUrl": stage.rpc_url,
        "relayUrl": stage.relay_url,
        "controlUrl": stage.control_url,
        "wallets": [
            {"address": wallet.address, "privateKey": wallet.private_key}
            for wallet in stage.wallets
        ],
        "tokens": dict(stage.tokens),
        "venues": dict(stage.venues),
        "settingsFile": str(service.settings),
    }
