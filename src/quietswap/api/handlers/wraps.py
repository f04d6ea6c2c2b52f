"""The handlers that wrap and unwrap ETH."""

from quietswap.api.handlers.request import AuthenticatedRequest
from quietswap.api.request_parsing import parse_requests
from quietswap.api.responses import wraps
from quietswap.api.use_cases import UseCases
from quietswap.contract.requests import WrapInfoQuery
from quietswap.contract.wraps import (
    WrapInfoEnvelope,
    WrapOrderData,
    WrapOrderEnvelope,
    WrapQuoteData,
    WrapQuoteEnvelope,
)


async def wrap_info(use_cases: UseCases, request: AuthenticatedRequest) -> WrapInfoEnvelope:
    """GET /api/v1/mev/wrap/info."""
    query = request.query_values(WrapInfoQuery)
    wallet = parse_requests.parse_required_wallet(query)
    balances = await use_cases.wrap_info(request.key, wallet)
    return WrapInfoEnvelope(ok=True, data=wraps.wrap_info_response(balances))


async def wrap_quote(use_cases: UseCases, request: AuthenticatedRequest) -> WrapQuoteEnvelope:
    """POST /api/v1/mev/wrap/quote."""
    wrap_request = parse_requests.parse_wrap_quote(request.body)
    quote = await use_cases.quote_wrap(request.key, wrap_request)
    data = WrapQuoteData(quote=wraps.wrap_quote_response(quote))
    return WrapQuoteEnvelope(ok=True, data=data)


async def wrap_order(use_cases: UseCases, request: AuthenticatedRequest) -> WrapOrderEnvelope:
    """POST /api/v1/mev/wrap/order."""
    wrap_request = parse_requests.parse_wrap_order(request.body)
    submitted = await use_cases.submit_wrap(request.key, wrap_request)
    return WrapOrderEnvelope(
        ok=True, data=WrapOrderData(order=wraps.wrap_order_response(submitted))
    )
