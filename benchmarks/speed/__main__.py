"""`make bench`: how fast the service is, beside limits measured in the same run.

Run `python -m benchmarks.speed --rounds 1 --requests 2000 status` for a short form.
"""

import argparse
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import uvloop

from benchmarks.speed import (
    orders,
    processes,
    quotes,
    submission,
    trips,
)
from benchmarks.speed.page import page, table
from benchmarks.speed.row import Row
from benchmarks.speed.stage import Stage, running_stage
from quietswap.service import observe

_ON_STAGE: dict[str, Callable[[Stage, int], Awaitable[list[Row]]]] = {
    "latency": quotes.latency,
    "first_route": quotes.first_route,
    "throughput": quotes.throughput,
    "hanging": quotes.hanging,
    "reading": orders.reading,
    "submission": submission.submission,
    "trips": trips.trips,
}
_ALONE: dict[str, Callable[[int], Awaitable[list[Row]]]] = {
    "decoding": processes.decoding,
    "tracker": processes.tracker,
    "starting": processes.starting,
}
PARTS = (*_ON_STAGE, "memory", *_ALONE)


def arguments(words: list[str]) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=200_000, help="of the memory's row")
    parser.add_argument("--json", type=Path, help="keep the figures in this file")
    parser.add_argument("--page", type=Path, help="write the page of the documentation")
    options = parser.parse_args(words)
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    return options


async def measured(parts: list[str], rounds: int, requests: int) -> list[Row]:
    """Return the rows of the parts, each part on a stage of its own."""
    rows: list[Row] = []
    for part in PARTS:
        if parts and part not in parts:
            continue
        print(f"{part} ...", file=sys.stderr, flush=True)
        if part in _ALONE:
            rows += await _ALONE[part](rounds)
            continue
        async with running_stage() as stage:
            if part == "memory":
                rows += await processes.memory(stage, requests)
            else:
                rows += await _ON_STAGE[part](stage, rounds)
    return rows


def main(words: list[str]) -> None:
    """Measure, print the table, and write what was asked for."""
    options = arguments(words)
    observe.log_nothing()
    rows = uvloop.run(measured(options.parts, options.rounds, options.requests))
    print(table(rows))
    if options.json:
        kept = [row.kept() for row in rows]
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(kept)))
    if options.page:
        kept_page = options.page.read_text("utf-8")
        written = page(kept_page, rows, options.rounds, datetime.now(UTC).date())
        options.page.write_text(written, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
