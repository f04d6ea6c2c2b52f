"""What a mined order brought: stored values to contract Structs."""

from quietswap.api.responses.json_values import amount, json_form
from quietswap.contract import received as contract
from quietswap.domain.amounts import difference_bps
from quietswap.domain.order.order_view import OrderView


def received(order: OrderView) -> contract.Received | None:
    """Return `received`; None before a block, and for an order that an older release confirmed."""
    if order.received is None and order.received_issue is None:
        return None
    return contract.Received(
        token=order.buy_token,
        amount=json_form(order.received),
        reason=order.received_issue,
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


def refund(order: OrderView) -> contract.Refund | None:
    """Return `refund`; None before a block, and for an order that an older release confirmed."""
    if order.refund_status is None:
        return None
    return contract.Refund(
        status=json_form(order.refund_status),
        amount_wei=json_form(order.refund_wei),
        tx_hash=order.refund_tx,
    )
