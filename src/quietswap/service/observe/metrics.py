"""All metrics of the service. Children are cached, because creating one costs ten times a lookup.

Several processes store their values in files of one folder (`SHARED`). The server sets it before it
imports this module. Each process then returns the metrics of all.
"""

import contextlib
import math
import os
import platform
import resource
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from quietswap import __version__
from quietswap.rules.clients import party_of
from quietswap.rules.operator.figures import FAR_BELOW_BPS
from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.webhooks.webhook import DisabledReason

SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable with the folder, read by prometheus_client."""

registry = CollectorRegistry()

_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_TO_CONFIRM = (6.0, 12.0, 24.0, 36.0, 48.0, 60.0, 90.0, 120.0, 180.0, 300.0, 600.0, 1200.0, 1800.0)
"""Seconds. A slot takes 12; by default an order expires after 1800."""

_BLOCKS = (1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0, 55.0, 89.0, 150.0)
_RATIOS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
_PLACES = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
_DELIVERED = (-1000.0, -100.0, -50.0, -20.0, -10.0, -5.0, -1.0, 0.0, 5.0, 10.0, 50.0, 100.0)
"""Basis points; below zero means less than the quote."""


_Mode = Literal["livemostrecent", "livesum"]


def _counter(name: str, text: str, labels: str = "") -> Counter:
    return Counter(f"quietswap_{name}", text, labels.split(), registry=registry)


def _counters(name: str, text: str, labels: str) -> Callable[..., Counter]:
    return cache(_counter(name, text, labels).labels)


def _histogram(
    name: str, text: str, labels: str = "", buckets: tuple[float, ...] = _SECONDS
) -> Histogram:
    name, names = f"quietswap_{name}", labels.split()
    return Histogram(name, text, names, buckets=buckets, registry=registry)


def _histograms(
    name: str, text: str, labels: str, buckets: tuple[float, ...] = _SECONDS
) -> Callable[..., Histogram]:
    return cache(_histogram(name, text, labels, buckets).labels)


def _gauge(name: str, text: str, labels: str = "", mode: _Mode = "livemostrecent") -> Gauge:
    """`mode` is that of several processes: the most recent value, or their sum (`livesum`)."""
    name, names = f"quietswap_{name}", labels.split()
    return Gauge(name, text, names, registry=registry, multiprocess_mode=mode)


def _gauges(name: str, text: str, labels: str) -> Callable[..., Gauge]:
    return cache(_gauge(name, text, labels).labels)


requests = _counters(
    "requests", "Answers by endpoint, status and error code", "endpoint status code"
)
client_requests = _counters("client_requests", "Answers by client and endpoint", "client endpoint")
client_refusals = _counters(
    "client_refusals", "Answers by client and code of its limits", "client code"
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


request_seconds = _histograms("request_seconds", "Time to answer by endpoint", "endpoint")
wallet_rpc_calls = _counters(
    "wallet_rpc_calls", "Calls of wallets by method and error code", "method code"
)
phase_seconds = _histograms("quote_phase_seconds", "Quote latency by phase", "phase")
source_answers = _counters("source_answers", "Answers of a source by outcome", "source outcome")
source_seconds = _histograms("source_seconds", "Time a source took", "source")
source_wins = _counters("source_wins", "Quotes that name the source's route", "source")
overquotes = _counters("source_overquotes", "Routes that simulate below their promise", "source")
large_overquotes = _counters(
    "source_large_overquotes",
    f"Routes that simulate more than {FAR_BELOW_BPS} bps below their promise",
    "source",
)
reference_bps = _histograms(
    "source_reference_bps",
    "Promises of a source against the pools' price before fees, in basis points",
    "source",
    buckets=_DELIVERED,
)
source_rank = _histograms(
    "source_rank", "Place of a source's route in a quote", "source", buckets=_PLACES
)
verifications = _counters(
    "verifications", "Routes by what money rules and simulation said", "source verdict"
)
outages = _counter(
    "verification_outages", "Times the node could not simulate the routes of a quote"
)
order_moves = _counters("order_moves", "Order transitions by resulting status", "status")
orders_watched = _gauges("orders_watched", "Orders the tracker follows, by their status", "status")
confirm_seconds = _histogram(
    "order_confirm_seconds", "Time from submission to confirmation", buckets=_TO_CONFIRM
)
inclusion_blocks = _histograms(
    "order_inclusion_blocks",
    "Blocks from the relay's acceptance to inclusion",
    "source tier",
    buckets=_BLOCKS,
)
inclusion_seconds = _histograms(
    "order_inclusion_seconds",
    "Time from the relay's acceptance to the block",
    "source tier",
    buckets=_TO_CONFIRM,
)
order_builders = _counters("order_builders", "Orders in a block by the block's builder", "builder")
base_fee_ratio = _histograms(
    "order_base_fee_ratio",
    "Base fee of its block against the order's fee cap",
    "tier",
    buckets=_RATIOS,
)
fullness_ratio = _histograms(
    "order_block_fullness_ratio", "Gas used of the gas limit of its block", "tier", buckets=_RATIOS
)
delivered_bps = _histograms(
    "order_delivered_bps",
    "Received against quoted output in basis points",
    "source",
    buckets=_DELIVERED,
)
refunds = _counters("order_refunds", "Refunds that relays report or paid", "tier status")
relay_answers = _counters("relay_answers", "Relay answers by outcome", "relay outcome")
relay_seconds = _histograms("relay_seconds", "Time a relay took to answer", "relay")
resent = _counters(
    "orders_resent", "Times the tracker sent the same bytes again, by answer", "outcome"
)
connections_closed = _counter(
    "connections_closed",
    "Connections without a request that were closed, because there were too many",
)
streams = _gauge("event_streams", "Open streams of events", mode="livesum")
streams_ended = _counters(
    "event_streams_ended", "Streams of events that ended, by reason", "reason"
)
events_sent = _counter("events_sent", "Events sent to streams")
deleted = _counter("orders_deleted", "Orders that retention deleted")
webhook_deliveries = _counters("webhook_deliveries", "Requests to webhooks by outcome", "outcome")
webhook_seconds = _histogram("webhook_seconds", "Time a receiver took to answer a webhook")
webhooks_disabled = _counters(
    "webhooks_disabled", "Webhooks disabled by the service, by reason", "reason"
)
webhook_events_lost = _counter(
    "webhook_events_lost", "Events deleted by retention before they were delivered"
)
certificate = _gauges(
    "tls_certificate_expiry_timestamp_seconds",
    "When the service's own TLS certificate ends, Unix seconds",
    "file",
)
_build = _gauge("build_info", "1, with the version as labels", "version python")
_memory = _gauge(
    "resident_memory_bytes", "Memory of this service's processes (Linux; elsewhere NaN)"
)
dependency_up = _gauges("dependency_up", "1 while a check of /readyz is passed, else 0", "check")
clock_ahead_of_database = _gauge(
    "clock_database_ahead_seconds", "Local clock less that of PostgreSQL"
)
relay_accepted = _gauges(
    "relay_accepted_timestamp_seconds",
    "When a relay last took a transaction, Unix seconds; the start of the process before that",
    "relay",
)
leads = _gauge("tracker_leads", "1 while this process follows the orders", mode="livesum")
may_lead = _gauge("tracker_enabled", "1 if this process may follow orders", mode="livesum")
lag = _gauge("tracker_lag_blocks", "Blocks the tracker is behind")
clock_ahead = _gauge(
    "clock_ahead_seconds", "Local clock less the time of the newest block when it was first seen"
)
reorgs = _counter("reorgs", "Reorganisations seen")
node_errors = _counters("node_errors", "Failed node calls by kind", "node kind")


def begin(sources: tuple[str, ...], relays: Iterable[str] = ()) -> None:
    """Create the series of alerts with value 0: an alert misses a series that starts at 1."""
    for source in sources:
        verifications(source, "unsafe")
        source_wins(source)
        overquotes(source)
        large_overquotes(source)
    for relay in relays:
        relay_accepted(relay).set_to_current_time()
    for status in OrderStatus:
        orders_watched(status)
        order_moves(status)
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
    pages, is_measured = 0, False
    for process in processes:
        with contextlib.suppress(OSError):  # the process ended, or the system is not Linux
            pages += int(Path(f"/proc/{process}/statm").read_text("ascii").split()[1])
            is_measured = True
    return pages * resource.getpagesize() if is_measured else math.nan


def _bury_the_dead(folder: Path) -> None:
    """Remove the gauges of processes that ended. Their counters remain."""
    for file in folder.glob("gauge_live*_*.db"):
        process = int(file.stem.rpartition("_")[2])
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            with contextlib.suppress(FileNotFoundError):  # another process removed it first
                mark_process_dead(process, str(folder))  # type: ignore[no-untyped-call]
