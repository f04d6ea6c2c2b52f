"""One function per event that is logged or counted. No other module logs.

No function takes a raw transaction, an API key, a secret or a URL, so none can leak one; the URL of
a webhook may contain a secret of its receiver.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from time import perf_counter

from quietswap.rules.amounts import BPS
from quietswap.rules.chain.block_facts import BlockFacts, fee_bps
from quietswap.rules.operator.figures import (
    FAR_BELOW,
    UNKNOWN_TIP,
    Measure,
    check_detail,
    is_below,
)
from quietswap.rules.orders.order import OrderStatus
from quietswap.service.observe import metrics
from quietswap.service.observe.figures import count
from quietswap.service.observe.logs import log
from quietswap.service.observe.traces import T, Work, in_span


def source_answered(source: str, outcome: str, seconds: float) -> None:
    metrics.source_answers(source, outcome).inc()
    metrics.source_seconds(source).observe(seconds)
    count(Measure.SOURCE_OUTCOME, source, outcome)
    count(Measure.SOURCE_MS, source, value=seconds * 1000)


def source_missed(source: str, outcome: str, reason: str) -> None:
    """A source returned no route; `reason` is sanitised."""
    log.info("source_missed", source=source, outcome=outcome, reason=reason)


def route_unsafe(source: str, reason: str) -> None:
    """A route broke a fund safety rule: a router upgrade or an attack. Logged as an error."""
    metrics.verifications(source, "unsafe").inc()
    count(Measure.SOURCE_CHECK, source, "unsafe")
    log.error("route_unsafe", source=source, reason=reason)


def source_paused(source: str, seconds: float) -> None:
    log.warning("source_paused", source=source, seconds=round(seconds, 1))


def route_verified(source: str, verdict: str, short_bps: int | None) -> None:
    """A route was simulated; `short_bps` is negative if it delivers less than promised."""
    metrics.verifications(source, verdict).inc()
    detail = check_detail(verdict, short_bps)
    count(Measure.SOURCE_CHECK, source, detail)
    if is_below(detail):
        metrics.overquotes(source).inc()
    if detail == FAR_BELOW:
        metrics.large_overquotes(source).inc()


def source_ranked(source: str, place: int, reference_bps: int | None) -> None:
    """A quote ranks the route of this source; its promise against the pools' price."""
    metrics.source_rank(source).observe(place)
    if reference_bps is not None:
        metrics.reference_bps(source).observe(reference_bps)


def source_won(source: str) -> None:
    metrics.source_wins(source).inc()
    count(Measure.SOURCE_WON, source)


def verification_unavailable(reason: str) -> None:
    """The node could not simulate: quotes are marked unverified."""
    metrics.outages.inc()
    log.warning("verification_unavailable", reason=reason)


def price_doubted(token: str, first: str, second: str) -> None:
    """Two price sources differ by more than 2 %."""
    log.warning("price_doubted", token=token, first=first, second=second)


def phase_took(phase: str, seconds: float) -> None:
    metrics.phase_seconds(phase).observe(seconds)


async def in_phase(phase: str, work: Work[T]) -> T:
    """Run `work` as one phase of a quote: measure its time and make it a span."""
    started = perf_counter()
    try:
        return await in_span(phase, work)
    finally:
        metrics.phase_seconds(phase).observe(perf_counter() - started)


def node_failed(node: str, kind: str, reason: str) -> None:
    """A node call failed; `node` is its host and position, `reason` is masked."""
    metrics.node_errors(node, kind).inc()
    count(Measure.NODE_ERROR, node, kind)
    log.warning("node_failed", node=node, kind=kind, reason=reason)


def connections_closed(count: int) -> None:
    """So many connections without a request were shut down: an address, or all, had too many."""
    metrics.connections_closed.inc(count)
    log.warning("connections_closed", count=count)


def receipts_unread(reasons: Mapping[str, str]) -> None:
    """The node answers, but not with these receipts. Their orders are checked at the next block."""
    tx_hash, reason = next(iter(reasons.items()))
    log.warning("receipts_unread", count=len(reasons), first=tx_hash, reason=reason)


def order_moved(order_id: str, event_type: str, status: str, evidence: str) -> None:
    metrics.order_moves(status).inc()
    count(Measure.ORDER_MOVED, status, event_type)
    log.info("order_moved", order=order_id, by=event_type, status=status, evidence=evidence)


def order_confirmed(ms: int) -> None:
    """An order was confirmed, this many milliseconds after the relay accepted it."""
    metrics.confirm_seconds.observe(max(ms, 0) / 1000)


def order_mined(
    source: str | None,
    level: str,
    *,
    blocks: int | None,
    ms: int | None,
    delivered_bps: int | None,
    endpoint: str = "",
    tip: str = UNKNOWN_TIP,
    facts: BlockFacts | None = None,
    fee_cap: int = 0,
) -> None:
    """A block included an order, this long after the relay accepted it; None: not known.

    `level` are the tiers of the relays that had it, `endpoint` is the relay's, `tip` the class of
    the highest priority fee. `facts` are those of the block, `fee_cap` in wei is 0 if not known.
    """
    name = source or "none"
    if facts is not None:
        metrics.order_builders(facts.builder).inc()
        metrics.fullness_ratio(level).observe(facts.fullness_bps / BPS)
        share_bps = fee_bps(facts.base_fee, fee_cap)
        if share_bps is not None:
            metrics.base_fee_ratio(level).observe(share_bps / BPS)
    if blocks is not None:
        metrics.inclusion_blocks(name, level).observe(blocks)
        count(Measure.INCLUSION_BLOCKS, endpoint, tip, blocks)
    if ms is not None:
        metrics.inclusion_seconds(name, level).observe(ms / 1000)
        count(Measure.INCLUSION_S, endpoint, tip, ms / 1000)
    if delivered_bps is not None:
        metrics.delivered_bps(name).observe(delivered_bps)
        count(Measure.SOURCE_DELIVERED, name, value=delivered_bps)


def order_refunded(order_id: str, level: str, status: str, wei: int) -> None:
    """A relay reports a refund, or a transaction paid it; `level` as in `order_mined`."""
    metrics.refunds(level, status).inc()
    count(Measure.ORDER_REFUNDED, status)
    log.info("order_refunded", order=order_id, status=status, wei=str(wei))


def refund_block_unread(block_hash: str | None, reason: str) -> None:
    """The block of a reported refund cannot be read, so the refund counts only as reported."""
    log.warning("refund_block_unread", block=block_hash, reason=reason)


def dependencies_checked(checks: Mapping[str, str]) -> None:
    """What /readyz would say now: `ok` or a reason by dependency."""
    for name, said in checks.items():
        metrics.dependency_up(name).set(int(said == "ok"))


def clock_compared(ahead_ms: int) -> None:
    """The local clock is so far ahead of that of the database."""
    metrics.clock_ahead_of_database.set(ahead_ms / 1000)


def rates_shared(fault: str | None) -> None:
    """Rate windows are no longer shared, for this reason; or again, with None."""
    if fault is None:
        log.info("rates_shared")
    else:
        log.warning("rates_not_shared", reason=fault)


def orders_watched(counts: Mapping[OrderStatus, int]) -> None:
    """The tracker tracks this number of orders of each status."""
    for status in OrderStatus:
        metrics.orders_watched(status).set(counts.get(status, 0))


def orders_deleted(count: int) -> None:
    metrics.deleted.inc(count)
    log.info("orders_deleted", count=count)


def certificate_loaded(file: str, expires: datetime) -> None:
    """The TLS certificate of the service is valid until `expires`."""
    metrics.certificate(file).set(expires.timestamp())


def order_resent(order_id: str, attempt: int, outcome: str) -> None:
    """The tracker sent the same bytes again. A new answer of the relay is an event of the order."""
    metrics.resent(outcome).inc()
    count(Measure.ORDER_RESENT, outcome)
    log.debug("order_resent", order=order_id, attempt=attempt, outcome=outcome)


def tracker_failed(error: BaseException) -> None:
    """The tracker failed unexpectedly and restarts from the database."""
    log.error("tracker_failed", exc_info=error)


def background_task_failed(task: str, error: BaseException) -> None:
    """A background task failed unexpectedly and goes on with its next turn."""
    log.error("background_task_failed", task=task, exc_info=error)


def tracker_started(orders: int) -> None:
    metrics.leads.set(1)
    log.info("tracker_started", orders=orders)


def tracker_standing_by(*, is_enabled: bool) -> None:
    """This process started. It may become the tracker if `is_enabled`."""
    metrics.may_lead.set(int(is_enabled))
    metrics.leads.set(0)


def tracker_stopped() -> None:
    """This process is no longer the leader. Its metrics of the orders are reset."""
    metrics.leads.set(0)
    metrics.lag.set(0)
    orders_watched({})
    log.info("tracker_stopped")


_TAKEN = ("accepted", "known")
"""Outcomes of a relay that has the transaction."""


def relay_answered(relay: str, outcome: str, seconds: float, said: str = "") -> None:
    """A submission to a relay ended. `said` is its status and its words, if it took nothing."""
    metrics.relay_answers(relay, outcome).inc()
    if outcome in _TAKEN:
        metrics.relay_accepted(relay).set_to_current_time()
    metrics.relay_seconds(relay).observe(seconds)
    count(Measure.RELAY_OUTCOME, relay, outcome)
    count(Measure.RELAY_MS, relay, value=seconds * 1000)
    ms = round(seconds * 1000)
    if said:
        log.warning("relay_answered", relay=relay, outcome=outcome, ms=ms, said=said)
    else:
        log.info("relay_answered", relay=relay, outcome=outcome, ms=ms)


def reorg_seen(depth: int, number: int) -> None:
    """Blocks that the tracker read are no longer canonical."""
    metrics.reorgs.inc()
    count(Measure.REORG, "chain", value=depth)
    log.warning("reorg_seen", depth=depth, number=number)


def tracker_lag(blocks: int) -> None:
    metrics.lag.set(blocks)
    count(Measure.TRACKER_LAG, "tracker", value=blocks)


def clock_measured(ahead_s: int) -> None:
    """A new block was seen when the local clock was `ahead_s` after its time."""
    metrics.clock_ahead.set(ahead_s)


def clock_off(reason: str) -> None:
    """The local clock is far from the chain's time, since this block."""
    log.warning("clock_off", reason=reason)


def tracker_waiting(reason: str) -> None:
    """A tracking cycle got no data from node or database. It is repeated."""
    log.warning("tracker_waiting", reason=reason)


def service_starting(url: str, version: str, processes: int) -> None:
    log.info("service_starting", url=url, version=version, processes=processes)


def start_failed(reason: str) -> None:
    """This process cannot serve and ends."""
    log.error("start_failed", message=f"quietswap cannot start: {reason}")


def predecessor_awaited(seconds: float) -> None:
    """Another process serves from this database. This process waits so long for its end."""
    text = f"another process serves from this database: waiting {seconds:g} s for its end"
    log.warning("predecessor_awaited", message=text)


def store_away(reason: str) -> None:
    """This process starts while Redis is away, or while the database takes no writes."""
    log.warning("store_away", reason=reason)


def database_migrated(applied: Sequence[str]) -> None:
    """A start brought a SQLite file of an older release to the schema of this one."""
    log.info("database_migrated", applied=applied)


def port_awaited(port: int, seconds: float) -> None:
    """Another process still listens on the port. This process waits for it."""
    log.warning("port_awaited", port=port, seconds=seconds)


def settings_loaded(occasion: str, **facts: object) -> None:
    """The settings are valid and in use; `facts` describe them without secret values."""
    log.info("settings_loaded", occasion=occasion, **facts)


def reload_refused(faults: Sequence[str]) -> None:
    """A reload failed, because the settings are invalid. The old settings stay in use."""
    log.error("reload_refused", faults=list(faults))


def events_waiting(reason: str) -> None:
    """New events could not be read from the database. Streams stay open; the read is repeated."""
    log.warning("events_waiting", reason=reason)


def streams_open(count: int) -> None:
    """A stream of events was opened or closed; `count` are open in this process."""
    metrics.streams.set(count)


def stream_ended(reason: str) -> None:
    """The service ended a stream: ended, revoked, slow, or head for a HEAD request."""
    metrics.streams_ended(reason).inc()


def events_sent(count: int) -> None:
    metrics.events_sent.inc(count)


def operator_logged_in(operator_id: str) -> None:
    log.info("operator_logged_in", operator=operator_id)


def operator_refused() -> None:
    """A login failed: the secret is wrong or revoked."""
    log.warning("operator_refused")


def operator_acted(operator_id: str, action: str) -> None:
    """An operator changed something. The details are in the audit log."""
    log.info("operator_acted", operator=operator_id, action=action)


def figures_unstored(reason: str) -> None:
    """The figures of the operator view are kept until the database answers."""
    log.warning("figures_unstored", reason=reason)


def pauses_unread(reason: str) -> None:
    """The pauses of sources could not be read. The last known ones stay."""
    log.warning("pauses_unread", reason=reason)


def webhook_called(
    webhook: str, event_type: str, status: int | None, error: str | None, seconds: float
) -> None:
    """A request to a webhook ended; `error` is None if the receiver confirmed."""
    metrics.webhook_deliveries("delivered" if error is None else "failed").inc()
    metrics.webhook_seconds.observe(seconds)
    ms = round(seconds * 1000)
    if error is None:
        log.debug("webhook_delivered", webhook=webhook, type=event_type, status=status, ms=ms)
        return
    log.info("webhook_failed", webhook=webhook, type=event_type, status=status, reason=error, ms=ms)


def webhook_created(webhook: str, client: str) -> None:
    log.info("webhook_created", webhook=webhook, client=client)


def webhook_deleted(webhook: str, client: str) -> None:
    log.info("webhook_deleted", webhook=webhook, client=client)


def webhook_disabled(webhook: str, reason: str) -> None:
    """A webhook gets no more events: its receiver answered 410, or all tries failed."""
    metrics.webhooks_disabled(reason).inc()
    log.warning("webhook_disabled", webhook=webhook, reason=reason)


def webhook_enabled(webhook: str) -> None:
    """A test succeeded, so a disabled webhook gets events again."""
    log.info("webhook_enabled", webhook=webhook)


def webhook_events_pruned(webhook: str, first: int, last: int) -> None:
    """Retention deleted events before they could be delivered; numbers are sequences."""
    metrics.webhook_events_lost.inc(last - first + 1)
    log.error("webhook_events_pruned", webhook=webhook, first=first, last=last)


def webhooks_waiting(reason: str) -> None:
    """The database is unavailable. Deliveries are tried again."""
    log.warning("webhooks_waiting", reason=reason)


def webhook_postponed(webhook: str, reason: str) -> None:
    """This service was too busy to send. The delivery is tried again, and no failure is counted."""
    log.info("webhook_postponed", webhook=webhook, reason=reason)


def webhook_failed_unexpectedly(webhook: str, error: BaseException) -> None:
    """A delivery failed in this service. It is tried again."""
    log.error("webhook_failed_unexpectedly", webhook=webhook, exc_info=error)


def watch_created(watch: str, client: str) -> None:
    log.info("watch_created", watch=watch, client=client)


def watch_deleted(watch: str, client: str) -> None:
    log.info("watch_deleted", watch=watch, client=client)


def watch_met(watch: str, client: str) -> None:
    log.info("watch_met", watch=watch, client=client)


def watches_waiting(reason: str) -> None:
    """The database is unavailable. Watches are asked for again at the next turn."""
    log.warning("watches_waiting", reason=reason)


def webhook_secret_unreadable(webhook: str, reason: str) -> None:
    """No key of the settings decrypts the secret of a webhook."""
    log.error("webhook_secret_unreadable", webhook=webhook, reason=reason)


def webhook_secrets_rotated(count: int) -> None:
    log.info("webhook_secrets_rotated", count=count)
