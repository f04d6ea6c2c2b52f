"""How an order lies in its row: the columns of `orders` and both directions between them."""

from typing import Any

from quietswap.domain.order import (
    Failure,
    FailureCode,
    Inclusion,
    Order,
    OrderEvent,
    OrderKind,
    Status,
)
from quietswap.storage.database import Row, Value

FIXED = (
    "order_id",
    "key_id",
    "kind",
    "wallet",
    "nonce",
    "tx_hash",
    "sell_token",
    "buy_token",
    "sell_amount",
    "min_buy_amount",
    "created_at_ms",
)
"""What an order is: written once."""

MOVING = (
    "status",
    "buy_amount",
    "tier",
    "endpoint_type",
    "share_mode",
    "expires_at_ms",
    "watch_until_ms",
    "submitted_at_ms",
    "submitted_head",
    "sent_head",
    "attempts",
    "block_number",
    "block_hash",
    "gas_used",
    "effective_gas_price",
    "block_time_ms",
    "succeeded",
    "failure_code",
    "failure_message",
    "watched",
)
"""What is known of it: written by every update."""

COLUMNS = (*FIXED, *MOVING, "version")


def fixed_values(order: Order) -> tuple[Value, ...]:
    """Return the values of `FIXED`."""
    return (
        order.order_id,
        order.key_id,
        order.kind.value,
        order.wallet,
        str(order.nonce),
        order.tx_hash,
        order.sell_token,
        order.buy_token,
        str(order.sell_amount),
        str(order.min_buy_amount),
        order.created_at_ms,
    )


def moving_values(order: Order) -> tuple[Value, ...]:
    """Return the values of `MOVING`."""
    return (
        order.status.value,
        str(order.buy_amount),
        order.tier,
        order.endpoint_type,
        order.share_mode,
        order.expires_at_ms,
        order.watch_until_ms,
        order.submitted_at_ms,
        order.submitted_head,
        order.sent_head,
        order.attempts,
        *_inclusion_values(order.inclusion),
        None if order.failure is None else order.failure.code.value,
        None if order.failure is None else order.failure.message,
        int(order.watched),
    )


def _inclusion_values(inclusion: Inclusion | None) -> tuple[Value, ...]:
    if inclusion is None:
        return (None,) * 6
    return (
        inclusion.block_number,
        inclusion.block_hash,
        inclusion.gas_used,
        str(inclusion.effective_gas_price),
        inclusion.block_time_ms,
        int(inclusion.succeeded),
    )


def order_from(row: Row) -> Order:
    """Return the order of a row of `COLUMNS` and, last, its signed bytes or NULL."""
    *columns, raw = row
    cell: dict[str, Any] = dict(zip(COLUMNS, columns, strict=True))
    return Order(
        order_id=cell["order_id"],
        key_id=cell["key_id"],
        kind=OrderKind(cell["kind"]),
        status=Status(cell["status"]),
        wallet=cell["wallet"],
        nonce=int(cell["nonce"]),
        tx_hash=cell["tx_hash"],
        raw=raw,
        sell_token=cell["sell_token"],
        buy_token=cell["buy_token"],
        sell_amount=int(cell["sell_amount"]),
        min_buy_amount=int(cell["min_buy_amount"]),
        buy_amount=int(cell["buy_amount"]),
        tier=cell["tier"],
        endpoint_type=cell["endpoint_type"],
        share_mode=cell["share_mode"],
        created_at_ms=cell["created_at_ms"],
        expires_at_ms=cell["expires_at_ms"],
        watch_until_ms=cell["watch_until_ms"],
        submitted_at_ms=cell["submitted_at_ms"],
        submitted_head=cell["submitted_head"],
        sent_head=cell["sent_head"],
        attempts=cell["attempts"],
        inclusion=_inclusion(cell),
        failure=_failure(cell),
        watched=bool(cell["watched"]),
        version=cell["version"],
    )


def _inclusion(cell: dict[str, Any]) -> Inclusion | None:
    if cell["block_number"] is None:
        return None
    return Inclusion(
        block_number=cell["block_number"],
        block_hash=cell["block_hash"],
        gas_used=cell["gas_used"],
        effective_gas_price=int(cell["effective_gas_price"]),
        block_time_ms=cell["block_time_ms"],
        succeeded=bool(cell["succeeded"]),
    )


def _failure(cell: dict[str, Any]) -> Failure | None:
    if cell["failure_code"] is None:
        return None
    return Failure(FailureCode(cell["failure_code"]), cell["failure_message"])


EVENT_COLUMNS = "order_id, at_ms, sighting, from_status, to_status, evidence"


def event_values(event: OrderEvent) -> tuple[Value, ...]:
    """Return the values of `EVENT_COLUMNS`."""
    return (
        event.order_id,
        event.at_ms,
        event.sighting,
        event.from_status,
        event.to_status,
        event.evidence,
    )


def event_from(row: Row) -> OrderEvent:
    """Return the event of a row of `EVENT_COLUMNS`."""
    order_id, at_ms, sighting, from_status, to_status, evidence = row
    return OrderEvent(order_id, at_ms, sighting, from_status, to_status, evidence)
