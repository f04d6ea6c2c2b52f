"""One function per event worth logging or counting; nothing else in the service logs.

No function here takes a raw transaction, an API key or a URL, so none can leak one.
"""

from collections.abc import Mapping
from time import perf_counter

from quietswap.domain.order import Status
from quietswap.observe import metrics
from quietswap.observe.logs import Current, current, log, log_request
from quietswap.observe.traces import T, Work, in_span, name_request


def source_answered(source: str, outcome: str, seconds: float) -> None:
    """A source gave a route or a reason."""
    metrics.source_answers(source, outcome).inc()
    metrics.source_seconds(source).observe(seconds)


def source_missed(source: str, outcome: str, reason: str) -> None:
    """A source gave nothing; `reason` is sanitised."""
    log.info("source_missed", source=source, outcome=outcome, reason=reason)


def route_unsafe(source: str, reason: str) -> None:
    """A route broke a money rule: a router upgrade or an attack. Said loudly."""
    metrics.verifications(source, "unsafe").inc()
    log.error("route_unsafe", source=source, reason=reason)


def source_paused(source: str, seconds: float) -> None:
    """A source's circuit opened."""
    log.warning("source_paused", source=source, seconds=round(seconds, 1))


def route_verified(source: str, verdict: str, short_bps: int | None) -> None:
    """A route was simulated; `short_bps` is negative when it delivers below its promise."""
    metrics.verifications(source, verdict).inc()
    if short_bps is not None and short_bps < 0:
        metrics.overquotes(source).inc()


def source_won(source: str) -> None:
    """A quote names this source's route."""
    metrics.source_wins(source).inc()


def verification_unavailable(reason: str) -> None:
    """The node could not simulate: quotes are marked unverified."""
    metrics.outages.inc()
    log.warning("verification_unavailable", reason=reason)


def price_doubted(token: str, first: str, second: str) -> None:
    """Two price sources disagree."""
    log.warning("price_doubted", token=token, first=first, second=second)


def phase_took(phase: str, seconds: float) -> None:
    """One phase of a quote ended."""
    metrics.phase_seconds(phase).observe(seconds)


async def in_phase(phase: str, work: Work[T]) -> T:
    """Do `work` as one phase of a quote: its time is counted, and it is a span of the trace."""
    started = perf_counter()
    try:
        return await in_span(phase, work)
    finally:
        metrics.phase_seconds(phase).observe(perf_counter() - started)


def node_failed(node: str, kind: str, reason: str) -> None:
    """A node call gave no information; `node` is its host and place, `reason` masked."""
    metrics.node_errors(node, kind).inc()
    log.warning("node_failed", node=node, kind=kind, reason=reason)


def order_moved(order_id: str, sighting: str, status: str, evidence: str) -> None:
    """An order changed its status."""
    metrics.order_moves(status).inc()
    log.info("order_moved", order=order_id, by=sighting, status=status, evidence=evidence)


def order_confirmed(ms: int) -> None:
    """An order was confirmed that long after the relay had accepted it."""
    metrics.confirm_seconds.observe(max(ms, 0) / 1000)


def orders_watched(counts: Mapping[Status, int]) -> None:
    """The tracker follows so many orders of each status."""
    for status in Status:
        metrics.orders_watched(status).set(counts.get(status, 0))


def order_resent(order_id: str, attempt: int, outcome: str) -> None:
    """The tracker sent the same bytes once more."""
    metrics.resent(outcome).inc()
    log.info("order_resent", order=order_id, attempt=attempt, outcome=outcome)


def tracker_failed(error: BaseException) -> None:
    """The tracker met something unforeseen; it begins again from the database."""
    log.error("tracker_failed", exc_info=error)


def tracker_started(orders: int) -> None:
    """This process follows the orders from now on."""
    metrics.leads.set(1)
    log.info("tracker_started", orders=orders)


def tracker_standing_by(*, is_enabled: bool) -> None:
    """This process began: it may follow orders, or leaves that to others."""
    metrics.may_lead.set(int(is_enabled))
    metrics.leads.set(0)


def tracker_stopped() -> None:
    """Another process leads, or will: what this one knew of the orders counts no more."""
    metrics.leads.set(0)
    metrics.lag.set(0)
    orders_watched({})
    log.info("tracker_stopped")


def relay_answered(relay: str, outcome: str, seconds: float) -> None:
    """A relay answered a submission, or did not."""
    metrics.relay_answers(relay, outcome).inc()
    metrics.relay_seconds(relay).observe(seconds)
    log.info("relay_answered", relay=relay, outcome=outcome, ms=round(seconds * 1000))


def reorg_seen(depth: int, number: int) -> None:
    """Blocks the tracker had seen are no longer canonical."""
    metrics.reorgs.inc()
    log.warning("reorg_seen", depth=depth, number=number)


def tracker_lag(blocks: int) -> None:
    """How many blocks the tracker has still to read."""
    metrics.lag.set(blocks)


def tracker_waiting(reason: str) -> None:
    """The tracker got no information this turn and will look again."""
    log.warning("tracker_waiting", reason=reason)


def request_began(request_id: str) -> None:
    """A request came in: what is logged on its behalf carries its id."""
    current.set(Current(request_id))


def key_recognised(key_id: str) -> None:
    """The request at hand comes with this key; the id is no secret."""
    asked = current.get()
    if asked is not None:
        asked.key = key_id


def request_refused(code: str) -> None:
    """The request at hand is answered with this error."""
    asked = current.get()
    if asked is not None:
        asked.code = code


def request_unserved(request_id: str, route: str, reason: str) -> None:
    """A request was answered 503: a store or the node is away."""
    log.warning("request_unserved", request=request_id, route=route, reason=reason)


def request_failed(request_id: str, route: str, error: BaseException) -> None:
    """A request died of something unforeseen; the caller only learns the request id."""
    log.error("request_failed", request=request_id, route=route, exc_info=error)


def request_answered(endpoint: str, status: int, seconds: float) -> None:
    """A request was answered. Pages that were read without trouble are counted, but not logged."""
    asked = current.get() or Current("")
    metrics.requests(endpoint, status, asked.code).inc()
    metrics.request_seconds(endpoint).observe(seconds)
    name_request(endpoint, status, asked.request)
    if endpoint != "other" or status != 200:
        log_request(
            request=asked.request,
            endpoint=endpoint,
            status=status,
            code=asked.code,
            ms=round(seconds * 1000, 1),
            key=asked.key,
        )
