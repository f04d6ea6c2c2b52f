"""A rehearsal begun and played at once."""

from collections.abc import Sequence

from quietswap.adapters.chain import NodeChain
from quietswap.domain.route import Route, SwapRequest
from quietswap.ports.outside import Simulation


async def rehearsed(
    chain: NodeChain, request: SwapRequest, routes: Sequence[Route]
) -> Sequence[Simulation]:
    """Return one verdict per route."""
    spenders = list(dict.fromkeys(route.spender for route in routes))
    return await (await chain.rehearse(request, spenders)).simulate(routes)
