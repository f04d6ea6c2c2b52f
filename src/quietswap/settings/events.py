"""Settings of the event stream."""

from typing import Annotated

from quietswap.settings.section import Section, says


class EventsConfig(Section, frozen=True):
    """The stream of order events."""

    streams_per_client: Annotated[
        int, says("Open streams of one client in one process.", ge=1, le=1_000_000_000)
    ] = 20
    max_streams: Annotated[
        int, says("Open streams of one process, of all clients.", ge=1, le=1_000_000_000)
    ] = 2000
