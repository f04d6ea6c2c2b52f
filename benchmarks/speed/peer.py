"""A library that asks several aggregators, too, measured from the same upstreams as the service.

Its packages are no part of the project: `make bench` installs them into `peers/node_modules`.
"""

import asyncio
import json
from pathlib import Path

from benchmarks.speed.load import Result
from benchmarks.speed.stage import BUY, SELL, SELL_AMOUNT, SLIPPAGE_BPS, WALLETS, Stage
from benchmarks.speed.upstreams import wallet

NAME = "Balmy"
LACKS = "asks three of the four sources, stores and serves nothing"
"""What the peer leaves out of a quote."""
_FOLDER = Path(__file__).with_name("peers")
INSTALLED = _FOLDER / "node_modules" / ".installed"
"""What the Makefile touches when the packages are in place; its target of that name makes it so."""
_TARGET = "benchmarks/speed/peers/node_modules/.installed"
_LINE = 2**24
"""Bytes of an answer at most: every latency of a load."""


def missing() -> str | None:
    """Return what to do when the peer's packages are not installed; None when they are."""
    if INSTALLED.exists():
        return None
    return f"The packages of {NAME} are not installed: `make {_TARGET}`, or `make bench`, does it."


class Peer:
    """The running library, in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    async def ask(
        self, clients: int, count: int, *, estimate: bool = False
    ) -> tuple[Result, float]:
        """Let it make `count` quotes from `clients` at once; return figures and CPU seconds.

        `estimate`: have the gas of every transaction estimated, which shows that it goes through.
        Raises RuntimeError when a quote lacked a source, or a source its transaction.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        told = {"clients": clients, "count": count, "estimate": estimate}
        self._process.stdin.write(json.dumps(told).encode() + b"\n")
        return read(await self._process.stdout.readline())

    async def stop(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()


def read(line: bytes) -> tuple[Result, float]:
    """Return what a load met, and its CPU seconds. Raises RuntimeError unless all was good."""
    if not line:
        raise RuntimeError(f"{NAME} ended in an error")
    told = json.loads(line)
    cpu_s: float = told.pop("cpu_s")
    result = Result(**told)
    if set(result.statuses) != {"good"}:
        raise RuntimeError(f"{NAME}'s quotes were {result.statuses}, such as {result.last[:300]}")
    return result, cpu_s


def over(ours: float, theirs: float) -> float:
    """Return the ratio of two latencies beyond the limit.

    A peer that met the limit would make ours look good at any size: it counts as 0.01 ms beyond.
    """
    return ours / max(theirs, 0.01)


async def running_peer(stage: Stage) -> Peer:
    """Start the library; it ends with the stage."""
    process = await asyncio.create_subprocess_exec(
        "node", "balmy.mjs",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd=_FOLDER, limit=_LINE,
    )  # fmt: skip
    peer = Peer(process)
    stage.stack.push_async_callback(peer.stop)
    place = {
        "upstreams": stage.upstreams_url,
        "node": stage.sandbox.chain.url,
        "prices": stage.sandbox.urls["defillama"],
        "sell": SELL.address,
        "buy": BUY.address,
        "amount": str(SELL_AMOUNT),
        "slippage": SLIPPAGE_BPS / 100,
        "wallets": [wallet(number) for number in range(WALLETS)],
    }
    assert process.stdin is not None
    process.stdin.write(json.dumps(place).encode() + b"\n")
    return peer
