"""A stream of events with scripted batches, for tests of the edge."""

from quietswap.service.storage.event_rows import StoredEvent


class ScriptedStream:
    """A stream that has these batches and then ends."""

    def __init__(self, batches: list[list[StoredEvent]]) -> None:
        self.sequence = 41
        self.is_closed = False
        self._batches = batches

    async def next(self) -> list[StoredEvent] | None:
        if self.is_closed or not self._batches:
            return None
        batch = self._batches.pop(0)
        self.sequence = batch[-1].sequence if batch else self.sequence
        return batch

    def close(self) -> None:
        self.is_closed = True
