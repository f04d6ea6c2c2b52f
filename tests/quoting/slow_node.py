"""A node whose simulations take time, hang, lie or fail, and which tells what it was asked when."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from quietswap.rules.chain.records import AccountState, SimulationResult
from quietswap.rules.quotes.quote import Route, RouteRequest
from quietswap.rules.tx.address import Address
from quietswap.service.quoting.verify import VerifyRoutes
from tests.quoting.test_collect_routes import ROUTER, SENDER

NODE_S = 0.05


@dataclass
class SlowNode:
    """A node whose batches take `takes_s`, or what `slow` says of a route in them.

    Routes in `odd` end as said there: an exception for the whole batch, or their result. `blocks`
    are the blocks of the first batches; every later one runs on the last of them.
    """

    takes_s: float = NODE_S
    slow: dict[str, float] = field(default_factory=dict)
    odd: dict[str, SimulationResult | Exception] = field(default_factory=dict)
    blocks: list[str] = field(default_factory=lambda: ["1"])
    unreadable: Exception | None = None
    prepares_s: float = 0.0
    batches: list[tuple[float, list[str]]] = field(default_factory=list)
    sender: AccountState = SENDER
    next_base_fee: int = 10**9
    started: float = 0.0

    async def prepare_simulation(
        self, request: RouteRequest, spenders: Sequence[Address]
    ) -> "SlowNode":
        self.started = asyncio.get_running_loop().time()
        await asyncio.sleep(self.prepares_s)
        if self.unreadable:
            raise self.unreadable
        return self

    async def simulate(self, candidates: Sequence[Route]) -> Sequence[SimulationResult]:
        names = [route.source for route in candidates]
        block = self.blocks[min(len(self.batches), len(self.blocks) - 1)]
        at = asyncio.get_running_loop().time() - self.started
        self.batches.append((round(at, 3), sorted(names)))
        await asyncio.sleep(max(self.slow.get(name, self.takes_s) for name in names))
        return [self._one(route, block) for route in candidates]

    def _one(self, route: Route, block: str) -> SimulationResult:
        odd = self.odd.get(route.source)
        if isinstance(odd, Exception):
            raise odd
        return odd or SimulationResult(True, route.buy_amount, 150_000, block=block)


def verifying(node: SlowNode, *, required: bool = False) -> VerifyRoutes:
    pinned = {name: [ROUTER] for name in "abcd"}
    return VerifyRoutes(node, pinned, required=required)  # type: ignore[arg-type]
