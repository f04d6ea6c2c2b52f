"""Orders, from domain values to the interface's JSON.

`blockNumber`, `gasUsed`, `effectiveGasPrice` and `confirmedAt` stand at their places only once the
order is confirmed, as the interface says. What a reverted transaction cost stands in `error`.
"""

from typing import Any

from quietswap.api.present import iso
from quietswap.domain.amounts import format_ether
from quietswap.domain.order import FailureCode, Order, Status
from quietswap.domain.order_record import HistoryLine, HistoryPage, OrderRecord
from quietswap.domain.requests import Submitted, WrapSubmitted

Json = dict[str, Any]

POLLING_INTERVAL_S = 10


def status_path(order_id: str) -> str:
    """Return the path to poll."""
    return f"/api/v1/mev/orders/{order_id}"


def _sent_at(order: Order) -> str:
    """Return when the relay took it; until that is known, when the service accepted the order."""
    sent = order.submitted_at_ms
    return iso(order.created_at_ms if sent is None else sent)


def submitted(taken: Submitted) -> Json:
    """Return `data` of POST /api/v1/mev/orders."""
    order = taken.order
    return {
        "order": {
            "orderId": order.order_id,
            "provider": taken.relay_name,
            "tier": order.tier,
            "status": order.status.value,
            "submittedAt": _sent_at(order),
            "expiresAt": iso(order.expires_at_ms),
            "estimatedExecutionTime": taken.estimated_execution,
            "trackingUrl": taken.tracking_url,
            "providerOrderId": taken.provider_order_id,
            "txHash": order.tx_hash,
        },
        "tracking": {
            "statusEndpoint": status_path(order.order_id),
            "pollingInterval": POLLING_INTERVAL_S,
        },
    }


def order_status(order: OrderRecord) -> Json:
    """Return `data` of GET /api/v1/mev/orders/:orderId; what is not known yet is absent."""
    record: Json = {
        "orderId": order.order_id,
        "status": order.status,
        "createdAt": iso(order.created_at_ms),
        "orderParams": {
            "fromToken": order.sell_token,
            "toToken": order.buy_token,
            "amount": order.sell_amount,
            "minReturnAmount": order.min_buy_amount,
        },
    }
    if order.failure_code != FailureCode.NOT_SENT:
        record["txHash"] = order.tx_hash
        sent = order.submitted_at_ms
        record["submittedAt"] = record["createdAt"] if sent is None else iso(sent)
    if order.status == Status.CONFIRMED and order.block_time_ms is not None:
        record.update(_cost(order))
        record["confirmedAt"] = iso(order.block_time_ms)
    elif order.failure_code is not None:
        record["error"] = _failure(order)
    return record


def _cost(order: OrderRecord) -> Json:
    return {
        "blockNumber": order.block_number,
        "gasUsed": str(order.gas_used),
        "effectiveGasPrice": order.effective_gas_price,
    }


def _failure(order: OrderRecord) -> Json:
    error: Json = {"code": order.failure_code, "message": order.failure_message}
    if order.succeeded == 0:
        error.update(_cost(order))
    return error


def history(page: HistoryPage, limit: int, offset: int) -> Json:
    """Return `data` of GET /api/v1/mev/orders/user/:userAddress."""
    following = offset + len(page.orders)
    return {
        "orders": [_item(order) for order in page.orders],
        "total": page.total,
        "hasMore": following < page.total,
        "pagination": {"limit": limit, "offset": offset, "nextOffset": following},
    }


def _item(order: HistoryLine) -> Json:
    mined_at = order.block_time_ms if order.status == Status.CONFIRMED else None
    return {
        "orderId": order.order_id,
        "status": order.status,
        "txHash": None if order.failure_code == FailureCode.NOT_SENT else order.tx_hash,
        "blockNumber": None if mined_at is None else order.block_number,
        "createdAt": iso(order.created_at_ms),
        "confirmedAt": None if mined_at is None else iso(mined_at),
        "summary": {
            "sellToken": order.sell_token,
            "buyToken": order.buy_token,
            "sellAmount": order.sell_amount,
            "buyAmount": order.buy_amount,
        },
    }


def _initially(order: Order) -> str:
    """Return what the first answer said, also when the same bytes are posted again later."""
    return (Status.PENDING if order.status is Status.PENDING else Status.SUBMITTED).value


def wrap_submitted(taken: WrapSubmitted) -> Json:
    """Return `data.order` of POST /api/v1/mev/wrap/order."""
    order = taken.order
    return {
        "operation": taken.operation.value,
        "txHash": order.tx_hash,
        "from": taken.sender,
        "amount": format_ether(taken.amount),
        "status": _initially(order),
        "provider": taken.relay_name,
        "trackingUrl": taken.tracking_url,
        "explorerUrl": taken.explorer_url,
        "submittedAt": _sent_at(order),
    }
