"""A rehearsal begun and played at once."""

from collections.abc import Sequence

from quietswap.rules.chain.records import SimulationResult
from quietswap.rules.quotes.quote import Route, RouteRequest
from quietswap.service.node.chain import NodeChain


async def simulate_once(
    chain: NodeChain, request: RouteRequest, routes: Sequence[Route]
) -> Sequence[SimulationResult]:
    """Return one verdict per route."""
    spenders = list(dict.fromkeys(route.spender for route in routes))
    return await (await chain.prepare_simulation(request, spenders)).simulate(routes)
