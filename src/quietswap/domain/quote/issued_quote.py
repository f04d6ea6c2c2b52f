"""Issued quotes: the transaction, relay settings and terms that a submitted order must repeat.

Amounts in smallest units (wei for ETH), times in Unix ms.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from quietswap.domain.address import Address
from quietswap.domain.quote.quote import SwapQuote, WrapOperation, WrapQuote
from quietswap.domain.quote.relay_settings import RelaySettings
from quietswap.domain.token import WETH
from quietswap.domain.transaction.unsigned import UnsignedTransaction

NATIVE = Address("0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE")
"""The address that stands for ETH in the tokens of an order."""


class QuoteKind(StrEnum):
    """What an issued quote is for."""

    SWAP = "swap"
    WRAP = "wrap"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Trade:
    """The amounts an order exchanges."""

    sell_token: Address
    buy_token: Address
    sell_amount: int
    min_buy_amount: int
    buy_amount: int


@dataclass(frozen=True, slots=True)
class SwapOrderTerms:
    """The terms of a swap; its wallet, router, calldata and tier are in the issued quote.

    `source` is the aggregator of the route; None in quotes of older releases.
    """

    kind: ClassVar = QuoteKind.SWAP
    trade: Trade
    slippage_bps: int
    source: str | None = None
    usd_cents: int | None = None
    """Value of the swap, rounded up; None if no price was known."""


@dataclass(frozen=True, slots=True)
class WrapOrderTerms:
    """The terms of a wrap or unwrap; `amount` in wei."""

    kind: ClassVar = QuoteKind.WRAP
    usd_cents: ClassVar = None
    operation: WrapOperation
    amount: int

    @property
    def trade(self) -> Trade:
        """Return the 1:1 exchange of ETH and WETH."""
        pair = (NATIVE, WETH) if self.operation is WrapOperation.WRAP else (WETH, NATIVE)
        return Trade(*pair, self.amount, self.amount, self.amount)


@dataclass(frozen=True, slots=True)
class CancelOrderTerms:
    """The terms of a cancel: `order_id` is the order to cancel."""

    kind: ClassVar = QuoteKind.CANCEL
    usd_cents: ClassVar = None
    trade: ClassVar = Trade(NATIVE, NATIVE, 0, 0, 0)
    order_id: str


OrderTerms = SwapOrderTerms | WrapOrderTerms | CancelOrderTerms


@dataclass(frozen=True, slots=True)
class IssuedQuote:
    """The stored part of a quote; `metadata` is `providerMetadata` as sent to the client."""

    quote_id: str
    client_id: str
    params: UnsignedTransaction
    wallet: Address
    endpoint_type: str
    share_mode: str
    tier: int
    issued_at_ms: int
    valid_until_ms: int
    metadata: dict[str, Any]
    terms: OrderTerms

    @property
    def kind(self) -> QuoteKind:
        """Return what the quote is for."""
        return self.terms.kind


def issued_swap(quote: SwapQuote, client_id: str, quote_id: str, validity_ms: int) -> IssuedQuote:
    """Return what is stored of a swap quote before the client receives it."""
    trade = Trade(
        quote.sell_token, quote.buy_token, quote.sell_amount, quote.min_buy_amount, quote.buy_amount
    )
    terms = SwapOrderTerms(
        trade, quote.slippage_bps, source=quote.route.source, usd_cents=quote.usd_cents
    )
    times = (quote.issued_at_ms, quote.issued_at_ms + validity_ms)
    return issue(quote_id, client_id, quote.wallet, quote.params, quote.protection, times, terms)


def issued_wrap(quote: WrapQuote, client_id: str) -> IssuedQuote:
    """Return what is stored of a wrap quote before the client receives it."""
    terms = WrapOrderTerms(quote.operation, quote.amount)
    times = (quote.issued_at_ms, quote.valid_until_ms)
    return issue(
        quote.quote_id, client_id, quote.wallet, quote.params, quote.protection, times, terms
    )


def issue(  # noqa: PLR0917  the fields of one record in their order
    quote_id: str,
    client_id: str,
    wallet: Address,
    params: UnsignedTransaction,
    protection: RelaySettings,
    times: tuple[int, int],
    terms: OrderTerms,
) -> IssuedQuote:
    """Return an issued quote; `times` are its issue and the end of its validity in Unix ms."""
    return IssuedQuote(
        quote_id=quote_id,
        client_id=client_id,
        params=params,
        wallet=wallet,
        endpoint_type=protection.endpoint_type.value,
        share_mode=protection.share_mode.value,
        tier=protection.tier,
        issued_at_ms=times[0],
        valid_until_ms=times[1],
        metadata=protection.metadata(),
        terms=terms,
    )
