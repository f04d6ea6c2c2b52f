"""Issued quotes: the transaction, relay settings and terms that a submitted order must repeat.

Amounts in smallest units (wei for ETH), times in Unix ms.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar

from quietswap.rules.quotes.quote import SwapQuote, WrapQuote
from quietswap.rules.relays import RelaySettings
from quietswap.rules.routers.batch import swap_batch
from quietswap.rules.tokens.token import NATIVE, WETH, WrapOperation
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import UnsignedTransaction

GRACE_MS = 30_000
"""A quote is accepted this long after its validity: confirming on a hardware wallet takes time."""


class QuoteKind(StrEnum):
    SWAP = "swap"
    WRAP = "wrap"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Trade:
    sell_token: Address
    buy_token: Address
    sell_amount: int
    min_buy_amount: int
    buy_amount: int


@dataclass(frozen=True, slots=True)
class BatchTerms:
    """Gas limit and fee cap (wei per gas) of the batched form, and whether it wraps or unwraps; all
    else follows from the quote.
    """

    gas_limit: int
    max_fee_per_gas: int
    conversion: WrapOperation | None = None


@dataclass(frozen=True, slots=True)
class SwapOrderTerms:
    """The terms of a swap; its wallet, router, calldata and tier are in the issued quote.

    `source` is that of the route; None in quotes of older releases. `batch`: the quote
    may also be signed in its batched form.
    """

    kind: ClassVar = QuoteKind.SWAP
    trade: Trade
    slippage_bps: int
    source: str | None = None
    usd_cents: int | None = None
    """Value of the swap, rounded up; None if no price was known."""
    batch: BatchTerms | None = None


@dataclass(frozen=True, slots=True)
class WrapOrderTerms:
    """The terms of a wrap or unwrap; `amount` in wei."""

    kind: ClassVar = QuoteKind.WRAP
    usd_cents: ClassVar = None
    operation: WrapOperation
    amount: int

    @property
    def trade(self) -> Trade:
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
        return self.terms.kind

    def is_live(self, now_ms: int) -> bool:
        """Return whether a signed form of it is still accepted."""
        return now_ms <= self.valid_until_ms + GRACE_MS

    @property
    def batched(self) -> UnsignedTransaction | None:
        """Return the batched form of a swap, which may be signed instead of `params`."""
        terms = self.terms
        if not isinstance(terms, SwapOrderTerms) or terms.batch is None:
            return None
        return replace(
            self.params,
            to=self.wallet,
            data=swap_batch(
                terms.trade.sell_token,
                self.params.to,
                terms.trade.sell_amount,
                self.params.data,
                min_buy_amount=terms.trade.min_buy_amount,
                conversion=terms.batch.conversion,
            ).calldata(),
            gas_limit=terms.batch.gas_limit,
            max_fee_per_gas=terms.batch.max_fee_per_gas,
        )

    def form_of(self, params: UnsignedTransaction) -> UnsignedTransaction:
        """Return the form to compare a transaction with: the batched one if it calls the wallet."""
        batched = self.batched
        return batched if batched is not None and params.to == batched.to else self.params


def issued_swap(quote: SwapQuote, client_id: str, quote_id: str, validity_ms: int) -> IssuedQuote:
    trade = Trade(
        quote.sell_token, quote.buy_token, quote.sell_amount, quote.min_buy_amount, quote.buy_amount
    )
    form = quote.batch
    params = form.params if form else None
    terms = SwapOrderTerms(
        trade,
        quote.slippage_bps,
        source=quote.route.source,
        usd_cents=quote.usd_cents,
        batch=BatchTerms(params.gas_limit, params.max_fee_per_gas, form.conversion)
        if form and params
        else None,
    )
    times = (quote.issued_at_ms, quote.issued_at_ms + validity_ms)
    return issue(quote_id, client_id, quote.wallet, quote.params, quote.protection, times, terms)


def issued_wrap(quote: WrapQuote, client_id: str) -> IssuedQuote:
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
