"""The operations of tokens, balances and prices."""

from collections.abc import Mapping

from quietswap.rules.amounts import format_ether
from quietswap.rules.contract import request_limits
from quietswap.rules.contract import tokens as contract
from quietswap.rules.contract.quotes import PriceEnvelope
from quietswap.rules.contract.requests import BalancesQuery, PriceQuery, TokensQuery, WalletPath
from quietswap.rules.contract.tokens import BalancesEnvelope, TokensEnvelope
from quietswap.rules.contract.wraps import Balance
from quietswap.rules.errors.requests import InvalidParameter
from quietswap.rules.quotes.request import IndicativePriceRequest
from quietswap.rules.quotes.swap_tokens import parse_token
from quietswap.rules.tokens.token import WETH, TokenHolding, TokenPage, TokenView, WalletHoldings
from quietswap.rules.tx.address import Address
from quietswap.service.api.json import amount
from quietswap.service.api.operation import ApiRequest, operation
from quietswap.service.api.parsing import requests
from quietswap.service.api.parsing.query import shown
from quietswap.service.api.parsing.requests import parse_int, parse_swap_amounts
from quietswap.service.quoting import http as quoting_http


def tokens_response(page: TokenPage, limit: int, offset: int) -> contract.TokensResponse:
    end = offset + len(page.tokens)
    return contract.TokensResponse(
        tokens=tuple(map(_token, page.tokens)),
        total=page.total,
        has_more=end < page.total,
        pagination=contract.TokensPagination(limit=limit, offset=offset, next_offset=end),
    )


def _token(token: TokenView) -> contract.TokenEntry:
    return contract.TokenEntry(
        address=token.address,
        symbol=token.symbol,
        name=token.name,
        decimals=token.decimals,
        logo_uri=token.logo_uri,
        lists=token.lists,
        transfer_fee_bps=token.transfer_fee_bps,
        warnings=tuple(warning.value for warning in token.warnings),
    )


def balances_response(found: WalletHoldings) -> contract.BalancesResponse:
    return contract.BalancesResponse(
        user_address=found.wallet,
        block_number=found.block_number,
        eth=Balance(wei=amount(found.eth), ether=format_ether(found.eth)),
        tokens=tuple(map(_holding, found.tokens)),
    )


def _holding(held: TokenHolding) -> contract.TokenBalance:
    return contract.TokenBalance(
        address=held.token,
        symbol=held.details.symbol if held.details else "",
        decimals=held.details.decimals if held.details else None,
        balance=None if held.balance is None else amount(held.balance),
        allowances=tuple(
            contract.RouterAllowance(
                router=router, allowance=None if allowed is None else amount(allowed)
            )
            for router, allowed in held.allowances.items()
        ),
    )


def parse_search(query: Mapping[str, str]) -> str:
    """Return the text to search for, "" for all tokens. Raises InvalidParameter."""
    text = query.get("search", "")
    if len(text) > request_limits.MAX_SEARCH:
        raise InvalidParameter(
            parameter="search",
            provided=shown(text),
            reason=f"it is longer than {request_limits.MAX_SEARCH} characters",
            maximum=request_limits.MAX_SEARCH,
        )
    return text


def parse_token_list(query: Mapping[str, str]) -> tuple[Address, ...]:
    """Return the addresses of `tokens`, separated by commas; WETH where none is given.

    Raises InvalidTokenAddress, NativeEthNotSupported, and InvalidParameter for too many.
    """
    text = query.get("tokens")
    if text is None:
        return (WETH,)
    if text.count(",") >= request_limits.MAX_BALANCE_TOKENS:
        raise InvalidParameter(
            parameter="tokens",
            provided=shown(text),
            reason=f"it must have at most {request_limits.MAX_BALANCE_TOKENS} addresses",
            maximum=request_limits.MAX_BALANCE_TOKENS,
        )
    return tuple(parse_token(part.strip(), "tokens") for part in text.split(","))


def parse_price(query: Mapping[str, str]) -> IndicativePriceRequest:
    """Return the swap to price, by the rules of a quote without its wallet.

    Raises InvalidTokenAddress, NativeEthNotSupported, InvalidAmount, InvalidParameter.
    """
    sell, buy, amount = parse_swap_amounts(query)
    parse_int(query, PriceQuery, "chainId")
    sources = query.get("sources")
    if sources not in (None, "own"):
        raise InvalidParameter(
            parameter="sources", provided=shown(sources), reason="it must be own, or be left out"
        )
    return IndicativePriceRequest(sell, buy, amount, only_own=sources == "own")


@operation("GET /api/v1/tokens", "INVALID_PARAMETER SERVICE_UNAVAILABLE", query=TokensQuery)
async def token_list(request: ApiRequest) -> TokensEnvelope:
    """Listed tokens, and any token by its address, with warnings."""
    query = request.query_values(TokensQuery)
    search = parse_search(query)
    limit = requests.parse_int(query, TokensQuery, "limit")
    offset = requests.parse_int(query, TokensQuery, "offset")
    page = await request.use.list_tokens(request.key, search, limit, offset)
    return TokensEnvelope(ok=True, data=tokens_response(page, limit, offset))


@operation(
    "GET /api/v1/mev/balances/{userAddress}",
    "INVALID_ADDRESS INVALID_TOKEN_ADDRESS NATIVE_ETH_NOT_SUPPORTED INVALID_PARAMETER "
    "SERVICE_UNAVAILABLE",
    path_params=WalletPath,
    query=BalancesQuery,
)
async def token_balances(request: ApiRequest) -> BalancesEnvelope:
    """Balances and router allowances of a wallet at one block."""
    wallet = requests.parse_wallet(request.path_params["userAddress"])
    tokens = parse_token_list(request.query_values(BalancesQuery))
    holdings = await request.use.balances(request.key, wallet, tokens)
    return BalancesEnvelope(ok=True, data=balances_response(holdings))


@operation(
    "GET /api/v1/price",
    "INVALID_TOKEN_ADDRESS NATIVE_ETH_NOT_SUPPORTED INVALID_AMOUNT INVALID_PARAMETER "
    "INSUFFICIENT_LIQUIDITY TOKEN_NOT_SUPPORTED SERVICE_UNAVAILABLE",
    query=PriceQuery,
)
async def token_price(request: ApiRequest) -> PriceEnvelope:
    """Indicative price, without wallet, transaction or verification."""
    ask = parse_price(request.query_values(PriceQuery))
    price = await request.use.price(request.key, ask)
    data = quoting_http.price_response(price)
    return PriceEnvelope(ok=True, data=data, timestamp=price.asked_at_ms)
