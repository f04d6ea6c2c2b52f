"""The handler of the event stream."""

from quietswap.rules.contract.webhooks import (
    EventStreamHeaders,
    EventStreamQuery,
    OrderEventMessage,
)
from quietswap.service.api.operation import ApiRequest, operation
from quietswap.service.events.event_stream_answer import EventStreamAnswer
from quietswap.service.events.resume_point import parse_event_filter, parse_resume_point


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
