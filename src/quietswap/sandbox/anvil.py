"""One anvil process on a free loopback port, which never outlives the process that started it."""

import asyncio
import contextlib
import ctypes
import os
import re
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from quietswap.sandbox.npm import find_anvil

GAS_LIMIT = 60_000_000
"""Gas per block, as on mainnet since late 2025."""
BASE_FEE = 1_000_000_000
"""Wei per gas of the first block: 1 gwei."""

_PR_SET_PDEATHSIG = 1
_LISTENING = re.compile(rb"Listening on 127\.0\.0\.1:(\d+)")
_START_SECONDS = 15

Order = Literal["fees", "fifo"]


class AnvilFailed(Exception):
    """anvil did not start; the message carries its last words."""


@dataclass(frozen=True, slots=True)
class Anvil:
    """A running process: `url` is its JSON-RPC endpoint."""

    url: str
    port: int
    process: asyncio.subprocess.Process
    drain: asyncio.Task[None]

    async def stop(self) -> None:
        """End the process and wait until it is gone; harmless when it already is."""
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        try:
            await asyncio.wait_for(self.process.wait(), 5)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
        await self.drain


async def start_anvil(genesis_time: int, port: int = 0, order: Order = "fees") -> Anvil:
    """Start anvil as chain 1 without mining of its own; port 0 lets the system choose one.

    `genesis_time` is the first block's, in Unix seconds. `order` says how waiting transactions
    enter a block: by priority fee or by arrival.
    Raises MissingPackage when there is no binary, AnvilFailed when it does not come up.
    """
    process = await asyncio.create_subprocess_exec(
        find_anvil(),
        *("--host", "127.0.0.1", "--port", str(port), "--chain-id", "1"),
        *("--no-mining", "--order", order, "--enable-tx-gas-limit"),
        *("--gas-limit", str(GAS_LIMIT), "--base-fee", str(BASE_FEE)),
        *("--timestamp", str(genesis_time), "--balance", "1000"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        preexec_fn=die_with_parent(),
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        bound = await asyncio.wait_for(_listening_port(process.stdout, port), _START_SECONDS)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        raise
    drain = asyncio.create_task(_drain(process.stdout))
    return Anvil(f"http://127.0.0.1:{bound}", bound, process, drain)


async def _listening_port(output: asyncio.StreamReader, wanted: int) -> int:
    lines: list[bytes] = []
    async for line in output:
        if match := _LISTENING.search(line):
            return int(match[1])
        lines.append(line)
    tail = b"".join(lines[-3:]).decode(errors="replace").strip()
    raise AnvilFailed(f"anvil did not start on port {wanted}: {tail or 'it said nothing'}")


async def _drain(output: asyncio.StreamReader) -> None:
    """Read on, because a full pipe would stop the node."""
    while await output.read(65536):
        pass


def die_with_parent() -> Callable[[], None] | None:
    """Return the `preexec_fn` of a child process that is to be killed when its parent dies.

    Linux only (prctl(2), PR_SET_PDEATHSIG); elsewhere only an orderly stop ends the node.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def bind() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the bond held
            os._exit(1)

    return bind
