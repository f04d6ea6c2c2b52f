"""One function per event of the event streams that is logged or counted."""

from quietswap.observe import metrics
from quietswap.observe.logs import log


def events_waiting(reason: str) -> None:
    """New events could not be read from the database. Streams stay open; the read is repeated."""
    log.warning("events_waiting", reason=reason)


def streams_open(count: int) -> None:
    """A stream of events was opened or closed; `count` are open in this process."""
    metrics.streams.set(count)


def stream_ended(reason: str) -> None:
    """The service ended a stream: ended, revoked, slow, or head for a HEAD request."""
    metrics.streams_ended(reason).inc()


def events_sent(count: int) -> None:
    """Events were sent to one stream."""
    metrics.events_sent.inc(count)
