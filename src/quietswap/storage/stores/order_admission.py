"""What a new order must pass, in the transaction that stores it: its quote, and its client."""

from quietswap.domain.order.order import Order
from quietswap.domain.order.wallet_transaction import quote_used
from quietswap.storage.database import Transaction
from quietswap.storage.stores.client_usage import admit_order

_TAKE = """
UPDATE quotes SET used_nonce = COALESCE(used_nonce, ?) WHERE quote_id = ? RETURNING used_nonce
"""
"""Parallel orders of one quote wait for each other at its row, so exactly one fixes the nonce."""


async def admit(transaction: Transaction, order: Order) -> None:
    """Take the order's quote, and count the order for the limits of its client.

    Raises ValidationError (QUOTE_USED) if another nonce spends the quote, and the errors of the
    limits.
    """
    if order.quote_id is not None:
        rows = await transaction.fetch(_TAKE, str(order.nonce), order.quote_id)
        if rows and rows[0][0] != str(order.nonce):
            raise quote_used(int(rows[0][0]), order.nonce)
    await admit_order(transaction, order)
