"""Responses about orders as JSON. A store may cache them, because they are functions of the orders.

A poll then takes neither the read nor the encoding.
"""

import msgspec

from quietswap.api.responses import orders
from quietswap.api.use_cases import EncodedPage
from quietswap.domain.order.order_view import OrderPage, OrderView

_encode = msgspec.json.Encoder().encode


def encoded_order_status(order: OrderView) -> msgspec.Raw:
    """Return `data` of GET /api/v1/mev/orders/:orderId."""
    return msgspec.Raw(_encode(orders.order_status_response(order)))


def encoded_order_history(page: OrderPage, limit: int, offset: int) -> EncodedPage:
    """Return a page that was read at `offset`."""
    data = _encode(orders.order_history_response(page, limit, offset))
    return EncodedPage(msgspec.Raw(data), page.total)
