"""Send the signed bytes of an order to its relay, with the privacy options of its quote."""

from collections.abc import Awaitable

from quietswap.domain.order.order import Order
from quietswap.domain.order.relay_response import RelayResponse
from quietswap.domain.quote.relay_settings import EndpointType, ShareMode
from quietswap.ports.relay import Relay


def send(relay: Relay, order: Order, raw: bytes) -> Awaitable[RelayResponse]:
    """Send the order's bytes to the endpoint it was issued for, taken from our own table."""
    kind, share = EndpointType(order.endpoint_type), ShareMode(order.share_mode)
    return relay.submit(raw, kind, share)
