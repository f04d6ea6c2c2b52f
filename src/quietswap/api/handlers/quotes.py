"""The handler of swap quotes."""

from quietswap.api.handlers.request import AuthenticatedRequest
from quietswap.api.request_parsing import parse_requests
from quietswap.api.responses import quotes
from quietswap.api.use_cases import UseCases
from quietswap.contract.quotes import SwapQuoteEnvelope
from quietswap.contract.requests import SwapQuoteQuery


async def swap_quote(use_cases: UseCases, request: AuthenticatedRequest) -> SwapQuoteEnvelope:
    """GET /api/v1/quote; `timestamp` is the issue time of the quote in Unix ms."""
    query = request.query_values(SwapQuoteQuery)
    quote = await use_cases.quote_swap(request.key, parse_requests.parse_swap_quote(query))
    data = quotes.swap_quote_response(quote)
    return SwapQuoteEnvelope(ok=True, data=data, timestamp=quote.issued_at_ms)
