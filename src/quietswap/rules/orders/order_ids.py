"""Order ids."""

import secrets

from quietswap.rules.orders.order import OrderKind

PREFIX_OF = {
    OrderKind.SWAP: "ord",
    OrderKind.WRAP: "wrp",
    OrderKind.CANCEL: "cnl",
    OrderKind.APPROVAL: "apr",
    OrderKind.TRANSACTION: "txn",
}
PREFIXES = tuple(PREFIX_OF.values())
"""Prefixes of order ids. Retention finds old orders by prefix and time."""


def new_order_id(prefix: str, now_ms: int) -> str:
    """Return `prefix`, 12 hexadecimal digits of Unix ms and 20 random ones.

    As with UUIDv7 (RFC 9562, section 5.7), new ids are adjacent in an index. Inserts of an order
    and its events then use index pages that are in memory, whatever the number of orders.
    """
    assert prefix in PREFIXES
    return f"{prefix}_{now_ms:012x}{secrets.token_hex(10)}"
