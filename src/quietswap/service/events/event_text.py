"""Events of orders and watches: domain values to the text of a stream.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from functools import lru_cache

from quietswap.rules.contract.watches import WatchEventMessage
from quietswap.rules.contract.webhooks import (
    Finality,
    OrderEventMessage,
)
from quietswap.service.api import event_sender as sender
from quietswap.service.api.json import iso_timestamp
from quietswap.service.orders.order_response import order_status_response
from quietswap.service.storage.event_rows import ClientEvent, StoredWatchEvent
from quietswap.service.watches.watch_response import watch_response

RETRY_MS = 2000


def event_message(event: ClientEvent) -> OrderEventMessage | WatchEventMessage:
    if isinstance(event, StoredWatchEvent):
        return WatchEventMessage(
            id=event.event_id,
            sequence=event.sequence,
            type=event.type,
            at=iso_timestamp(event.at_ms),
            watch=watch_response(event.watch),
        )
    return OrderEventMessage(
        id=event.event_id,
        sequence=event.sequence,
        type=event.type.value,
        at=iso_timestamp(event.at_ms),
        order=order_status_response(event.order),
        finality=Finality(depth=event.depth, finalized=event.finalized),
    )


@lru_cache(maxsize=4096)
def event_text(event: ClientEvent) -> bytes:
    """Return one event as text, encoded once for all streams."""
    message = event_message(event)
    return sender.event_text(message.type, message, event.sequence)


def opening_text(sequence: int) -> bytes:
    """Return the first text of a stream: when to reconnect, and from where."""
    return b"retry: %d\nid: %d\n\n" % (RETRY_MS, sequence)


def beat_text(sequence: int) -> bytes:
    """Return a comment, with the place of the stream.

    A filtered stream has passed events that were not sent; it resumes after them.
    """
    return b": beat\nid: %d\n\n" % sequence
