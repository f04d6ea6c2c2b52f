"""One anvil process on a loopback port, and what every child process of the sandbox needs."""

import asyncio
import contextlib
import ctypes
import os
import re
import signal
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

from quietswap.sandbox.npm import find_anvil
from quietswap.sandbox.rpc import SandboxRpcClient

GAS_LIMIT = 60_000_000
"""Gas per block, as on mainnet since late 2025."""
BASE_FEE = 1_000_000_000
"""Wei per gas of the first block: 1 gwei."""

_PR_SET_PDEATHSIG = 1
_LISTENING = re.compile(rb"Listening on 127\.0\.0\.1:(\d+)")
_START_SECONDS = 15
_LAST_LINES = 8

Order = Literal["fees", "fifo"]


class AnvilFailed(Exception):
    """anvil did not start; the message ends with its last output."""


@dataclass(frozen=True, slots=True)
class Anvil:
    """A running process: `url` is its JSON-RPC endpoint."""

    url: str
    port: int
    process: asyncio.subprocess.Process
    drain: asyncio.Task[None]
    output: deque[bytes]
    """The last lines of its output."""

    async def ended(self) -> str:
        code = await self.process.wait()
        await self.drain
        tail = b"".join(self.output).decode(errors="replace").strip() or "no output"
        return f"the chain (anvil) ended with exit code {code}: {tail}"

    async def stop(self) -> None:
        await end_process(self.process, 5)
        await self.drain


async def start_anvil(
    genesis_time: int, port: int = 0, order: Order = "fees", chain_id: int = 1
) -> Anvil:
    """Start anvil as chain `chain_id` without automatic mining; port 0 takes a free port.

    `genesis_time` is the timestamp of the first block, in Unix seconds. `order` sorts the
    transactions of a block by priority fee or by arrival.
    Raises MissingPackage when there is no binary, AnvilFailed when it does not start.
    """
    process = await asyncio.create_subprocess_exec(
        find_anvil(),
        *("--host", "127.0.0.1", "--port", str(port), "--chain-id", str(chain_id)),
        *("--no-mining", "--order", order, "--enable-tx-gas-limit"),
        *("--gas-limit", str(GAS_LIMIT), "--base-fee", str(BASE_FEE)),
        *("--timestamp", str(genesis_time), "--balance", "1000", "--no-cors"),
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
        await end_process(process, 0)
        raise
    output: deque[bytes] = deque(maxlen=_LAST_LINES)
    draining = asyncio.create_task(drain(process.stdout, output))
    return Anvil(f"http://127.0.0.1:{bound}", bound, process, draining, output)


async def _listening_port(output: asyncio.StreamReader, wanted: int) -> int:
    lines: list[bytes] = []
    async for line in output:
        if match := _LISTENING.search(line):
            return int(match[1])
        lines.append(line)
    tail = b"".join(lines[-3:]).decode(errors="replace").strip()
    raise AnvilFailed(f"anvil did not start on port {wanted}: {tail or 'no output'}")


async def drain(pipe: asyncio.StreamReader, output: deque[bytes]) -> None:
    """A full pipe would block the node."""
    while read := await pipe.read(65536):
        output.extend(read.splitlines(keepends=True)[-_LAST_LINES:])


async def end_process(process: asyncio.subprocess.Process, grace_s: float) -> None:
    """Send SIGTERM, after `grace_s` seconds SIGKILL, and wait. Does nothing when it has ended."""
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), grace_s)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def die_with_parent() -> Callable[[], None] | None:
    """Return a `preexec_fn` that has the child killed when its parent dies.

    Linux only (prctl(2), PR_SET_PDEATHSIG). On other systems only an orderly stop ends it.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def bind() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # the parent died before prctl took effect
            os._exit(1)

    return bind


BASE_FEE_FLOOR = 1_000_000_000
"""Wei per gas (1 gwei). Without a floor the fee of nearly empty blocks falls to 7 wei."""


async def mine(rpc: SandboxRpcClient, timestamp: int | None = None) -> int:
    """Mine the pending transactions into one block and return its number.

    Its timestamp (Unix seconds) is `timestamp` or the present, and at least one second after its
    parent's. The next block's base fee follows EIP-1559, but is at least BASE_FEE_FLOOR.
    """
    earliest = int((await rpc.head())["timestamp"], 16) + 1
    clock_s = int(time.time()) if timestamp is None else timestamp
    await rpc.call("evm_mine", {"timestamp": max(earliest, clock_s)})
    head = await rpc.head()
    await hold_base_fee(rpc, head)
    return int(head["number"], 16)


async def hold_base_fee(rpc: SandboxRpcClient, head: dict[str, str]) -> None:
    """Raise the fee of the block after `head` to the floor when it would be lower."""
    fee, target = int(head["baseFeePerGas"], 16), int(head["gasLimit"], 16) // 2
    following = fee + fee * (int(head["gasUsed"], 16) - target) // target // 8
    if following < BASE_FEE_FLOOR:
        await rpc.call("anvil_setNextBlockBaseFeePerGas", hex(BASE_FEE_FLOOR))


class ReadWriteLock:
    """A lock with many readers (`visit`) or one writer (`build`). Waiting writers go first.

    During a build the node's mempool holds private transactions, which readers must not see.
    """

    def __init__(self) -> None:
        self._visitors = 0
        self._builders = 0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def visit(self) -> AsyncIterator[None]:
        async with self._changed:
            await self._changed.wait_for(lambda: not self._builders)
            self._visitors += 1
        try:
            yield
        finally:
            self._visitors -= 1
            await self._notify()

    @asynccontextmanager
    async def build(self) -> AsyncIterator[None]:
        self._builders += 1
        try:
            async with self._changed:
                await self._changed.wait_for(lambda: not self._visitors)
                yield
        finally:
            self._builders -= 1
            await self._notify()

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()
