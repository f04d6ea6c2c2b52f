"""The handler of the event stream: where it begins, and which events pass."""

import re
from collections.abc import Mapping

from quietswap.rules import wire as base
from quietswap.rules.contract.watches import WatchEventMessage
from quietswap.rules.contract.webhooks import (
    EventStreamHeaders,
    EventStreamQuery,
    OrderEventMessage,
)
from quietswap.rules.errors.requests import InvalidParameter
from quietswap.service.api.operation import ApiRequest, operation
from quietswap.service.api.parsing.query import shown
from quietswap.service.api.parsing.requests import parse_wallet
from quietswap.service.events.event_stream_answer import EventStreamAnswer
from quietswap.service.events.feed import EventFilter, ResumePoint

_NUMBER = re.compile(base.SEQUENCE_PATTERN.removesuffix("$") + r"\Z")
_ID = re.compile(base.ID_PATTERN.removesuffix("$") + r"\Z")


@operation(
    "GET /api/v1/mev/events",
    "INVALID_PARAMETER INVALID_ADDRESS EVENTS_PRUNED TOO_MANY_STREAMS SERVICE_UNAVAILABLE",
    query=EventStreamQuery,
    headers=EventStreamHeaders,
    streams=(OrderEventMessage, WatchEventMessage),
)
async def event_stream(request: ApiRequest) -> EventStreamAnswer:
    """Events of your orders and watches, as they happen."""
    query = request.query_values(EventStreamQuery)
    after = parse_resume_point(request.headers.get(b"last-event-id"), query)
    only = parse_event_filter(query)
    subscription = await request.use.events.follow(request.key.client_id, after, only)
    return EventStreamAnswer(subscription, request.is_key_valid, request.slow_reader_s)


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
