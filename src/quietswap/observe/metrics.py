"""Every metric of the service. Children are made once: looking one up costs a tenth of making it.

With several processes their values lie in files of one folder (`SHARED`), which the server names
before it imports this module; whichever process is asked then answers for all of them.
"""

import contextlib
import os
from functools import cache
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from quietswap.domain.order import Status

SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable by which prometheus_client learns of the folder."""

registry = CollectorRegistry()

_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_TO_CONFIRM = (6.0, 12.0, 24.0, 36.0, 48.0, 60.0, 90.0, 120.0, 180.0, 300.0, 600.0, 1200.0, 1800.0)
"""Seconds: a slot has twelve, an order usually expires after 1800."""


def _counter(name: str, text: str, *labels: str) -> Counter:
    return Counter(f"quietswap_{name}", text, labels, registry=registry)


def _histogram(
    name: str, text: str, *labels: str, buckets: tuple[float, ...] = _SECONDS
) -> Histogram:
    return Histogram(f"quietswap_{name}", text, labels, buckets=buckets, registry=registry)


def _gauge(name: str, text: str, *labels: str) -> Gauge:
    """Of several processes the one that set it last tells: only one follows the orders."""
    return Gauge(
        f"quietswap_{name}", text, labels, registry=registry, multiprocess_mode="livemostrecent"
    )


def _number(name: str, text: str) -> Gauge:
    """How many of several processes it is true of."""
    return Gauge(f"quietswap_{name}", text, registry=registry, multiprocess_mode="livesum")


requests = cache(
    _counter(
        "requests", "Answers by endpoint, status and error code", "endpoint", "status", "code"
    ).labels
)
request_seconds = cache(
    _histogram("request_seconds", "Time to answer by endpoint", "endpoint").labels
)
phase_seconds = cache(_histogram("quote_phase_seconds", "Quote latency by phase", "phase").labels)
source_answers = cache(
    _counter("source_answers", "Answers of a source by outcome", "source", "outcome").labels
)
source_seconds = cache(_histogram("source_seconds", "Time a source took", "source").labels)
source_wins = cache(_counter("source_wins", "Quotes that name the source's route", "source").labels)
overquotes = cache(
    _counter("source_overquotes", "Routes that simulate below their promise", "source").labels
)
verifications = cache(
    _counter(
        "verifications", "Routes by what money rules and simulation said", "source", "verdict"
    ).labels
)
outages = _counter(
    "verification_outages", "Times the node could not simulate the routes of a quote"
)
order_moves = cache(
    _counter("order_moves", "Order transitions by resulting status", "status").labels
)
orders_watched = cache(
    _gauge("orders_watched", "Orders the tracker follows, by their status", "status").labels
)
confirm_seconds = _histogram(
    "order_confirm_seconds", "Time from submission to confirmation", buckets=_TO_CONFIRM
)
relay_answers = cache(
    _counter("relay_answers", "Relay answers by outcome", "relay", "outcome").labels
)
relay_seconds = cache(_histogram("relay_seconds", "Time a relay took to answer", "relay").labels)
resent = cache(
    _counter(
        "orders_resent", "Times the tracker sent the same bytes again, by answer", "outcome"
    ).labels
)
leads = _number("tracker_leads", "1 while this process follows the orders")
may_lead = _number("tracker_enabled", "1 if this process may follow orders")
lag = _gauge("tracker_lag_blocks", "Blocks the tracker is behind")
reorgs = _counter("reorgs", "Reorganisations seen")
node_errors = cache(_counter("node_errors", "Failed node calls by kind", "node", "kind").labels)


def begin(sources: tuple[str, ...]) -> None:
    """Show series at zero that matter from the first step: of one born at 1 no alert sees it."""
    for source in sources:
        verifications(source, "unsafe")
        source_wins(source)
        overquotes(source)
    for status in Status:
        orders_watched(status)


def exposition() -> bytes:
    """Return the metrics of all processes in Prometheus' text format. Takes milliseconds."""
    folder = os.environ.get(SHARED)
    if folder is None:
        return generate_latest(registry)
    _bury_the_dead(Path(folder))
    everything = CollectorRegistry()
    MultiProcessCollector(everything, folder)  # type: ignore[no-untyped-call]
    return generate_latest(everything)


def _bury_the_dead(folder: Path) -> None:
    """Let go of the gauges of processes that ended; what they had counted stays counted."""
    for file in folder.glob("gauge_live*_*.db"):
        process = int(file.stem.rpartition("_")[2])
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            with contextlib.suppress(FileNotFoundError):  # another process was quicker
                mark_process_dead(process, str(folder))  # type: ignore[no-untyped-call]
