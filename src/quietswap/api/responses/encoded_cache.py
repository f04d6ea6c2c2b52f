"""Answers that are asked for again and again, encoded once: a third of what a poll takes."""

from functools import lru_cache
from weakref import WeakKeyDictionary

import msgspec

from quietswap.api.responses import orders
from quietswap.domain.order.order_view import OrderPage, OrderView

_RECORDS = 4_096
"""Answers of some 600 bytes."""

_encode = msgspec.json.Encoder().encode


@lru_cache(maxsize=_RECORDS)
def encoded_order_status(order: OrderView) -> msgspec.Raw:
    """Return `data` of GET /api/v1/mev/orders/:orderId; equal records have equal answers."""
    return msgspec.Raw(_encode(orders.order_status_response(order)))


_pages: WeakKeyDictionary[OrderPage, tuple[tuple[int, int], msgspec.Raw]] = WeakKeyDictionary()


def encoded_order_history(page: OrderPage, limit: int, offset: int) -> msgspec.Raw:
    """Return `data` of GET /api/v1/mev/orders/user/:userAddress.

    It is kept for as long as whoever read the page keeps it.
    """
    kept = _pages.get(page)
    if kept is None or kept[0] != (limit, offset):
        data = msgspec.Raw(_encode(orders.order_history_response(page, limit, offset)))
        _pages[page] = kept = (limit, offset), data
    return kept[1]
