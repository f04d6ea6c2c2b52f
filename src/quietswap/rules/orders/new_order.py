"""The order that a signed transaction becomes."""

from dataclasses import dataclass
from typing import TypeVar

from quietswap.rules.orders.order import Order, OrderKind, OrderStatus
from quietswap.rules.quotes.issued_quote import IssuedQuote, QuoteKind, Trade
from quietswap.rules.routers import batch
from quietswap.rules.safety import calldata
from quietswap.rules.tokens.token import NATIVE, WrapOperation
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import SignedTransaction

Text = TypeVar("Text", bound=str)
Units = TypeVar("Units", int, str)


def operation_of(order: Order) -> WrapOperation:
    return WrapOperation(action(OrderKind.WRAP, order.sell_token))


def action_of(order: Order) -> str:
    return action(order.kind.value, order.sell_token)


def action(kind: str, sell_token: str) -> str:
    """Return a kind of orders for people: an order of kind wrap may be an unwrap."""
    is_unwrap = kind == OrderKind.WRAP and sell_token.lower() != NATIVE.lower()
    return WrapOperation.UNWRAP.value if is_unwrap else kind


def with_ether(
    conversion: str | None, sell_token: Text, buy_token: Text
) -> tuple[Text | Address, Text | Address]:
    """Return what a wallet gave and got: ETH, where the swap's transaction converts its WETH."""
    sold = NATIVE if conversion == WrapOperation.WRAP else sell_token
    return sold, NATIVE if conversion == WrapOperation.UNWRAP else buy_token


def unwrapped(conversion: str | None, minimum: Units, *, arrived: object) -> Units | None:
    """Return the part of what arrived that is ETH: the minimum, if its transaction unwraps it."""
    return minimum if arrived and conversion == WrapOperation.UNWRAP else None


def unwrapped_of(order: Order) -> int | None:
    block = order.inclusion
    arrived = block is not None and block.succeeded and block.received
    return unwrapped(order.conversion, order.min_buy_amount, arrived=arrived)


@dataclass(frozen=True, slots=True)
class OrderTimeouts:
    """Time until an order expires, and the longest time it is tracked after its creation, in ms.

    Both are over by the earlier of the local clock and the chain's time (`safe_now_ms`).

    Tracking ends earlier when the block that used the nonce is final. No deadline in calldata
    shortens it: after that deadline the transaction can still be mined, as a revert. An order with
    a deadline expires when blocks are past it.
    """

    expiry_ms: int
    watch_ms: int


@dataclass(frozen=True, slots=True)
class PlannedOrder:
    """What a signed transaction becomes: kind and amounts, and the relay endpoint it goes to."""

    client_id: str
    kind: OrderKind
    trade: Trade
    tier: int
    endpoint_type: str
    share_mode: str
    source: str | None = None
    """The source of a swap's route."""
    usd_cents: int | None = None
    """Value of a swap, as its quote says; None if no price was known."""
    quote_id: str | None = None
    """The quote of a swap: one quote is spent at one nonce."""


def planned_order(quote: IssuedQuote) -> PlannedOrder:
    return PlannedOrder(
        client_id=quote.client_id,
        kind=OrderKind(quote.kind.value),
        trade=quote.terms.trade,
        tier=quote.tier,
        endpoint_type=quote.endpoint_type,
        share_mode=quote.share_mode,
        source=getattr(quote.terms, "source", None),
        usd_cents=quote.terms.usd_cents,
        quote_id=quote.quote_id if quote.kind is QuoteKind.SWAP else None,
    )


def new_pending_order(
    order_id: str,
    signed: SignedTransaction,
    plan: PlannedOrder,
    *,
    now_ms: int,
    counted_from_ms: int,
    head: int,
    limits: OrderTimeouts,
) -> Order:
    """Return the pending order of a submission that was checked at block number `head`.

    `now_ms` stamps it; its time is counted from `counted_from_ms` (`safe_now_ms`). Unix ms.
    """
    trade, ends_at_ms = plan.trade, counted_from_ms + limits.expiry_ms
    deadline_s, conversion = None, None
    if plan.kind is OrderKind.SWAP:
        calls, plain = batch.read(signed.params, signed.sender), signed.params
        router, data = (calls.router, calls.data) if calls else (plain.to, plain.data)
        deadline_s, conversion = (
            calldata.deadline(router, data),
            calls.conversion if calls else None,
        )
    return Order(
        order_id=order_id,
        client_id=plan.client_id,
        kind=plan.kind,
        status=OrderStatus.PENDING,
        wallet=signed.sender,
        nonce=signed.nonce,
        tx_hash=signed.hash,
        raw=signed.raw,
        sell_token=trade.sell_token,
        buy_token=trade.buy_token,
        sell_amount=trade.sell_amount,
        min_buy_amount=trade.min_buy_amount,
        buy_amount=trade.buy_amount,
        tier=plan.tier,
        endpoint_type=plan.endpoint_type,
        share_mode=plan.share_mode,
        created_at_ms=now_ms,
        expires_at_ms=ends_at_ms if deadline_s is None else min(ends_at_ms, deadline_s * 1000),
        watch_until_ms=now_ms + limits.watch_ms,
        sent_head=head,
        attempts=1,
        source=plan.source,
        usd_cents=plan.usd_cents,
        quote_id=plan.quote_id,
        deadline_s=deadline_s,
        fee_cap=signed.params.max_fee_per_gas,
        priority_fee=signed.priority_fee,
        conversion=conversion.value if conversion else None,
    )
