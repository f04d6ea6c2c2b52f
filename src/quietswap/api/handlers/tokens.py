"""The handlers of tokens, balances and indicative prices. They change nothing."""

from quietswap.api.handlers.request import AuthenticatedRequest
from quietswap.api.request_parsing import parse_requests, parse_tokens
from quietswap.api.responses import prices, tokens
from quietswap.api.use_cases import UseCases
from quietswap.contract.prices import PriceEnvelope
from quietswap.contract.requests import BalancesQuery, PriceQuery, TokensQuery
from quietswap.contract.tokens import BalancesEnvelope, TokensEnvelope


async def list_tokens(use_cases: UseCases, request: AuthenticatedRequest) -> TokensEnvelope:
    """GET /api/v1/tokens."""
    query = request.query_values(TokensQuery)
    search = parse_tokens.parse_search(query)
    limit = parse_requests.parse_int(query, TokensQuery, "limit")
    offset = parse_requests.parse_int(query, TokensQuery, "offset")
    page = await use_cases.list_tokens(request.key, search, limit, offset)
    return TokensEnvelope(ok=True, data=tokens.tokens_response(page, limit, offset))


async def balances(use_cases: UseCases, request: AuthenticatedRequest) -> BalancesEnvelope:
    """GET /api/v1/mev/balances/:userAddress."""
    wallet = parse_requests.parse_wallet(request.path_params["userAddress"])
    asked = parse_tokens.parse_token_list(request.query_values(BalancesQuery))
    found = await use_cases.balances(request.key, wallet, asked)
    return BalancesEnvelope(ok=True, data=tokens.balances_response(found))


async def price(use_cases: UseCases, request: AuthenticatedRequest) -> PriceEnvelope:
    """GET /api/v1/price; `timestamp` is when the sources were asked, in Unix ms."""
    ask = parse_tokens.parse_price(request.query_values(PriceQuery))
    found = await use_cases.price(request.key, ask)
    data = prices.price_response(found)
    return PriceEnvelope(ok=True, data=data, timestamp=found.asked_at_ms)
