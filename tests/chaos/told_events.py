"""What clients were told: the events of each order tell the same way as its diary."""

import asyncio
import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import httpx

from quietswap.rules.orders.order_changes import OrderChange, change_by
from tests import loopback
from tests.chaos.environment import CampaignEnvironment
from tests.chaos.invariants import Row, StoredState, read_stored_state

_READ_TIMEOUT_S = 15
"""The service sends something every ten seconds."""
_LATEST_S = 40


class StreamReader:
    """Follows the stream through kills, each time from the place that it has."""

    def __init__(self, stage: CampaignEnvironment) -> None:
        self._url = f"{stage.victim.url}/api/v1/mev/events"
        self._key = stage.key
        self.events: list[dict[str, Any]] = []
        self.connections = 0

    async def run(self) -> None:
        """Read until cancelled."""
        async with loopback.AsyncClient(timeout=_READ_TIMEOUT_S) as http:
            while True:
                with contextlib.suppress(httpx.HTTPError):
                    await self._read(http)
                await asyncio.sleep(0.1)

    async def _read(self, http: httpx.AsyncClient) -> None:
        place = self.events[-1]["sequence"] if self.events else 0
        headers = {"X-API-Key": self._key, "Last-Event-ID": str(place)}
        async with http.stream("GET", self._url, headers=headers) as answer:
            if answer.status_code != 200:
                return
            self.connections += 1
            async for line in answer.aiter_lines():
                if line.startswith("data: "):
                    self.events.append(json.loads(line.removeprefix("data: ")))

    async def caught_up(self, newest: int) -> None:
        """Return once it has the newest event, or after a long time."""
        until = time.monotonic() + _LATEST_S
        while time.monotonic() < until:
            if self.events and self.events[-1]["sequence"] >= newest:
                return
            await asyncio.sleep(0.1)


def read_events(stage: CampaignEnvironment) -> list[Row]:
    """Return the stored events in the order of each client's sequence."""
    with closing(sqlite3.connect(f"file:{stage.database}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        rows = connection.execute("SELECT * FROM events ORDER BY client_id, sequence")
        return [dict(row) for row in rows]


def read_both(stage: CampaignEnvironment) -> tuple[StoredState, list[Row]]:
    """Return orders and events of one moment: the tracker may still finalise orders."""
    while True:
        events = read_events(stage)
        books = read_stored_state(stage.database)
        if len(read_events(stage)) == len(events):
            return books, events


def told_faults(
    books: StoredState, events: Sequence[Row], streamed: Sequence[dict[str, Any]]
) -> list[str]:
    """Return everything that was told wrongly, in words."""
    return [*_numbering(events), *_diaries(books, events), *_stream(events, streamed)]


def _numbering(events: Sequence[Row]) -> Iterator[str]:
    last: dict[str, int] = {}
    for row in events:
        client = row["client_id"]
        if row["sequence"] != last.get(client, 0) + 1:
            yield f"event {row['sequence']} of {client} follows {last.get(client, 0)}"
        last[client] = row["sequence"]
    if len({row["event_id"] for row in events}) != len(events):
        yield "two events have one id"


def _diaries(books: StoredState, events: Sequence[Row]) -> Iterator[str]:
    told: dict[str, list[tuple[str, str, int]]] = {row["order_id"]: [] for row in books.orders}
    for row in events:
        record = json.loads(row["record"])
        told.setdefault(record["order_id"], []).append(
            (row["type"], record["status"], row["at_ms"])
        )
    for order_id, lines in told.items():
        diary = books.diaries.get(order_id, ())
        changes = [
            (change, line) for line in diary if (change := change_by(line["sighting"])) is not None
        ]
        wanted = [(change.value, line["to_status"], line["at_ms"]) for change, line in changes]
        if lines != wanted:
            yield f"{order_id} was told as {lines}, its diary says {wanted}"
        if any(kind == OrderChange.FINALIZED for kind, *_ in lines[:-1]):
            yield f"{order_id} went on after it was final: {lines}"


def _stream(events: Sequence[Row], streamed: Sequence[dict[str, Any]]) -> Iterator[str]:
    stored = [(row["sequence"], row["event_id"], row["type"]) for row in events]
    read = [(event["sequence"], event["id"], event["type"]) for event in streamed]
    if read != stored:
        missing, invented = set(stored) - set(read), set(read) - set(stored)
        yield f"the stream differs: {len(missing)} missing, {len(invented)} invented, or an order"
