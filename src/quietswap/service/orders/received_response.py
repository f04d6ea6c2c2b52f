"""What a mined order brought: stored values to contract Structs.

`stored` is the order without its types: its strings already have their JSON form.
"""

from typing import Any

from quietswap.rules.amounts import difference_bps
from quietswap.rules.contract import orders as contract
from quietswap.rules.orders.order_views import OrderView
from quietswap.service.api.json import amount


def received(order: OrderView) -> contract.Received | None:
    """Return `received`; None before a block, and for an order that an older release confirmed."""
    stored: Any = order
    if order.received is None and order.received_issue is None:
        return None
    return contract.Received(
        token=order.buy_token, amount=stored.received, reason=order.received_issue
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
