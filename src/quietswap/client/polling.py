"""Waiting for the chain: an order by its id, a transaction by its hash."""

from collections.abc import Callable
from dataclasses import dataclass

from quietswap.client import calls, chain
from quietswap.client.errors import (
    ApiError,
    ClientError,
    Replaced,
    StillOpen,
    TransactionFailed,
)
from quietswap.client.flow import Flow, Pause, ask, now
from quietswap.client.resources import OrderStatus
from quietswap.client.signing import require_same

SUGGESTED_S = 10.0
"""What the interface recommends between two polls; an order's answer may say otherwise."""


@dataclass(frozen=True, slots=True)
class Polling:
    """How to wait, in seconds.

    `interval_s` None takes the service's own `pollingInterval`; `patience_s` ends the wait;
    errors back off from `first_backoff_s`, doubling, to `longest_backoff_s`; `node_interval_s` is
    for receipts, which are asked of the caller's own node. `on_trouble` is told each failure that
    is waited out, and for how many seconds.
    """

    interval_s: float | None = None
    patience_s: float = 300.0
    first_backoff_s: float = 1.0
    longest_backoff_s: float = 30.0
    node_interval_s: float = 2.0
    on_trouble: Callable[[ClientError, float], None] | None = None

    def wait(self, failures: int, error: ClientError) -> Pause:
        """Return the pause after the nth failure in a row, having told of it."""
        seconds = self.backoff(failures, error)
        if self.on_trouble is not None:
            self.on_trouble(error, seconds)
        return Pause(seconds)

    def backoff(self, failures: int, error: ClientError) -> float:
        """Return how long to wait after the nth failure in a row, and at least `retryAfter`."""
        asked = error.retry_after if isinstance(error, ApiError) else None
        grown = self.first_backoff_s * 2.0 ** min(failures - 1, 16)
        return max(min(grown, self.longest_backoff_s), asked or 0.0)


def persist(call: calls.Call[calls.T], polling: Polling, *, attempts: int = 3) -> Flow[calls.T]:
    """Repeat a request that may be repeated while its failures are transient."""
    for failures in range(1, attempts):
        try:
            return (yield from ask(call))
        except ClientError as error:
            if not error.is_transient:
                raise
            yield polling.wait(failures, error)
    return (yield from ask(call))


def follow(
    order_id: str,
    polling: Polling,
    watch: Callable[[OrderStatus], None],
    suggested_s: float = SUGGESTED_S,
    signed_hash: str | None = None,
) -> Flow[OrderStatus]:
    """Poll until the order is terminal, telling `watch` each record.

    Raises StillOpen when patience ends, any ApiError that waiting cannot mend, and the last
    transient error when it was an error that patience ended with; OtherTransaction when a record
    names another hash than `signed_hash`, where one is given.
    """
    interval = polling.interval_s if polling.interval_s is not None else suggested_s
    started = (yield from now()).seconds
    failures, state = 0, "unknown"
    while True:
        trouble: ClientError | None = None
        wait = interval
        try:
            record = yield from ask(calls.order_status(order_id))
        except ClientError as error:
            if not error.is_transient:
                raise
            failures += 1
            trouble, wait = error, polling.wait(failures, error).seconds
        else:
            failures, state = 0, record.status
            if signed_hash is not None:
                require_same(signed_hash, record.tx_hash)
            watch(record)
            if record.is_terminal:
                return record
        waited = (yield from now()).seconds - started
        if waited + wait > polling.patience_s:
            raise trouble or StillOpen(order_id, state, waited)
        yield Pause(wait)


def mined(
    what: str, tx_hash: str, wallet: str, nonce: int, polling: Polling
) -> Flow[chain.Receipt]:
    """Wait for a transaction's receipt at the caller's node.

    The nonce is read before the receipt: if it has moved on twice and there is still no receipt,
    another transaction took its place. Raises TransactionFailed, Replaced or StillOpen.
    """
    started = (yield from now()).seconds
    passed_by = failures = 0
    while True:
        wait = polling.node_interval_s
        try:
            next_nonce = yield from ask(chain.nonce(wallet, "latest"))
            receipt = yield from ask(chain.receipt(tx_hash))
        except ClientError as error:
            failures += 1
            if not error.is_transient:
                raise
            wait = polling.wait(failures, error).seconds
        else:
            failures = 0
            passed_by += next_nonce > nonce
            if receipt is not None:
                return _succeeded(what, receipt)
            if passed_by > 1:
                raise Replaced(tx_hash)
        waited = (yield from now()).seconds - started
        if waited + wait > polling.patience_s:
            raise StillOpen(tx_hash, "not mined", waited)
        yield Pause(wait)


def _succeeded(what: str, receipt: chain.Receipt) -> chain.Receipt:
    if not receipt.succeeded:
        raise TransactionFailed(what, receipt.transaction_hash)
    return receipt
