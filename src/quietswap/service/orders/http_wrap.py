"""The handlers that wrap and unwrap ETH."""

from quietswap.rules.contract import requests as shapes
from quietswap.rules.contract.wraps import (
    WrapInfoEnvelope,
    WrapOrderData,
    WrapOrderEnvelope,
    WrapQuoteData,
    WrapQuoteEnvelope,
)
from quietswap.service.api.operation import ApiRequest, operation
from quietswap.service.api.parsing import requests
from quietswap.service.orders.http import (
    wrap_info_response,
    wrap_order_response,
    wrap_quote_response,
)


@operation(
    "GET /api/v1/mev/wrap/info",
    "INVALID_ADDRESS INVALID_PARAMETER MISSING_PARAMETER SERVICE_UNAVAILABLE",
    query=shapes.WrapInfoQuery,
)
async def wrap_info(request: ApiRequest) -> WrapInfoEnvelope:
    """ETH and WETH balances of a wallet."""
    query = request.query_values(shapes.WrapInfoQuery)
    wallet = requests.parse_required_wallet(query)
    balances = await request.use.wrap_info(request.key, wallet)
    return WrapInfoEnvelope(ok=True, data=wrap_info_response(balances))


@operation(
    "POST /api/v1/mev/wrap/quote",
    "INVALID_OPERATION INVALID_AMOUNT INVALID_ADDRESS INVALID_PARAMETER MISSING_PARAMETER "
    "WALLET_NOT_ALLOWED TOKEN_NOT_ALLOWED QUOTE_LIMIT_EXCEEDED SERVICE_UNAVAILABLE",
    body=shapes.WrapQuoteBody,
)
async def wrap_quote(request: ApiRequest) -> WrapQuoteEnvelope:
    """A transaction that wraps or unwraps ETH."""
    wrap_request = requests.parse_wrap_quote(request.body)
    quote = await request.use.quote_wrap(request.key, wrap_request)
    data = WrapQuoteData(quote=wrap_quote_response(quote))
    return WrapQuoteEnvelope(ok=True, data=data)


@operation(
    "POST /api/v1/mev/wrap/order",
    "MISSING_PARAMETER INVALID_SIGNATURE INSUFFICIENT_BALANCE NONCE_TOO_LOW INVALID_TRANSACTION "
    "WALLET_NOT_ALLOWED TOKEN_NOT_ALLOWED OPEN_ORDER_LIMIT_EXCEEDED PROVIDER_UNAVAILABLE",
    body=shapes.WrapOrderBody,
)
async def wrap_order(request: ApiRequest) -> WrapOrderEnvelope:
    """Submit a signed wrap or unwrap privately."""
    wrap_request = requests.parse_wrap_order(request.body)
    submitted = await request.use.submit_wrap(request.key, wrap_request)
    return WrapOrderEnvelope(ok=True, data=WrapOrderData(order=wrap_order_response(submitted)))
