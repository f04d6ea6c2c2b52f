"""Routes through every step of the verification at once."""

from collections.abc import Sequence

from quietswap.rules.quotes.quote import Route, RouteRequest
from quietswap.service.quoting.verify import VerificationResult, VerifyRoutes


async def verify_once(
    verify: VerifyRoutes, request: RouteRequest, routes: Sequence[Route]
) -> list[VerificationResult]:
    """Return one verdict per route, in order."""
    prepared = await verify.prepare_simulation(request)
    checked = await verify.check(request, routes)
    safe = [one for one in checked if isinstance(one, Route)]
    results = await verify.simulate(prepared, safe) if safe else []
    judged = iter(verify.judge(request, list(zip(safe, results, strict=True))))
    return [next(judged) if isinstance(one, Route) else one for one in checked]
