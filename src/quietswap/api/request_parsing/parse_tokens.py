"""Queries about tokens, balances and prices to domain values."""

from collections.abc import Mapping

from quietswap.api.request_parsing.parse_requests import parse_int, parse_swap_amounts
from quietswap.api.request_parsing.query_string import shown
from quietswap.contract import limits
from quietswap.contract.requests import PriceQuery
from quietswap.domain.address import Address
from quietswap.domain.errors.request import InvalidParameter
from quietswap.domain.requests import IndicativePriceRequest
from quietswap.domain.token import WETH, parse_token


def parse_search(query: Mapping[str, str]) -> str:
    """Return the text to search for, "" for all tokens. Raises InvalidParameter."""
    text = query.get("search", "")
    if len(text) > limits.MAX_SEARCH:
        raise InvalidParameter(
            parameter="search",
            provided=shown(text),
            reason=f"it is longer than {limits.MAX_SEARCH} characters",
            maximum=limits.MAX_SEARCH,
        )
    return text


def parse_token_list(query: Mapping[str, str]) -> tuple[Address, ...]:
    """Return the addresses of `tokens`, separated by commas; WETH where none is given.

    Raises InvalidTokenAddress, NativeEthNotSupported, and InvalidParameter for too many.
    """
    text = query.get("tokens")
    if text is None:
        return (WETH,)
    if text.count(",") >= limits.MAX_BALANCE_TOKENS:
        raise InvalidParameter(
            parameter="tokens",
            provided=shown(text),
            reason=f"it names more than {limits.MAX_BALANCE_TOKENS} tokens",
            maximum=limits.MAX_BALANCE_TOKENS,
        )
    return tuple(parse_token(part.strip(), "tokens") for part in text.split(","))


def parse_price(query: Mapping[str, str]) -> IndicativePriceRequest:
    """Return the swap to price, by the rules of a quote without its wallet.

    Raises InvalidTokenAddress, NativeEthNotSupported, InvalidAmount, InvalidParameter.
    """
    sell, buy, amount = parse_swap_amounts(query)
    parse_int(query, PriceQuery, "chainId")
    return IndicativePriceRequest(sell, buy, amount)
