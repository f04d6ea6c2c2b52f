"""Events of orders: domain values to the text of a stream.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from functools import lru_cache

import msgspec

from quietswap.api.responses.json_values import iso_timestamp
from quietswap.api.responses.orders import order_status_response
from quietswap.contract.events import Finality, OrderEventMessage
from quietswap.ports.events import StoredEvent

RETRY_MS = 2000
_encode = msgspec.json.Encoder().encode


def order_event_message(event: StoredEvent) -> OrderEventMessage:
    """Return the `data` of an event."""
    return OrderEventMessage(
        id=event.event_id,
        sequence=event.sequence,
        type=event.type.value,
        at=iso_timestamp(event.at_ms),
        order=order_status_response(event.order),
        finality=Finality(depth=event.depth, finalized=event.finalized),
    )


@lru_cache(maxsize=4096)
def event_text(event: StoredEvent) -> bytes:
    """Return one event as text, encoded once for all streams. Its JSON has no line break."""
    head = f"id: {event.sequence}\nevent: {event.type.value}\ndata: ".encode()
    return b"%b%b\n\n" % (head, _encode(order_event_message(event)))


def opening_text(sequence: int) -> bytes:
    """Return the first text of a stream: when to reconnect, and from where."""
    return b"retry: %d\nid: %d\n\n" % (RETRY_MS, sequence)


def beat_text(sequence: int) -> bytes:
    """Return a comment, with the place of the stream.

    A filtered stream has passed events that were not sent; it resumes after them.
    """
    return b": beat\nid: %d\n\n" % sequence
