"""The handler of the event stream."""

from quietswap.api.handlers.request import AuthenticatedRequest
from quietswap.api.request_parsing.parse_events import parse_event_filter, parse_resume_point
from quietswap.api.use_cases import EventSubscription, UseCases
from quietswap.contract.events import EventStreamQuery


async def event_stream(use_cases: UseCases, request: AuthenticatedRequest) -> EventSubscription:
    """GET /api/v1/mev/events."""
    query = request.query_values(EventStreamQuery)
    after = parse_resume_point(request.headers.get(b"last-event-id"), query)
    only = parse_event_filter(query)
    return await use_cases.follow_events(request.key.client_id, after, only)
