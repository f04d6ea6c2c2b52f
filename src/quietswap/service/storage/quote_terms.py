"""The column `terms` of an issued quote: one JSON object with the member names of the interface.

The names are stored data: rows of older versions must load, and older versions read new rows.
"""

from typing import Any

import msgspec

from quietswap.rules.amounts import format_ether, parse_ether
from quietswap.rules.orders.comparison import swap_members
from quietswap.rules.quotes.issued_quote import (
    BatchTerms,
    CancelOrderTerms,
    IssuedQuote,
    OrderTerms,
    QuoteKind,
    SwapOrderTerms,
    Trade,
    WrapOrderTerms,
)
from quietswap.rules.tokens.token import WrapOperation
from quietswap.rules.tx.address import Address


def terms_json(quote: IssuedQuote) -> str:
    """Return the text of the column; decimal digits for amounts, decimal ETH for a wrap."""
    return msgspec.json.encode(_members(quote)).decode()


def _members(quote: IssuedQuote) -> dict[str, Any]:
    terms = quote.terms
    if isinstance(terms, CancelOrderTerms):
        return {"orderId": terms.order_id}
    if isinstance(terms, WrapOrderTerms):
        return {
            "operation": terms.operation.value,
            "amount": format_ether(terms.amount),
            "userAddress": quote.wallet,
        }
    batch = terms.batch and {
        "gasLimit": terms.batch.gas_limit,
        "maxFeePerGas": str(terms.batch.max_fee_per_gas),
    }
    optional = {"source": terms.source, "usdCents": terms.usd_cents, "batch": batch}
    return {
        **swap_members(quote),
        "buyAmount": str(terms.trade.buy_amount),
        **{name: value for name, value in optional.items() if value is not None},
    }


def terms_of(kind: QuoteKind, text: str) -> OrderTerms:
    """Return the terms of a stored quote; what the other columns repeat is not read."""
    members = msgspec.json.decode(text)
    if kind is QuoteKind.CANCEL:
        return CancelOrderTerms(members["orderId"])
    if kind is QuoteKind.WRAP:
        return WrapOrderTerms(WrapOperation(members["operation"]), parse_ether(members["amount"]))
    trade = Trade(
        Address(members["fromToken"]),
        Address(members["toToken"]),
        int(members["amount"]),
        int(members["minReturnAmount"]),
        int(members["buyAmount"]),
    )
    batch = members.get("batch")
    return SwapOrderTerms(
        trade,
        members["slippageBps"],
        source=members.get("source"),
        usd_cents=members.get("usdCents"),
        batch=batch and BatchTerms(batch["gasLimit"], int(batch["maxFeePerGas"])),
    )
