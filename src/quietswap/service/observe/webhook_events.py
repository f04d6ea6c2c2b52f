"""Events of webhooks. No line contains a URL, because it may contain a secret of the receiver."""

from quietswap.service.observe import metrics
from quietswap.service.observe.logs import log


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


def webhook_secret_unreadable(webhook: str, reason: str) -> None:
    """No key of the settings decrypts the secret of a webhook."""
    log.error("webhook_secret_unreadable", webhook=webhook, reason=reason)


def webhook_secrets_rotated(count: int) -> None:
    log.info("webhook_secrets_rotated", count=count)
