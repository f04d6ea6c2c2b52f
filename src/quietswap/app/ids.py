"""Ids of orders."""

import secrets

from quietswap.ports.outside import Clock


def order_id(prefix: str, clock: Clock) -> str:
    """Return `prefix`, 12 hexadecimal digits of Unix ms and 20 of chance.

    What is new lies side by side in an index, as with UUIDv7 (RFC 9562, section 5.7), so that
    storing an order and its diary touches blocks that are in memory, however many orders there are.
    """
    return f"{prefix}_{clock.now_ms():012x}{secrets.token_hex(10)}"
