"""The handler that shows a client its limits and its usage."""

from quietswap.api.handlers.request import AuthenticatedRequest
from quietswap.api.responses.usage import usage_response
from quietswap.api.use_cases import UseCases
from quietswap.contract.usage import UsageEnvelope


async def usage(use_cases: UseCases, request: AuthenticatedRequest) -> UsageEnvelope:
    """GET /api/v1/mev/usage."""
    key = request.key
    used = await use_cases.usage(key)
    return UsageEnvelope(ok=True, data=usage_response(used, key.scope, request.client_window))
