"""Orders: domain values to contract Structs.

`blockNumber`, `gasUsed`, `effectiveGasPrice` and `confirmedAt` are at their places only once the
order is confirmed, as the interface requires. The cost of a reverted transaction is in `error`.
`stored` is the order without its types: its strings already have their JSON form.
"""

from typing import Any

from quietswap.rules.amounts import difference_bps
from quietswap.rules.contract import orders as contract
from quietswap.rules.orders.new_order import unwrapped
from quietswap.rules.orders.order import FailureCode, Order, OrderStatus, may_be_mined
from quietswap.rules.orders.order_views import OrderListItem, OrderPage, OrderView, mined_at_ms
from quietswap.rules.orders.request import SubmittedSwap
from quietswap.rules.wire import POLLING_INTERVAL_S
from quietswap.service.api.json import amount, iso_second, iso_timestamp

_CONFIRMED = OrderStatus.CONFIRMED.value
_NOT_SENT = FailureCode.NOT_SENT.value
"""Plain strings: they compare four times as fast as members of an enum."""


def tracking(order_id: str) -> contract.Tracking:
    return contract.Tracking(
        status_endpoint=f"/api/v1/mev/orders/{order_id}", polling_interval=POLLING_INTERVAL_S
    )


def sent_at(order: Order) -> Any:
    """Return when the relay took it; until that is known, when the service accepted the order."""
    sent = order.submitted_at_ms
    return iso_timestamp(order.created_at_ms if sent is None else sent)


def initial_status(order: Order) -> OrderStatus:
    """Return the status of the first answer, also when the same bytes are posted again later.

    An adopted order, which was not sent by this service as it is now, has the one of the chain.
    """
    if not order.attempts:
        return order.status
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
            executable_until=iso_second(order.deadline_s),
            estimated_execution_time=submitted.estimated_execution,
            tracking_url=submitted.tracking_url,
            provider_order_id=submitted.provider_order_id,
            tx_hash=order.tx_hash,
        ),
        tracking=tracking(order.order_id),
    )


def order_status_response(order: OrderView) -> contract.OrderStatusResponse:
    """Return `data` of GET /api/v1/mev/orders/:orderId; what is not known yet is absent."""
    stored: Any = order
    created_at = iso_timestamp(order.created_at_ms)
    sent = order.submitted_at_ms
    was_sent = order.failure_code != _NOT_SENT
    mined_at = order.mined_at_ms if order.status == _CONFIRMED else None
    confirmed, code = mined_at is not None, order.failure_code
    return contract.OrderStatusResponse(
        order_id=order.order_id,
        status=stored.status,
        created_at=created_at,
        order_params=contract.OrderParams(
            from_token=order.sell_token,
            to_token=order.buy_token,
            amount=stored.sell_amount,
            min_return_amount=stored.min_buy_amount,
        ),
        tx_hash=order.tx_hash if was_sent else None,
        submitted_at=(created_at if sent is None else iso_timestamp(sent)) if was_sent else None,
        block_number=order.block_number if confirmed else None,
        gas_used=amount(order.gas_used) if confirmed else None,
        effective_gas_price=stored.effective_gas_price if confirmed else None,
        confirmed_at=None if mined_at is None else iso_timestamp(mined_at),
        error=None if confirmed or code is None else _failure(order, code),
        kind=stored.kind,
        received=received(order),
        fee_paid_wei=fee_paid(order),
        delivered=delivered(order),
        refund=refund(order),
        reference=reference(order),
        expires_at=None if order.expires_at_ms is None else iso_timestamp(order.expires_at_ms),
        endpoint_type=order.endpoint_type,
        share_mode=order.share_mode,
        relay_answer=order.relay_answer if order.block_number is None else None,
        executable_until=iso_second(order.deadline_s),
        nonce=None if order.nonce is None else int(order.nonce),
        conversion=stored.conversion,
    )


def _failure(order: OrderView, code: str) -> contract.OrderFailure:
    stored: Any = order
    reverted = order.succeeded == 0
    return contract.OrderFailure(
        code=code,
        message=order.failure_message or "",
        may_be_mined=may_be_mined(code, order.deadline_s),
        block_number=order.block_number if reverted else None,
        gas_used=amount(order.gas_used) if reverted else None,
        effective_gas_price=stored.effective_gas_price if reverted else None,
    )


def order_history_response(
    page: OrderPage, limit: int, offset: int
) -> contract.OrderHistoryResponse:
    """Return `data` of GET /api/v1/mev/orders/user/:userAddress."""
    following = offset + len(page.orders)
    return contract.OrderHistoryResponse(
        orders=tuple(map(_item, page.orders)),
        total=page.total,
        has_more=following < page.total,
        pagination=contract.Pagination(limit=limit, offset=offset, next_offset=following),
    )


def _item(line: OrderListItem) -> contract.HistoryItem:
    """Return one line. A page has fifty: unpacking and plain strings halve its cost."""
    stored: tuple[Any, ...] = line
    (
        order_id, status, tx_hash, created_at_ms, sell_token, buy_token, sell_amount, buy_amount,
        block_number, block_time_ms, failure_code, kind, relay_answer, conversion,
    ) = stored  # fmt: skip
    mined_at = mined_at_ms(block_time_ms, created_at_ms) if status == _CONFIRMED else None
    return contract.HistoryItem(
        order_id=order_id,
        status=status,
        tx_hash=None if failure_code == _NOT_SENT else tx_hash,
        block_number=None if mined_at is None else block_number,
        created_at=iso_timestamp(created_at_ms),
        confirmed_at=None if mined_at is None else iso_timestamp(mined_at),
        kind=kind,
        relay_answer=relay_answer if block_number is None else None,
        conversion=conversion,
        summary=contract.OrderSummary(
            sell_token=sell_token,
            buy_token=buy_token,
            sell_amount=sell_amount,
            buy_amount=buy_amount,
        ),
    )


def received(order: OrderView) -> contract.Received | None:
    """Return `received`; None before a block, and for an order that an older release confirmed."""
    stored: Any = order
    if order.received is None and order.received_issue is None:
        return None
    arrived = order.received and order.succeeded
    return contract.Received(
        token=order.buy_token,
        amount=stored.received,
        reason=order.received_issue,
        unwrapped=unwrapped(order.conversion, stored.min_buy_amount, arrived=arrived),
    )


def fee_paid(order: OrderView) -> contract.FeePaid | None:
    """Return the network fee in wei as digits; None before a block."""
    if order.gas_used is None or order.effective_gas_price is None:
        return None
    fee: contract.FeePaid = amount(order.gas_used * int(order.effective_gas_price))
    return fee


def delivered(order: OrderView) -> contract.Delivered | None:
    """Return the received amount against the quote; None if unknown or nothing was quoted."""
    promised, minimum = int(order.buy_amount), int(order.min_buy_amount)
    if order.received is None or not order.succeeded or not (promised and minimum):
        return None
    arrived = int(order.received)
    return contract.Delivered(
        to_promise_bps=difference_bps(arrived, promised),
        to_minimum_bps=difference_bps(arrived, minimum),
    )


def reference(order: OrderView) -> contract.Reference | None:
    """Return `reference`; None unless it was read when the order was confirmed."""
    stored: Any = order
    if order.reference is None or order.received is None or order.block_number is None:
        return None
    return contract.Reference(
        block_number=order.block_number - 1,
        amount=stored.reference,
        value_wei=stored.reference_wei,
        received_bps=difference_bps(int(order.received), int(order.reference)),
    )


def refund(order: OrderView) -> contract.Refund | None:
    """Return `refund`; None before a block, and for an order that an older release confirmed."""
    stored: Any = order
    if order.refund_status is None:
        return None
    return contract.Refund(
        status=stored.refund_status, amount_wei=stored.refund_wei, tx_hash=order.refund_tx
    )
