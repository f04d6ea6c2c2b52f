"""Orders: domain values to contract Structs.

`blockNumber`, `gasUsed`, `effectiveGasPrice` and `confirmedAt` are at their places only once the
order is confirmed, as the interface requires. The cost of a reverted transaction is in `error`.
"""

from typing import Any

from quietswap.api.responses import received
from quietswap.api.responses.json_values import amount, iso_timestamp, json_form
from quietswap.contract import orders as contract
from quietswap.contract.limits import POLLING_INTERVAL_S
from quietswap.domain.order.order import AT_LARGE, FailureCode, Order, OrderKind, OrderStatus
from quietswap.domain.order.order_view import OrderListItem, OrderPage, OrderView
from quietswap.domain.requests import SubmittedSwap

_CONFIRMED = OrderStatus.CONFIRMED.value
_NOT_SENT = FailureCode.NOT_SENT.value
_SWAP = OrderKind.SWAP.value
"""Plain strings: they compare four times as fast as members of an enum."""


def tracking(order_id: str) -> contract.Tracking:
    """Return how to follow an order."""
    return contract.Tracking(
        status_endpoint=f"/api/v1/mev/orders/{order_id}", polling_interval=POLLING_INTERVAL_S
    )


def sent_at(order: Order) -> Any:
    """Return when the relay took it; until that is known, when the service accepted the order."""
    sent = order.submitted_at_ms
    return iso_timestamp(order.created_at_ms if sent is None else sent)


def initial_status(order: Order) -> OrderStatus:
    """Return the status of the first answer, also when the same bytes are posted again later."""
    pending = order.status is OrderStatus.PENDING
    return OrderStatus.PENDING if pending else OrderStatus.SUBMITTED


def swap_order_response(submitted: SubmittedSwap) -> contract.SwapOrderResponse:
    """Return `data` of POST /api/v1/mev/orders."""
    order = submitted.order
    return contract.SwapOrderResponse(
        order=contract.SwapOrder(
            order_id=order.order_id,
            provider=submitted.relay_name,
            tier=order.tier,
            status=order.status.value,
            submitted_at=sent_at(order),
            expires_at=iso_timestamp(order.expires_at_ms),
            estimated_execution_time=submitted.estimated_execution,
            tracking_url=submitted.tracking_url,
            provider_order_id=submitted.provider_order_id,
            tx_hash=order.tx_hash,
        ),
        tracking=tracking(order.order_id),
    )


def order_status_response(order: OrderView) -> contract.OrderStatusResponse:
    """Return `data` of GET /api/v1/mev/orders/:orderId; what is not known yet is absent."""
    created_at = iso_timestamp(order.created_at_ms)
    sent = order.submitted_at_ms
    was_sent = order.failure_code != _NOT_SENT
    mined_at = _confirmed_at_ms(order)
    confirmed, code = mined_at is not None, order.failure_code
    return contract.OrderStatusResponse(
        order_id=order.order_id,
        status=json_form(order.status),
        created_at=created_at,
        order_params=contract.OrderParams(
            from_token=order.sell_token,
            to_token=order.buy_token,
            amount=json_form(order.sell_amount),
            min_return_amount=json_form(order.min_buy_amount),
        ),
        tx_hash=order.tx_hash if was_sent else None,
        submitted_at=(created_at if sent is None else iso_timestamp(sent)) if was_sent else None,
        block_number=order.block_number if confirmed else None,
        gas_used=amount(order.gas_used) if confirmed else None,
        effective_gas_price=json_form(order.effective_gas_price) if confirmed else None,
        confirmed_at=None if mined_at is None else iso_timestamp(mined_at),
        error=None if confirmed or code is None else _failure(order, code),
        kind=None if order.kind == _SWAP else json_form(order.kind),
        received=received.received(order),
        fee_paid_wei=received.fee_paid(order),
        delivered=received.delivered(order),
        refund=received.refund(order),
        expires_at=None if order.expires_at_ms is None else iso_timestamp(order.expires_at_ms),
        endpoint_type=order.endpoint_type,
        share_mode=order.share_mode,
    )


def _confirmed_at_ms(order: OrderView) -> int | None:
    """Return the time of the block of a confirmed order, else None."""
    return order.block_time_ms if order.status == _CONFIRMED else None


def _failure(order: OrderView, code: str) -> contract.OrderFailure:
    reverted = order.succeeded == 0
    return contract.OrderFailure(
        code=code,
        message=order.failure_message or "",
        may_be_mined=code in AT_LARGE,
        block_number=order.block_number if reverted else None,
        gas_used=amount(order.gas_used) if reverted else None,
        effective_gas_price=json_form(order.effective_gas_price) if reverted else None,
    )


def order_history_response(
    page: OrderPage, limit: int, offset: int
) -> contract.OrderHistoryResponse:
    """Return `data` of GET /api/v1/mev/orders/user/:userAddress."""
    return contract.OrderHistoryResponse(
        orders=tuple(map(_item, page.orders)),
        total=page.total,
        has_more=page.has_more(offset),
        pagination=contract.Pagination(
            limit=limit, offset=offset, next_offset=page.next_offset(offset)
        ),
    )


def _item(line: OrderListItem) -> contract.HistoryItem:
    """Return one line. A page has fifty: unpacking and plain strings halve its cost."""
    (
        order_id, status, tx_hash, created_at_ms, sell_token, buy_token, sell_amount, buy_amount,
        block_number, block_time_ms, failure_code, kind,
    ) = line  # fmt: skip
    is_confirmed = status == _CONFIRMED and block_time_ms is not None
    return contract.HistoryItem(
        order_id=order_id,
        status=json_form(status),
        tx_hash=None if failure_code == _NOT_SENT else tx_hash,
        block_number=block_number if is_confirmed else None,
        created_at=iso_timestamp(created_at_ms),
        confirmed_at=iso_timestamp(block_time_ms) if is_confirmed and block_time_ms else None,
        kind=json_form(kind),
        summary=contract.OrderSummary(
            sell_token=sell_token,
            buy_token=buy_token,
            sell_amount=json_form(sell_amount),
            buy_amount=json_form(buy_amount),
        ),
    )
