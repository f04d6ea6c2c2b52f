"""The handler of the event stream."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from quietswap.rules import wire as base
from quietswap.rules.contract.webhooks import (
    EventStreamHeaders,
    EventStreamQuery,
    Finality,
    OrderEventMessage,
)
from quietswap.rules.errors.requests import InvalidParameter
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service import observe
from quietswap.service.api import event_sender as sender
from quietswap.service.api.json import Receive, Send, iso_timestamp
from quietswap.service.api.operation import ApiRequest, operation
from quietswap.service.api.parsing.query import shown
from quietswap.service.api.parsing.requests import parse_wallet
from quietswap.service.events.feed import EventFilter, EventSubscription, ResumePoint
from quietswap.service.orders.http import order_status_response
from quietswap.service.storage.events import StoredEvent

# Events of orders: domain values to the text of a stream.
#
# https://html.spec.whatwg.org/multipage/server-sent-events.html

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


# Sends the events of a subscription until one side ends the stream.
#
# Every end is clean for the client: it reconnects with the last id that it has. There are five: the
# process stops, the client goes away, its key is revoked, it reads too slowly, or the events that
# follow cannot be read.

_MOST_EVENTS = 50
"""Events per message, about 40 KB: a slow reader is noticed early."""


@dataclass(frozen=True, slots=True)
class EventStreamAnswer:
    """The answer of a stream: the events of `subscription`, until one side ends it.

    `may_go_on` is asked every ten seconds. A client that takes no data for `slow_s` seconds is cut.
    """

    subscription: EventSubscription
    may_go_on: Callable[[], Awaitable[bool]]
    slow_s: float

    async def respond(self, receive: Receive, send: Send, *, has_body: bool) -> None:
        """Send the stream and close the subscription; no event for HEAD."""
        subscription = self.subscription
        try:
            async with sender.event_sender(
                receive, send, slow_s=self.slow_s, on_leave=subscription.close
            ) as stream:
                why = "head"
                if has_body:
                    why = await _send_events(subscription, self.may_go_on, stream)
                observe.stream_ended(why)
                if why != "slow":
                    await stream.end()
        finally:
            subscription.close()


async def _send_events(
    subscription: EventSubscription,
    may_go_on: Callable[[], Awaitable[bool]],
    stream: sender.EventSender,
) -> str:
    """Send until the end, and return its reason."""
    try:
        await stream.write(opening_text(subscription.sequence))
        while (events := await subscription.next()) is not None:
            for start in range(0, len(events), _MOST_EVENTS):
                part = events[start : start + _MOST_EVENTS]
                await stream.write(b"".join(map(event_text, part)))
            if events:
                observe.events_sent(len(events))
                continue
            if not await _is_allowed(may_go_on):
                return "revoked"
            await stream.write(beat_text(subscription.sequence))
    except TimeoutError:
        return "slow"
    return "ended"


async def _is_allowed(may_go_on: Callable[[], Awaitable[bool]]) -> bool:
    """Return whether the key is still valid; True if the database does not answer."""
    try:
        return await may_go_on()
    except StoreUnavailable:
        return True


@operation(
    "GET /api/v1/mev/events",
    "INVALID_PARAMETER INVALID_ADDRESS EVENTS_PRUNED TOO_MANY_STREAMS SERVICE_UNAVAILABLE",
    query=EventStreamQuery,
    headers=EventStreamHeaders,
    streams=OrderEventMessage,
)
async def event_stream(request: ApiRequest) -> EventStreamAnswer:
    """Events of your orders, as they happen."""
    query = request.query_values(EventStreamQuery)
    after = parse_resume_point(request.headers.get(b"last-event-id"), query)
    only = parse_event_filter(query)
    subscription = await request.use.events.follow(request.key.client_id, after, only)
    return EventStreamAnswer(subscription, request.is_key_valid, request.slow_reader_s)
