"""Events of orders: domain values to the text of a stream.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from functools import lru_cache

from quietswap.rules.contract.webhooks import (
    Finality,
    OrderEventMessage,
)
from quietswap.service.api import event_sender as sender
from quietswap.service.api.json import iso_timestamp
from quietswap.service.orders.order_response import order_status_response
from quietswap.service.storage.event_rows import StoredEvent

RETRY_MS = 2000


def order_event_message(event: StoredEvent) -> OrderEventMessage:
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
    """Return one event as text, encoded once for all streams."""
    return sender.event_text(event.type.value, order_event_message(event), event.sequence)


def opening_text(sequence: int) -> bytes:
    """Return the first text of a stream: when to reconnect, and from where."""
    return b"retry: %d\nid: %d\n\n" % (RETRY_MS, sequence)


def beat_text(sequence: int) -> bytes:
    """Return a comment, with the place of the stream.

    A filtered stream has passed events that were not sent; it resumes after them.
    """
    return b": beat\nid: %d\n\n" % sequence
