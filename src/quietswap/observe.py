"""One function per event worth logging or counting; nothing else in the service logs.

No function here takes a raw transaction, an API key or a URL, so none can leak one.
"""

import logging
import sys

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

log = structlog.get_logger("quietswap")


def log_as_json() -> None:
    """Write one JSON object a line to standard error, as log collectors read them."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def log_nothing() -> None:
    """Keep silent: for commands that print their own findings."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


registry = CollectorRegistry()

_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

_sources = Counter(
    "quietswap_source_answers",
    "Answers of a source by outcome",
    ["source", "outcome"],
    registry=registry,
)
_source_seconds = Histogram(
    "quietswap_source_seconds",
    "Time a source took",
    ["source"],
    buckets=_SECONDS,
    registry=registry,
)
_overquotes = Counter(
    "quietswap_source_overquotes",
    "Routes that simulate below their promise",
    ["source"],
    registry=registry,
)
_phases = Histogram(
    "quietswap_quote_phase_seconds",
    "Quote latency by phase",
    ["phase"],
    buckets=_SECONDS,
    registry=registry,
)
_verifications = Counter(
    "quietswap_verifications",
    "Routes by what the money rules and the simulation said",
    ["verdict"],
    registry=registry,
)
_verifications.labels("unsafe")  # from 0: the first step of a series born at 1 is seen by no alert
_outages = Counter(
    "quietswap_verification_outages",
    "Times the node could not simulate the routes of a quote",
    registry=registry,
)
_moves = Counter(
    "quietswap_order_moves",
    "Order transitions by resulting status",
    ["status"],
    registry=registry,
)
_relay = Counter(
    "quietswap_relay_answers",
    "Relay answers by outcome",
    ["relay", "outcome"],
    registry=registry,
)
_resent = Counter(
    "quietswap_orders_resent",
    "Times the tracker sent the same bytes again, by the relay's answer",
    ["outcome"],
    registry=registry,
)
_lag = Gauge("quietswap_tracker_lag_blocks", "Blocks the tracker is behind", registry=registry)
_reorgs = Counter("quietswap_reorgs", "Reorganisations seen", registry=registry)
_node_errors = Counter("quietswap_node_errors", "Failed node calls", registry=registry)


def source_answered(source: str, outcome: str, seconds: float) -> None:
    """A source gave a route or a reason."""
    _sources.labels(source, outcome).inc()
    _source_seconds.labels(source).observe(seconds)


def source_missed(source: str, outcome: str, reason: str) -> None:
    """A source gave nothing; `reason` is sanitised."""
    log.info("source_missed", source=source, outcome=outcome, reason=reason)


def route_unsafe(source: str, reason: str) -> None:
    """A route broke a money rule: a router upgrade or an attack. Said loudly."""
    _verifications.labels("unsafe").inc()
    log.error("route_unsafe", source=source, reason=reason)


def source_paused(source: str, seconds: float) -> None:
    """A source's circuit opened."""
    log.warning("source_paused", source=source, seconds=round(seconds, 1))


def route_verified(source: str, verdict: str, short_bps: int | None) -> None:
    """A route was simulated; `short_bps` is negative when it delivers below its promise."""
    _verifications.labels(verdict).inc()
    if short_bps is not None and short_bps < 0:
        _overquotes.labels(source).inc()


def verification_unavailable(reason: str) -> None:
    """The node could not simulate: quotes are marked unverified."""
    _outages.inc()
    log.warning("verification_unavailable", reason=reason)


def price_doubted(token: str, first: str, second: str) -> None:
    """Two price sources disagree."""
    log.warning("price_doubted", token=token, first=first, second=second)


def phase_took(phase: str, seconds: float) -> None:
    """One phase of a quote ended."""
    _phases.labels(phase).observe(seconds)


def node_failed(node: str, reason: str) -> None:
    """A node call gave no information; `node` is its masked name."""
    _node_errors.inc()
    log.warning("node_failed", node=node, reason=reason)


def order_moved(order_id: str, sighting: str, status: str, evidence: str) -> None:
    """An order changed its status."""
    _moves.labels(status).inc()
    log.info("order_moved", order=order_id, by=sighting, status=status, evidence=evidence)


def order_resent(order_id: str, attempt: int, outcome: str) -> None:
    """The tracker sent the same bytes once more."""
    _resent.labels(outcome).inc()
    log.info("order_resent", order=order_id, attempt=attempt, outcome=outcome)


def tracker_failed(error: BaseException) -> None:
    """The tracker met something unforeseen; it begins again from the database."""
    log.error("tracker_failed", exc_info=error)


def tracker_started(orders: int) -> None:
    """This process follows the orders from now on."""
    log.info("tracker_started", orders=orders)


def relay_answered(relay: str, outcome: str, seconds: float) -> None:
    """A relay answered a submission, or did not."""
    _relay.labels(relay, outcome).inc()
    log.info("relay_answered", relay=relay, outcome=outcome, ms=round(seconds * 1000))


def reorg_seen(depth: int, number: int) -> None:
    """Blocks the tracker had seen are no longer canonical."""
    _reorgs.inc()
    log.warning("reorg_seen", depth=depth, number=number)


def tracker_lag(blocks: int) -> None:
    """How many blocks the tracker has still to read."""
    _lag.set(blocks)


def tracker_waiting(reason: str) -> None:
    """The tracker got no information this turn and will look again."""
    log.warning("tracker_waiting", reason=reason)


def request_failed(request_id: str, route: str, error: BaseException) -> None:
    """A request died of something unforeseen; the caller only learns the request id."""
    log.error("request_failed", request=request_id, route=route, exc_info=error)


_requests = Counter(
    "quietswap_requests", "Answers by endpoint and status", ["endpoint", "status"],
    registry=registry,
)  # fmt: skip
_request_seconds = Histogram(
    "quietswap_request_seconds", "Time to answer by endpoint", ["endpoint"], buckets=_SECONDS,
    registry=registry,
)  # fmt: skip


def request_answered(endpoint: str, status: int, seconds: float) -> None:
    """A request was answered."""
    _requests.labels(endpoint, str(status)).inc()
    _request_seconds.labels(endpoint).observe(seconds)
