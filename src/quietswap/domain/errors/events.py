"""Error codes of the stream of order events."""

from quietswap.domain.errors.base import RequestError


class EventsPruned(RequestError):
    """The events that follow are no longer stored; `oldest` is the first that is."""

    code = "EVENTS_PRUNED"

    def __init__(self, *, provided: int, oldest: int) -> None:
        super().__init__(
            f"the events after {provided} are no longer stored; the oldest is {oldest}",
            {"provided": provided, "oldest": oldest},
            "Read the status of your orders, then follow the stream without a start, or from "
            f"?after={oldest - 1}.",
        )


class TooManyStreams(RequestError):
    """The client has as many open streams as it may have in this process."""

    code = "TOO_MANY_STREAMS"
    retry_after = 10
    """Seconds: a stream whose client has gone away is noticed by then."""

    def __init__(self, *, limit: int, who: str = "this client") -> None:
        super().__init__(
            f"{who} already has {limit} open streams",
            {"limit": limit},
            "Close a stream, or follow several orders with one stream: it has all your events.",
        )
