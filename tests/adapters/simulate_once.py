"""A rehearsal begun and played at once."""

from collections.abc import Sequence

from quietswap.adapters.ethereum.node_chain import NodeChain
from quietswap.domain.quote.route import Route, RouteRequest
from quietswap.ports.simulation import SimulationResult


async def simulate_once(
    chain: NodeChain, request: RouteRequest, routes: Sequence[Route]
) -> Sequence[SimulationResult]:
    """Return one verdict per route."""
    spenders = list(dict.fromkeys(route.spender for route in routes))
    return await (await chain.prepare_simulation(request, spenders)).simulate(routes)
