"""One geth process (https://geth.ethereum.org) that makes its own blocks from a genesis file.

It mines in its developer mode, a block each period, with the rules of the genesis. A transaction
without a tip is taken, as private relays do it; a node of mainnet refuses it.
"""

import asyncio
import json
import os
import re
import shutil
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quietswap.sandbox.chain.anvil import die_with_parent, drain, end_process
from quietswap.sandbox.npm import MissingPackage, cache_folder
from quietswap.sandbox.ports import free_port

VERSION = "1.17.10"
MODULE = "github.com/ethereum/go-ethereum/cmd/geth"

_START_SECONDS = 60
_STOP_SECONDS = 20
_LAST_LINES = 12
_SERVING = re.compile(rb"HTTP server started")
_LOGGED = 8 * 1024 * 1024
_INIT = ("init", "--db.engine", "leveldb")


class GethFailed(Exception):
    """geth did not start; the message ends with its last output."""


def installed_geth() -> Path:
    """Return where `make nodes` puts the binary of this version."""
    return cache_folder() / f"geth-{VERSION}" / "geth"


def find_geth() -> str:
    """Return the path of a geth binary.

    Search order: the environment variable QUIETSWAP_GETH, the user's cache, the PATH. Raises
    MissingPackage.
    """
    if chosen := os.environ.get("QUIETSWAP_GETH"):
        if os.access(chosen, os.X_OK):
            return chosen
        raise MissingPackage(f"QUIETSWAP_GETH={chosen} is not an executable file")
    if os.access(installed_geth(), os.X_OK):
        return str(installed_geth())
    if on_path := shutil.which("geth"):
        return on_path
    raise MissingPackage(
        f"geth is not installed: with Go, run `GOBIN={installed_geth().parent} go install "
        f"{MODULE}@v{VERSION}` (in a clone of the project: `make nodes`), or set QUIETSWAP_GETH"
    )


@dataclass(eq=False)
class Geth:
    """A node of chain 1 in `folder`; `url` is its JSON-RPC endpoint, the same after a restart.

    `period` is the time between blocks, in seconds; 0 runs it without blocks of its own, as a node
    that no longer gets new ones. `options` are further options of geth.
    """

    folder: Path
    period: int = 1
    options: tuple[str, ...] = ()
    port: int = field(default_factory=free_port)
    output: deque[bytes] = field(default_factory=lambda: deque(maxlen=_LAST_LINES))
    _process: Process | None = None
    _drain: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def process(self) -> Process:
        assert self._process is not None
        return self._process

    async def init(self, genesis: dict[str, Any]) -> None:
        """Write the first block of the chain. Raises GethFailed and MissingPackage."""
        file = self.folder / "genesis.json"
        file.write_text(json.dumps(genesis), "utf-8")
        process = await self._run(*_INIT, "--datadir", str(self._data), str(file))
        told, _ = await process.communicate()
        if process.returncode:
            raise GethFailed(f"geth did not take its genesis: {_tail(told.splitlines())}")

    async def start(self) -> None:
        """Start the node, and return when it answers. Raises GethFailed and MissingPackage."""
        mines = ("--dev", "--dev.period", str(self.period)) if self.period else ()
        self._process = await self._run(
            *mines, *self.options,
            "--datadir", str(self._data), "--db.engine", "leveldb", "--networkid", "1",
            "--http", "--http.addr", "127.0.0.1", "--http.port", str(self.port),
            "--http.api", "eth,net,web3,debug,txpool", "--ipcpath", str(self._socket),
            "--authrpc.port", str(free_port()), "--port", "0", "--nodiscover", "--maxpeers", "0",
            "--syncmode", "full", "--cache", "64",
        )  # fmt: skip
        try:
            await asyncio.wait_for(self._until_it_serves(), _START_SECONDS)
        except BaseException:
            await end_process(self.process, 0)
            raise
        self._drain = asyncio.create_task(drain(self._pipe, self.output))
        if self.period:
            await self.ipc("miner_setGasPrice", "0x0")  # or its pool refuses a tip of 0

    async def stop(self) -> None:
        """End it in an orderly way, so that it keeps its blocks. Does nothing when it has ended."""
        await self._end(_STOP_SECONDS)

    async def kill(self) -> None:
        """End it as a power cut would: it loses the blocks that it had only in memory."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        await self._end(0)

    async def ended(self) -> str:
        code = await self.process.wait()
        if self._drain is not None:
            await self._drain
        return f"the chain (geth) ended with exit code {code}: {_tail(self.output)}"

    async def ipc(self, method: str, *params: Any) -> Any:
        """Call a method that only the node's own socket offers. Raises GethFailed."""
        reader, writer = await asyncio.open_unix_connection(self._socket)
        try:
            call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            writer.write(json.dumps(call).encode() + b"\n")
            answer = json.loads(await asyncio.wait_for(reader.readline(), _START_SECONDS))
        finally:
            writer.close()
        if "error" in answer:
            raise GethFailed(f"{method}: {answer['error']}")
        return answer["result"]

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def _socket(self) -> Path:
        return self.folder / "ipc"

    @property
    def _pipe(self) -> asyncio.StreamReader:
        assert self.process.stdout is not None
        return self.process.stdout

    async def _run(self, *words: str) -> Process:
        return await asyncio.create_subprocess_exec(
            find_geth(), *words, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, limit=_LOGGED,
            preexec_fn=die_with_parent(), start_new_session=True,
        )  # fmt: skip

    async def _until_it_serves(self) -> None:
        async for line in self._pipe:
            self.output.append(line)
            if _SERVING.search(line):
                break
        else:
            raise GethFailed(f"geth did not start: {_tail(self.output)}")

    async def _end(self, grace_s: float) -> None:
        if self._process is None:
            return
        await end_process(self._process, grace_s)
        if self._drain is not None:
            await self._drain


def _tail(lines: Any) -> str:
    text = b"\n".join(line.strip() for line in list(lines)[-_LAST_LINES:])
    return text.decode(errors="replace").strip() or "no output"
