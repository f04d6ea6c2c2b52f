"""Simulate swaps before a resend: a swap that would fail now is not sent now."""

from quietswap.rules.chain.records import (
    SignedSwap,
    signed_swap,
)
from quietswap.rules.orders.order import Order
from quietswap.rules.tx.signed import decode

MOST_TRIED = 32
"""Swaps simulated per block, in one batch; further ones are resent without a simulation."""
WOULD_FAIL, WOULD_WORK = "would_fail", "would_work"
FEE_TOO_LOW, FEE_SUFFICES = "fee_too_low", "fee_suffices"
"""Event types."""


def stored_swap(order: Order, raw: bytes) -> SignedSwap | None:
    """Return the dry run's input for a stored order; None for missing or damaged bytes."""
    try:
        signed = decode("0x" + raw.hex())
    except ValueError:
        return None
    return signed_swap(signed, order.buy_token, order.min_buy_amount)
