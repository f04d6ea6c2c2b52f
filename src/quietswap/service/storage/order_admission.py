"""What a new order must pass, in the transaction that stores it: its quote, and its client."""

from collections.abc import Sequence

from quietswap.rules.orders.order import Order
from quietswap.rules.orders.wallet_transaction import quote_used
from quietswap.service.storage.client_usage import admit_order
from quietswap.service.storage.database import Transaction

_TAKE = """
UPDATE quotes SET used_nonce = COALESCE(used_nonce, ?) WHERE quote_id = ? RETURNING used_nonce
"""
"""Parallel orders of one quote wait for each other at its row, so exactly one fixes the nonce."""
_OF = "SELECT 1 FROM orders WHERE wallet = ? AND nonce = ? AND client_id = ? AND kind = 'swap'"
OPEN = "status IN ('pending', 'submitted', 'mining')"
AT_LARGE = "watched = 1 AND failure_code IN ('REFUSED', 'EXPIRED')"
_MAY_PAY = f"{_OF} AND {OPEN} UNION ALL {_OF} AND {AT_LARGE}"
"""Orders at a nonce that may still be mined. A decided or unsent one pays no more."""
_TAKE_AGAIN = "UPDATE quotes SET used_nonce = ? WHERE quote_id = ?"


async def admit(transaction: Transaction, order: Order, spends: Sequence[str]) -> None:
    """Take the order's quote and those of `spends`, and count the order for its client's limits.

    Raises ValidationError (QUOTE_USED) if an order at another nonce may still pay a quote, and the
    errors of the limits.
    """
    own = () if order.quote_id is None else (order.quote_id,)
    for quote_id in sorted({*own, *spends}):  # in one order, so that no two wait for each other
        rows = await transaction.fetch(_TAKE, str(order.nonce), quote_id)
        if not rows or rows[0][0] == str(order.nonce):
            continue
        at = (order.wallet, rows[0][0], order.client_id)
        if await transaction.fetch(_MAY_PAY, *at, *at):
            raise quote_used(int(rows[0][0]), order.nonce)
        await transaction.fetch(_TAKE_AGAIN, str(order.nonce), quote_id)
    await admit_order(transaction, order)
