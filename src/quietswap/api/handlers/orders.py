"""The handlers of swap orders: submission, status, cancellation and history."""

from quietswap.api.handlers.request import AuthenticatedRequest
from quietswap.api.request_parsing import parse_requests
from quietswap.api.responses import cancels, orders
from quietswap.api.responses.encoded_orders import encoded_order_history, encoded_order_status
from quietswap.api.use_cases import UseCases
from quietswap.contract.base import RawEnvelope
from quietswap.contract.cancels import CancelOrderEnvelope, CancelQuoteEnvelope
from quietswap.contract.orders import SwapOrderEnvelope
from quietswap.contract.requests import OrderHistoryQuery


async def swap_order(use_cases: UseCases, request: AuthenticatedRequest) -> SwapOrderEnvelope:
    """POST /api/v1/mev/orders."""
    submission = parse_requests.parse_swap_order(request.body)
    submitted = await use_cases.submit_swap(request.key, submission)
    return SwapOrderEnvelope(ok=True, data=orders.swap_order_response(submitted))


async def order_status(use_cases: UseCases, request: AuthenticatedRequest) -> RawEnvelope:
    """GET /api/v1/mev/orders/:orderId."""
    order_id = parse_requests.parse_order_id(request.path_params["orderId"])
    data = await use_cases.order_status(request.key, order_id, encoded_order_status)
    return RawEnvelope(ok=True, data=data)


async def order_cancel(
    use_cases: UseCases, request: AuthenticatedRequest
) -> CancelQuoteEnvelope | CancelOrderEnvelope:
    """POST /api/v1/mev/orders/:orderId/cancel."""
    order_id = parse_requests.parse_order_id(request.path_params["orderId"])
    submission = parse_requests.parse_cancel_order(order_id, request.body)
    if submission is None:
        quote = await use_cases.quote_cancel(request.key, order_id)
        return CancelQuoteEnvelope(ok=True, data=cancels.cancel_quote_response(quote))
    submitted = await use_cases.submit_cancel(request.key, submission)
    return CancelOrderEnvelope(ok=True, data=cancels.cancel_order_response(submitted))


async def order_history(use_cases: UseCases, request: AuthenticatedRequest) -> RawEnvelope:
    """GET /api/v1/mev/orders/user/:userAddress."""
    wallet = parse_requests.parse_wallet(request.path_params["userAddress"])
    query = request.query_values(OrderHistoryQuery)
    limit = parse_requests.parse_int(query, OrderHistoryQuery, "limit")
    offset = parse_requests.parse_int(query, OrderHistoryQuery, "offset")
    status = parse_requests.parse_status_filter(query)
    kind = parse_requests.parse_kind_filter(query)
    page = await use_cases.order_history(
        request.key, wallet, status, limit, offset, kind, encoded_order_history
    )
    return RawEnvelope(ok=True, data=page.data)
