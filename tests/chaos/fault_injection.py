"""What is done to the service and to the world around it, at instants only the seed knows."""

import asyncio
import random
import sys
from collections.abc import Mapping, Sequence

from quietswap.sandbox.block_builder import ReorgTooDeep
from quietswap.sandbox.faults import NODE, RELAYS
from quietswap.sandbox.network import SandboxNetwork
from quietswap.sandbox.stack import ServiceFailed
from tests.chaos.environment import Victim
from tests.fake_web import Answer
from tests.reports.proxy import RpcProxy, Trouble, every_second, late, limited, odd_entries, says
from tests.reports.relay_cases import CASES

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


_REPORTED = {
    "node": (
        late(1, 0.3), every_second(2), limited(3, "batch limit 3 exceeded"),
        limited(5, "batch of more than 5 requests", in_each=True),
        odd_entries(0.1, {"code": -32005, "message": "rate limit exceeded"}),
        odd_entries(0.1, "daily request count exceeded"),
        says(Answer(b"<html>502 Bad Gateway</html>", 502, "text/html"), 0.3),
        says(Answer(b"invalid host specified"), 0.2),
    ),
    "relay": tuple(says(case.answer, 0.7) for case in CASES),
}  # fmt: skip
"""What people reported of nodes and relays, by the kind of part."""


class Faults:
    """Switches faults on and off: each part is well about half of the time.

    The proxies in front of node and relays have troubles of their own, at the same time.
    """

    def __init__(
        self,
        sandbox: SandboxNetwork,
        proxies: Mapping[str, RpcProxy],
        seed: str,
        odd_nodes: Sequence[Trouble] = (),
    ) -> None:
        """`odd_nodes` are further troubles of a node, as often as all others together."""
        self._active_faults = sandbox.active_faults
        self._proxies = proxies
        self._chance = random.Random(seed)
        self._odd_nodes = odd_nodes
        self.switched = 0

    async def run(self, over: asyncio.Event) -> None:
        """Go on until `over`, then leave every part well."""
        while not over.is_set():
            self._switch()
            await asyncio.sleep(self._chance.uniform(0.1, 0.8))
        for part in (*RELAYS, *NODE):
            self._active_faults.clear(part)
            self._proxies[part].trouble = None

    def _switch(self) -> None:
        part = self._chance.choice((*RELAYS, *NODE, *NODE))
        if part in NODE and self._odd_nodes and self._chance.random() < 0.5:
            is_well = self._chance.random() < 0.5
            self._proxies[part].trouble = None if is_well else self._chance.choice(self._odd_nodes)
            return
        if self._chance.random() < 0.5:
            self._proxies[part].trouble = self._chance.choice(
                (None, *_REPORTED["node" if part in NODE else "relay"])
            )
            return
        if self._chance.random() < 0.5:
            self._active_faults.clear(part)
            return
        self._active_faults.put(part, self._chance.choice(_RELAY if part in RELAYS else _NODE))
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
