"""All metrics of the service. Children are cached, because creating one costs ten times a lookup.

Several processes store their values in files of one folder (`SHARED`). The server sets it before it
imports this module. Each process then returns the metrics of all.
"""

import contextlib
import math
import os
import platform
import resource
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from quietswap import __version__
from quietswap.clients.client import party_of
from quietswap.orders.order import OrderStatus
from quietswap.webhooks.webhook import DisabledReason

SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable with the folder, read by prometheus_client."""

registry = CollectorRegistry()

_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_TO_CONFIRM = (6.0, 12.0, 24.0, 36.0, 48.0, 60.0, 90.0, 120.0, 180.0, 300.0, 600.0, 1200.0, 1800.0)
"""Seconds. A slot takes 12; by default an order expires after 1800."""

_BLOCKS = (1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0, 55.0, 89.0, 150.0)
_PLACES = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
_DELIVERED = (-1000.0, -100.0, -50.0, -20.0, -10.0, -5.0, -1.0, 0.0, 5.0, 10.0, 50.0, 100.0)
"""Basis points; below zero means less than the quote."""


def _counter(name: str, text: str, *labels: str) -> Counter:
    return Counter(f"quietswap_{name}", text, labels, registry=registry)


def _histogram(
    name: str, text: str, *labels: str, buckets: tuple[float, ...] = _SECONDS
) -> Histogram:
    return Histogram(f"quietswap_{name}", text, labels, buckets=buckets, registry=registry)


def _gauge(name: str, text: str, *labels: str) -> Gauge:
    """With several processes, the most recent value counts: only one process tracks orders."""
    return Gauge(
        f"quietswap_{name}", text, labels, registry=registry, multiprocess_mode="livemostrecent"
    )


def _number(name: str, text: str) -> Gauge:
    """With several processes, their sum."""
    return Gauge(f"quietswap_{name}", text, registry=registry, multiprocess_mode="livesum")


requests = cache(
    _counter(
        "requests", "Answers by endpoint, status and error code", "endpoint", "status", "code"
    ).labels
)
client_requests = cache(
    _counter("client_requests", "Answers by client and endpoint", "client", "endpoint").labels
)
client_refusals = cache(
    _counter("client_refusals", "Answers by client and code of its limits", "client", "code").labels
)
MOST_CLIENTS = 100
"""Clients with series of their own in one process; the others share the label `other`."""
_clients: set[str] = set()


def client_label(client_id: str) -> str:
    """Return the label of a client, which bounds the number of series.

    All visitors of the web page have one label: anybody makes sessions, and they would take the
    series of clients.
    """
    client_id = party_of(client_id).name
    if client_id in _clients:
        return client_id
    if len(_clients) >= MOST_CLIENTS:
        return "other"
    _clients.add(client_id)
    return client_id


request_seconds = cache(
    _histogram("request_seconds", "Time to answer by endpoint", "endpoint").labels
)
wallet_rpc_calls = cache(
    _counter(
        "wallet_rpc_calls", "Calls of wallets by method and error code", "method", "code"
    ).labels
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
reference_bps = cache(
    _histogram(
        "source_reference_bps",
        "Promises of a source against the pools' price before fees, in basis points",
        "source",
        buckets=_DELIVERED,
    ).labels
)
source_rank = cache(
    _histogram(
        "source_rank", "Place of a source's route in a quote", "source", buckets=_PLACES
    ).labels
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
inclusion_blocks = cache(
    _histogram(
        "order_inclusion_blocks",
        "Blocks from the relay's acceptance to inclusion",
        "source",
        "tier",
        buckets=_BLOCKS,
    ).labels
)
inclusion_seconds = cache(
    _histogram(
        "order_inclusion_seconds",
        "Time from the relay's acceptance to the block",
        "source",
        "tier",
        buckets=_TO_CONFIRM,
    ).labels
)
delivered_bps = cache(
    _histogram(
        "order_delivered_bps",
        "Received against quoted output in basis points",
        "source",
        buckets=_DELIVERED,
    ).labels
)
refunds = cache(
    _counter("order_refunds", "Refunds that relays report or paid", "tier", "status").labels
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
connections_closed = _counter(
    "connections_closed",
    "Connections without a request that were closed, because there were too many",
)
streams = _number("event_streams", "Open streams of events")
streams_ended = cache(
    _counter("event_streams_ended", "Streams of events that ended, by reason", "reason").labels
)
events_sent = _counter("events_sent", "Events sent to streams")
deleted = _counter("orders_deleted", "Orders that retention deleted")
webhook_deliveries = cache(
    _counter("webhook_deliveries", "Requests to webhooks by outcome", "outcome").labels
)
webhook_seconds = _histogram("webhook_seconds", "Time a receiver took to answer a webhook")
webhooks_disabled = cache(
    _counter("webhooks_disabled", "Webhooks disabled by the service, by reason", "reason").labels
)
webhook_events_lost = _counter(
    "webhook_events_lost", "Events deleted by retention before they were delivered"
)
certificate = cache(
    _gauge(
        "tls_certificate_expiry_timestamp_seconds",
        "When the service's own TLS certificate ends, Unix seconds",
        "file",
    ).labels
)
_build = _gauge("build_info", "1, with the version as labels", "version", "python")
_memory = _gauge(
    "resident_memory_bytes", "Memory of this service's processes (Linux; elsewhere NaN)"
)
leads = _number("tracker_leads", "1 while this process follows the orders")
may_lead = _number("tracker_enabled", "1 if this process may follow orders")
lag = _gauge("tracker_lag_blocks", "Blocks the tracker is behind")
reorgs = _counter("reorgs", "Reorganisations seen")
node_errors = cache(_counter("node_errors", "Failed node calls by kind", "node", "kind").labels)


def begin(sources: tuple[str, ...]) -> None:
    """Create the series of alerts with value 0: an alert misses a series that starts at 1."""
    for source in sources:
        verifications(source, "unsafe")
        source_wins(source)
        overquotes(source)
    for status in OrderStatus:
        orders_watched(status)
    for reason in DisabledReason:
        webhooks_disabled(reason.value)
    _build.labels(__version__, platform.python_version()).set(1)


def exposition() -> bytes:
    """Return the metrics of all processes in Prometheus' text format. Takes milliseconds."""
    folder = os.environ.get(SHARED)
    if folder is None:
        _memory.set(_resident([os.getpid()]))
        return generate_latest(registry)
    _bury_the_dead(Path(folder))
    _memory.set(_resident(_processes(Path(folder))))
    everything = CollectorRegistry()
    _WrittenFiles(everything, folder)  # type: ignore[no-untyped-call]
    return generate_latest(everything)


class _WrittenFiles(MultiProcessCollector):
    """Collects the files of all processes, except those that a process has just created.

    Such a file is empty for a moment, and the library's collector raises struct.error for it.
    """

    def collect(self) -> Iterable[Metric]:
        written = []
        for file in Path(self._path).glob("*.db"):
            with contextlib.suppress(FileNotFoundError):  # gauges of an ended process
                if file.stat().st_size:
                    written.append(str(file))
        metrics: Iterable[Metric] = self.merge(written)  # type: ignore[no-untyped-call]
        return metrics


def _processes(folder: Path) -> set[int]:
    return {int(file.stem.rpartition("_")[2]) for file in folder.glob("gauge_live*_*.db")}


def _resident(processes: Iterable[int]) -> float:
    """Return the resident memory in bytes. Shared pages count once per process.

    It is the second number of https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html.
    """
    pages, known = 0, False
    for process in processes:
        with contextlib.suppress(OSError):  # the process ended, or the system is not Linux
            pages += int(Path(f"/proc/{process}/statm").read_text("ascii").split()[1])
            known = True
    return pages * resource.getpagesize() if known else math.nan


def _bury_the_dead(folder: Path) -> None:
    """Remove the gauges of processes that ended. Their counters remain."""
    for file in folder.glob("gauge_live*_*.db"):
        process = int(file.stem.rpartition("_")[2])
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            with contextlib.suppress(FileNotFoundError):  # another process removed it first
                mark_process_dead(process, str(folder))  # type: ignore[no-untyped-call]
