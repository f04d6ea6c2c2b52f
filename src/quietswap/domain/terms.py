"""The values a submission must repeat, by the dotted names they have on the wire."""

from typing import Any

from quietswap.domain.amounts import format_ether
from quietswap.domain.quote import IssuedQuote, QuoteKind, SwapQuote, WrapQuote
from quietswap.domain.transaction import MAINNET


def swap_terms(quote: SwapQuote) -> dict[str, Any]:
    """Return what `orderParams` of a swap order must say."""
    return {
        "fromToken": quote.sell_token,
        "toToken": quote.buy_token,
        "amount": str(quote.sell_amount),
        "minReturnAmount": str(quote.min_buy_amount),
        "userAddress": quote.wallet,
        "chainId": MAINNET,
        "slippageBps": quote.slippage_bps,
        "selectedTier": quote.protection.tier,
        "dexRoute.target": quote.route.target,
        "dexRoute.data": "0x" + quote.route.data.hex(),
        "buyAmount": str(quote.buy_amount),
    }


def wrap_terms(quote: WrapQuote) -> dict[str, Any]:
    """Return what a wrap order must say."""
    return {
        "operation": quote.operation.value,
        "amount": format_ether(quote.amount),
        "userAddress": quote.wallet,
    }


def issued_swap(quote: SwapQuote, key_id: str, quote_id: str, validity_ms: int) -> IssuedQuote:
    """Return what is stored of a swap quote before the client sees it."""
    until_ms = quote.issued_at_ms + validity_ms
    return _issued(quote, QuoteKind.SWAP, key_id, quote_id, until_ms, swap_terms(quote))


def issued_wrap(quote: WrapQuote, key_id: str) -> IssuedQuote:
    """Return what is stored of a wrap quote before the client sees it."""
    until_ms = quote.valid_until_ms
    return _issued(quote, QuoteKind.WRAP, key_id, quote.quote_id, until_ms, wrap_terms(quote))


def _issued(  # noqa: PLR0917  one record, filled in its own order
    quote: SwapQuote | WrapQuote,
    kind: QuoteKind,
    key_id: str,
    quote_id: str,
    valid_until_ms: int,
    terms: dict[str, Any],
) -> IssuedQuote:
    return IssuedQuote(
        quote_id=quote_id,
        kind=kind,
        key_id=key_id,
        params=quote.params,
        wallet=quote.wallet,
        endpoint_type=quote.protection.endpoint_type.value,
        share_mode=quote.protection.share_mode.value,
        tier=quote.protection.tier,
        issued_at_ms=quote.issued_at_ms,
        valid_until_ms=valid_until_ms,
        metadata=quote.protection.metadata(),
        terms=terms,
    )
