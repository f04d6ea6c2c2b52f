"""Following an order by its id. `finality.py` compares what the service reports with the node.

The status record is always read by a request of its own. The event stream only says when: where it
works, there is a request for each change of the order instead of one every few seconds.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from quietswap.client import api_calls, errors, node_calls, number_limits
from quietswap.client.event_stream import AwaitEvent
from quietswap.client.flows.effects import Flow, Sleep, await_event, perform, read_clock
from quietswap.client.signing import require_same
from quietswap.rules import errors as codes
from quietswap.rules.clients import KeyScope
from quietswap.rules.contract.errors import ERRORS, ErrorEnvelope
from quietswap.rules.contract.orders import HistoryItem, OrderStatusResponse
from quietswap.rules.contract.request_limits import MAX_LIMIT
from quietswap.rules.contract.requests import ANY_KIND
from quietswap.rules.contract.transactions import TransactionParams
from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.wire import TERMINAL

SUGGESTED_S = 10.0
"""The poll interval that the API recommends, in s; an order's `pollingInterval` replaces it."""


BACKENDS = 3
"""Requests until an answer of several backends behind one URL counts, if each may be late."""
_STREAM_WAIT_S = 25.0
"""Longest wait for an event, in s: then the record is read all the same."""
_LEAST_S = 0.2
"""Least time from one wait to the next, in s, whatever a service sends."""
_USUAL_LIFE_S, _GRACE_S = 1800.0, 60.0
_LEAST_PATIENCE_S, _MOST_PATIENCE_S = 300.0, 3600.0


@dataclass(frozen=True, slots=True)
class PollingPolicy:
    """Poll intervals, timeouts and backoff, in seconds.

    `interval_s` is the time between two polls of an order; None uses the service's
    `pollingInterval`.

    `patience_s` is the longest wait. None waits until the order expires, by the service's data, and
    at most one hour.

    After an error the pause starts at `first_backoff_s`, doubles with each failure, and is at most
    `longest_backoff_s`. `on_trouble` is called for each such failure with the error and the pause.

    With `stream`, an order is followed by its events. Where they do not arrive, it is polled.

    `node_interval_s` is the time between two receipt requests to the caller's own node. `doubt_s`
    is how long that node is watched when the service refuses a transaction that it already has.

    Raises ValueError for a pause that is not above 0 or is more than a day, and for a negative
    `patience_s` or `doubt_s`.
    """

    interval_s: float | None = None
    patience_s: float | None = 300.0
    first_backoff_s: float = 1.0
    longest_backoff_s: float = 30.0
    node_interval_s: float = 2.0
    doubt_s: float = 60.0
    on_trouble: Callable[[errors.ClientError, float], None] | None = None
    stream: bool = True

    def __post_init__(self) -> None:
        for name in ("first_backoff_s", "longest_backoff_s", "node_interval_s"):
            number_limits.wait(name, getattr(self, name))
        if self.interval_s is not None:
            number_limits.wait("interval_s", self.interval_s)
        for name in ("patience_s", "doubt_s"):
            seconds = getattr(self, name)
            if seconds is not None and not seconds >= 0:
                raise ValueError(f"{name} must be 0 or more seconds, not {seconds}")

    def until(self, ends_in_s: float | None = None) -> float:
        """Return the timeout in s; `ends_in_s` is the time until the order expires, if known."""
        if self.patience_s is not None:
            return self.patience_s
        life_s = _USUAL_LIFE_S if ends_in_s is None else ends_in_s
        return min(max(life_s + _GRACE_S, _LEAST_PATIENCE_S), _MOST_PATIENCE_S)

    def wait(self, failures: int, error: errors.ClientError) -> Sleep:
        """Call `on_trouble` for the nth failure in a row, and return the pause."""
        seconds = self.backoff(failures, error)
        if self.on_trouble is not None:
            self.on_trouble(error, seconds)
        return Sleep(seconds)

    def backoff(self, failures: int, error: errors.ClientError) -> float:
        """Return the pause in s after the nth failure in a row; at least the error's `retryAfter`.

        `retryAfter` is limited to `number_limits.MOST_RETRY_S`.
        """
        retry_after = error.retry_after if isinstance(error, errors.ApiError) else None
        grown = self.first_backoff_s * 2.0 ** min(failures - 1, 16)
        return max(min(grown, self.longest_backoff_s), retry_after or 0.0)


def retry_transient(
    call: api_calls.ApiCall[api_calls.T] | node_calls.NodeCall[api_calls.T],
    polling: PollingPolicy,
    *,
    attempts: int = 3,
) -> Flow[api_calls.T]:
    """Repeat a request while its failures are transient; repeating it must be safe."""
    for failures in range(1, attempts):
        try:
            return (yield from perform(call))
        except errors.ClientError as error:
            if not error.is_transient:
                raise
            yield polling.wait(failures, error)
    return (yield from perform(call))


class _Changes:
    """Waits between two reads of a status record, by the event stream while that works."""

    def __init__(self, order_id: str, *, is_streamed: bool) -> None:
        self._order_id = order_id
        self._is_streamed = is_streamed
        self._place: int | None = None

    def wait(self, interval_s: float, left_s: float) -> Flow[None]:
        """Wait for a change: at least `interval_s` without one, at most `left_s`.

        The first wait only finds the place in the stream. A change before that is seen by the read
        that follows at once, one after it is in the stream.
        """
        if not self._is_streamed:
            yield Sleep(interval_s)
            return
        started = (yield from read_clock()).seconds
        seconds = min(_STREAM_WAIT_S, max(left_s, interval_s))
        is_first = self._place is None
        place = yield from await_event(AwaitEvent(self._order_id, self._place, seconds))
        self._is_streamed = place is not None
        if place is not None:
            self._place = place.sequence
            if is_first:
                return
            interval_s = _LEAST_S if place.has_news else interval_s
        waited = (yield from read_clock()).seconds - started
        if waited < interval_s:
            yield Sleep(interval_s - max(waited, 0.0))


def follow_order(
    order_id: str,
    polling: PollingPolicy,
    watch: Callable[[OrderStatusResponse], None],
    suggested_s: float = SUGGESTED_S,
    signed_hash: str | None = None,
    *,
    is_decided: Callable[[], Flow[bool]] | None = None,
) -> Flow[OrderStatusResponse]:
    """Follow the order until it is terminal or `is_decided`; call `watch` with each record.

    Raises OrderStillOpen at the timeout, or the last transient error if the last poll failed.
    Raises any error that is not transient. Raises TransactionHashMismatch when `signed_hash` is
    given and a record names another hash.
    """
    interval = (
        polling.interval_s
        if polling.interval_s is not None
        else number_limits.interval(suggested_s)
    )
    started, patience_s = (yield from read_clock()).seconds, polling.until()
    failures, state = 0, "unknown"
    changes = _Changes(order_id, is_streamed=polling.stream)
    while True:
        trouble: errors.ClientError | None = None
        wait = interval
        try:
            record = yield from perform(api_calls.order_status(order_id))
        except errors.ClientError as error:
            if not error.is_transient:
                raise
            failures += 1
            trouble, wait = error, polling.wait(failures, error).seconds
        else:
            failures, state = 0, record.status
            if signed_hash is not None:
                require_same(signed_hash, record.tx_hash)
            watch(record)
            if record.is_terminal or (is_decided is not None and (yield from is_decided())):
                return record
        waited = (yield from read_clock()).seconds - started
        if waited + wait > patience_s:
            raise trouble or errors.OrderStillOpen(order_id, state, waited)
        if trouble is None:
            yield from changes.wait(wait, patience_s - waited)
        else:
            yield Sleep(wait)


_REVERTED = 3
_FAILS = re.compile(r"revert|gas required exceeds|out of gas", re.IGNORECASE)


def require_trade_scope(polling: PollingPolicy) -> Flow[None]:
    """Refuse an API key that can request quotes but submit no order. Raises Forbidden.

    The service would refuse the signed swap, after an approval was paid for.
    """
    usage = yield from retry_transient(api_calls.usage(), polling)
    if usage.scope != KeyScope.TRADE.value:
        forbidden = codes.Forbidden(scope=usage.scope, required=KeyScope.TRADE.value)
        body = ErrorEnvelope(
            error=forbidden.code,
            message=forbidden.message,
            details=forbidden.details,
            suggestion=forbidden.suggestion,
        )
        raise errors.Forbidden(body, ERRORS[forbidden.code].status)


def require_eth(params: TransactionParams, wallet: str, wrapped: int = 0) -> Flow[None]:
    """Refuse a transaction that may cost more ETH than the wallet holds. Raises QuoteDeclined.

    The highest cost is value + gas limit x fee cap, in wei; a node asks for the same (EIP-1559).
    `wrapped` is what its calls wrap of the wallet's own ETH.
    """
    cost = params.value + params.max_gas_cost + wrapped
    balance = yield from perform(node_calls.eth_balance(wallet))
    if balance < cost:
        raise errors.QuoteDeclined(
            f"the wallet holds {balance} wei of ETH, and the transaction may cost {cost} wei"
        )


def payment_reads(params: TransactionParams, wallet: str) -> list[node_calls.NodeCall[int]]:
    """Return what `require_eth` and `require_success` read."""
    return [node_calls.eth_balance(wallet), node_calls.estimate_gas(call_of(params, wallet))]


def call_of(params: TransactionParams, wallet: str) -> dict[str, str]:
    """Return a transaction as a call, without gas and fee."""
    return {"from": wallet, "to": params.to, "data": params.data, "value": hex(params.value)}


def require_success(what: str, params: TransactionParams, wallet: str) -> Flow[None]:
    """Refuse a transaction that fails at the caller's own node, or needs more gas than its limit.

    The wallet's own code (EIP-7702) may revert, or use gas. Raises QuoteDeclined.
    """
    try:
        gas = yield from perform(node_calls.estimate_gas(call_of(params, wallet)))
    except errors.NodeRpcError as error:
        if error.code != _REVERTED and not _FAILS.search(str(error)):
            raise
        raise errors.QuoteDeclined(
            f"by your own node {what} would fail ({error}): not signed"
        ) from error
    if gas > params.gas_limit:
        raise errors.QuoteDeclined(
            f"by your own node {what} needs {gas} gas, and its limit is {params.gas_limit}: not"
            " signed"
        )


def find_open_order(wallet: str, polling: PollingPolicy, *, has_node: bool) -> Flow[str | None]:
    """Return the id of an open order of `wallet`; None if the service reports none."""
    listed = yield from open_orders(wallet, polling, has_node=has_node, most=1)
    return listed[0].order_id if listed else None


def open_orders(
    wallet: str, polling: PollingPolicy, *, has_node: bool, most: int | None = None
) -> Flow[list[HistoryItem]]:
    """Return the open orders of `wallet` that the service reports, the first `most` of them.

    Orders are private: no node counts their nonces, so only the service's history shows them. All
    kinds count, because each has a nonce. One that the caller's node has in a block
    does not: its nonce is used, though the service may wait for more blocks. The service shows the
    orders of the caller's API client only. Each open status is requested separately, in the order
    of the transitions. So a long history, or a change of status between two requests, cannot hide
    an open order.
    """
    listed: dict[str, HistoryItem] = {}
    for status in OrderStatus:
        if status.value in TERMINAL:
            continue
        call = api_calls.order_history(
            wallet, limit=MAX_LIMIT, offset=0, status=status.value, kind=ANY_KIND
        )
        page = yield from retry_transient(call, polling)
        for item in page.orders:
            if item.status in TERMINAL or item.order_id in listed:
                continue
            if not (has_node and (yield from _is_mined(item.tx_hash))):
                listed[item.order_id] = item
            if len(listed) == most:
                return list(listed.values())
    return list(listed.values())


def _is_mined(tx_hash: str | None) -> Flow[bool]:
    return tx_hash is not None and (yield from perform(node_calls.receipt(tx_hash))) is not None


def require_no_open_order(
    wallet: str, what: str, polling: PollingPolicy, *, has_node: bool, nonces: range
) -> Flow[None]:
    """Refuse `what`, which uses some of `nonces`, while an order with such a nonce is open.

    An order with a later nonce keeps it. Raises QuoteDeclined.
    """
    for each in (yield from open_orders(wallet, polling, has_node=has_node)):
        status = yield from retry_transient(api_calls.order_status(each.order_id), polling)
        if status.nonce is not None and status.nonce >= nonces.stop:
            continue
        effect = f"{what} could take its nonce and cancel it"
        if status.nonce is not None and status.nonce < nonces.start:
            effect = f"{what} would wait behind its nonce {status.nonce}"
        raise errors.QuoteDeclined(
            f"order {each.order_id} is open, and {effect}: wait until it is decided, or give"
            " replace (--replace)"
        )
