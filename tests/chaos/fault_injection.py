"""What is done to the service and to the world around it, at instants only the seed knows."""

import asyncio
import random
import sys

from quietswap.sandbox.block_builder import ReorgTooDeep
from quietswap.sandbox.faults import NODE, RELAYS
from quietswap.sandbox.network import SandboxNetwork
from quietswap.sandbox.stack import ServiceFailed
from tests.chaos.environment import Victim

DEEPEST = 6
_RELAY = (
    "lose", "delay:300", "delay:2500", "answer_lost", "half_answer", "500", "429", "garbage",
    "already_known", "failed_then_mine:2", "failed_then_mine:6", "down", "hang", "withhold",
    "refuse:transaction underpriced", "refuse:nonce too low", "refuse:internal error",
)  # fmt: skip
_NODE = (
    "lag:1", "lag:2", "lag:5", "fork:2", "flap:0.2", "flap:0.6", "500", "delay:300", "down",
    "late_receipts", "empty_receipts", "half_answer",
)  # fmt: skip


class Faults:
    """Switches faults on and off: each part is well about half of the time."""

    def __init__(self, sandbox: SandboxNetwork, seed: str) -> None:
        self._board = sandbox.board
        self._chance = random.Random(seed)
        self.switched = 0

    async def run(self, over: asyncio.Event) -> None:
        """Go on until `over`, then leave every part well."""
        while not over.is_set():
            self._switch()
            await asyncio.sleep(self._chance.uniform(0.1, 0.8))
        for part in (*RELAYS, *NODE):
            self._board.clear(part)

    def _switch(self) -> None:
        part = self._chance.choice((*RELAYS, *NODE, *NODE))
        if self._chance.random() < 0.5:
            self._board.clear(part)
            return
        self._board.put(part, self._chance.choice(_RELAY if part in RELAYS else _NODE))
        self.switched += 1


class Reorgs:
    """Replaces the newest blocks every now and then."""

    def __init__(self, sandbox: SandboxNetwork, seed: str) -> None:
        self._builder = sandbox.builder
        self._chance = random.Random(seed)
        self.depths: list[int] = []

    async def run(self, over: asyncio.Event) -> None:
        """Go on until `over`."""
        while not over.is_set():
            await asyncio.sleep(self._chance.uniform(0.5, 4))
            depth = self._chance.randint(1, DEEPEST)
            try:
                await self._builder.reorg(depth)
            except ReorgTooDeep:
                continue
            self.depths.append(depth)


class Killer:
    """Kills the service and starts it again; some starts do not live to answer once."""

    def __init__(self, victim: Victim, seed: str) -> None:
        self._victim = victim
        self._chance = random.Random(seed)
        self.kills = 0
        self.of_servers = 0
        """How many of the kills left the worker to find out by itself."""
        self.of_workers = 0
        """How many of the kills left the server alone, which had to start its worker anew."""

    async def run(self, kills: int) -> None:
        """Kill `kills` times; the service runs when this returns. Raises ServiceFailed."""
        while self.kills < kills:
            await asyncio.sleep(self._chance.uniform(0, 2.5))
            self.kills += 1
            is_worker = self._chance.random() < 0.25 and self._victim.kill_worker()
            self.of_workers += is_worker
            if not is_worker:
                await self._restart()
            if self.kills == kills or self._chance.random() < 0.8:
                await self._ready(may_end=is_worker)

    async def _restart(self) -> None:
        """Kill everything, or the server alone: then old and new overlap for a moment."""
        if sys.platform == "linux" and self._chance.random() < 0.2:
            self.of_servers += 1
            await self._victim.kill_server()
        else:
            await self._victim.kill()
        await self._victim.launch()

    async def _ready(self, *, may_end: bool) -> None:
        """Wait for the service; a server that lost two workers in a row ends by intent."""
        try:
            await self._victim.ready()
        except ServiceFailed:
            if not may_end:
                raise
            await self._victim.launch()
            await self._victim.ready()
