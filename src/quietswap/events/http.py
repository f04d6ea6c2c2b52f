"""The handler of the event stream."""

import re
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from quietswap.api.json import AuthenticatedRequest, iso_timestamp
from quietswap.api.parsing.query import shown
from quietswap.api.parsing.requests import parse_wallet
from quietswap.api.use_cases import EventSubscription, UseCases
from quietswap.contract import base
from quietswap.contract.events import EventStreamQuery, Finality, OrderEventMessage
from quietswap.errors.requests import InvalidParameter
from quietswap.events.event import EventFilter, ResumePoint, StoredEvent
from quietswap.orders.http import order_status_response

# Events of orders: domain values to the text of a stream.
#
# https://html.spec.whatwg.org/multipage/server-sent-events.html


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


# Where a stream of events begins, and which events pass.


_NUMBER = re.compile(base.SEQUENCE_PATTERN.removesuffix("$") + r"\Z")
_ID = re.compile(base.ID_PATTERN.removesuffix("$") + r"\Z")


def parse_resume_point(header: bytes | None, query: Mapping[str, str]) -> ResumePoint | None:
    """Return the last event that the client has; None if it names none.

    Last-Event-ID counts more than `after`: a client that reconnects repeats its URL, and the header
    is newer. An empty header is no header. Raises InvalidParameter.
    """
    text = query.get("after")
    after = None if text is None else _resume_point(text, "after")
    return _resume_point(header.decode("latin-1"), "Last-Event-ID") if header else after


def _resume_point(text: str, parameter: str) -> ResumePoint:
    if not _NUMBER.fullmatch(text):
        raise InvalidParameter(
            parameter=parameter,
            provided=shown(text),
            reason="it must be the number of an event: the value of its `id:`",
        )
    return ResumePoint(int(text), parameter)


def parse_event_filter(query: Mapping[str, str]) -> EventFilter:
    """Return the filter of a stream. Raises InvalidParameter and InvalidAddress."""
    order_id, wallet = query.get("orderId"), query.get("userAddress")
    if order_id is not None and not _ID.fullmatch(order_id):
        reason = "it must be the id of an order: up to 128 printable characters"
        raise InvalidParameter(parameter="orderId", provided=shown(order_id), reason=reason)
    return EventFilter(order_id, None if wallet is None else parse_wallet(wallet))


async def event_stream(use_cases: UseCases, request: AuthenticatedRequest) -> EventSubscription:
    """GET /api/v1/mev/events."""
    query = request.query_values(EventStreamQuery)
    after = parse_resume_point(request.headers.get(b"last-event-id"), query)
    only = parse_event_filter(query)
    return await use_cases.follow_events(request.key.client_id, after, only)
