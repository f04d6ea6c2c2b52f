"""The error a client gets when the relay did not take its order."""

from quietswap.domain.errors import (
    ApiError,
    InsufficientBalance,
    InvalidTransaction,
    NonceTooLow,
)
from quietswap.domain.order import Order, OrderKind
from quietswap.domain.refusals import ProviderUnavailable, ValidationError
from quietswap.domain.signed_transaction import SignedTransaction
from quietswap.ports.outside import RelayOutcome
from quietswap.services.deliver_order import Delivered
from quietswap.services.preflight import Ready

_NONCE = frozenset({RelayOutcome.NONCE_USED, RelayOutcome.CONFLICT})


def refusal(delivered: Delivered, signed: SignedTransaction, ready: Ready) -> ApiError | None:
    """Return why this delivery failed; None when it did not, or nothing is certain."""
    order, outcome = delivered.order, delivered.outcome
    if order.failure is None or outcome is None:
        return None
    if outcome is RelayOutcome.NOT_SENT:
        details = {"reason": "NOT_SENT"}
        if order.kind is OrderKind.SWAP:
            details["orderId"] = order.order_id
        return ProviderUnavailable("the relay cannot be reached", details)
    if outcome is RelayOutcome.NO_FUNDS:
        return InsufficientBalance(asset="ETH", required=signed.most_wei, available=ready.eth)
    if outcome in _NONCE:
        return NonceTooLow(provided=signed.nonce, expected=signed.nonce + 1)
    return refused(order)


def refused(order: Order) -> ApiError:
    """Return the error of an order the relay refused for what it is."""
    assert order.failure is not None
    if order.kind is OrderKind.WRAP:
        return InvalidTransaction(reason=order.failure.message)
    return ValidationError(order.failure.message, reason=order.failure.code.value)
