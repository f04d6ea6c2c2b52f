"""The calls that are measured, as the service makes them, each with a check of its answer."""

import random
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from benchmarks.storage.content import (
    KEY,
    LIVE,
    WATCHED,
    Shape,
    diary,
    inclusion,
    order_id,
    wallet,
)
from quietswap.rules.orders.order import Order, OrderEvent, OrderEventType, OrderStatus, Transition
from quietswap.rules.tx.address import Address
from quietswap.service.orders.retention import RetentionJob
from quietswap.service.orders.transition import event_for, with_transition
from quietswap.service.storage.factory import Storage

PAGE = 50

Call = Callable[[], Awaitable[object]]
Calls = Callable[["Side", int], Sequence[Call]]
"""Prepares that many calls on one database; only the calls themselves are timed."""


@dataclass
class Side:
    """One filled database, and what was written to it since."""

    shape: Shape
    storage: Storage
    written: int = 0
    moving: deque[Order] = field(default_factory=deque)
    dice: random.Random = field(default_factory=lambda: random.Random(6))

    def next_order(self) -> Order:
        """Return an order that is not stored yet."""
        self.written += 1
        return self.shape.posted(self.shape.orders + self.written - 1)

    def any_order_id(self) -> str:
        """Return the id of an order that the filling stored."""
        return order_id(self.dice.randrange(self.shape.orders))

    def small_wallet(self) -> Address:
        """Return any wallet but the first."""
        return wallet(self.dice.randrange(1, self.shape.wallets))


def inserts(side: Side, count: int) -> Sequence[Call]:
    """Store new orders."""
    orders = [side.next_order() for _ in range(count)]
    side.moving.extend(orders)
    return [partial(side.storage.orders.add, order, diary(order)[0]) for order in orders]


def updates(side: Side, count: int) -> Sequence[Call]:
    """Write the next move of that many orders: accepted, seen, mined, and closed at last."""
    calls = []
    for _ in range(min(count, len(side.moving))):
        order = side.moving.popleft()
        moved, event = _next(order)
        calls.append(partial(_update, side, moved, event))
        if moved.watched:
            side.moving.append(replace(moved, version=order.version + 1))
    return calls


async def _update(side: Side, order: Order, event: OrderEvent | None) -> None:
    assert await side.storage.orders.update(order, event)


def _next(order: Order) -> tuple[Order, OrderEvent | None]:
    moves = {
        OrderStatus.PENDING: Transition(
            OrderEventType.RELAY_ACCEPTED, "the relay answered its hash"
        ),
        OrderStatus.SUBMITTED: Transition(
            OrderEventType.NEW_HEAD, "block 23000001 came and the relay has it"
        ),
        OrderStatus.MINING: Transition(
            OrderEventType.INCLUDED, "block 23000002", inclusion=inclusion(order)
        ),
    }
    step = moves.get(order.status)
    if step is None:
        return replace(order, watched=False), None
    now_ms = order.created_at_ms + 8_000 * (order.version + 1)
    moved = with_transition(order, step, now_ms)
    return moved, event_for(order, moved.status, step, now_ms)


KNOWN = 300
"""Orders that are read again and again, spread evenly over the table."""


def known_statuses(side: Side, count: int) -> Sequence[Call]:
    """Read orders by id whose blocks are in memory: what is left is the work of the statement."""
    apart = max(side.shape.orders // KNOWN, 1)
    serials = [side.dice.randrange(min(KNOWN, side.shape.orders)) * apart for _ in range(count)]
    return [partial(_get, side, order_id(serial)) for serial in serials]


def statuses(side: Side, count: int) -> Sequence[Call]:
    """Read an order of any age by its id."""
    return [partial(_get, side, side.any_order_id()) for _ in range(count)]


async def _get(side: Side, wanted: str) -> None:
    order = await side.storage.orders.record(KEY, wanted)
    assert order is not None
    assert order.order_id == wanted


def pages(offset: int, status: OrderStatus | None = None) -> Calls:
    """Read a page of the first wallet."""
    return lambda side, count: [partial(_page, side, wallet(0), status, offset)] * count


def small_pages(side: Side, count: int) -> Sequence[Call]:
    """Read the first page of any other wallet."""
    return [partial(_page, side, side.small_wallet(), None, 0) for _ in range(count)]


async def _page(side: Side, whose: Address, status: OrderStatus | None, offset: int) -> None:
    page = await side.storage.orders.page(KEY, whose, status, PAGE, offset)
    assert len(page.orders) == min(PAGE, page.total)


def watched(side: Side, count: int) -> Sequence[Call]:
    """Read all watched orders, as a tracker does when it begins."""
    return [partial(_watched, side)] * count


async def _watched(side: Side) -> None:
    assert len(await side.storage.orders.watched()) >= min(WATCHED, side.shape.orders)


def arrivals(side: Side, count: int) -> Sequence[Call]:
    """Ask what the API wrote, as a tracker does each time."""
    return [partial(_arrivals, side)] * count


async def _arrivals(side: Side) -> None:
    assert await side.storage.orders.arrivals()


def live_nonces(side: Side, count: int) -> Sequence[Call]:
    """Ask for the nonces of a wallet with open orders, as a quote does."""
    newest = side.shape.orders - 1
    serials = [newest - side.dice.randrange(min(LIVE, newest)) for _ in range(count)]
    return [partial(_live_nonces, side, serial) for serial in serials]


async def _live_nonces(side: Side, serial: int) -> None:
    assert serial in await side.storage.orders.live_nonces(side.shape.wallet(serial))


class _HourLater:
    """A `Clock` an hour after the newest order, when bytes and quotes fall."""

    def __init__(self, shape: Shape) -> None:
        self._now_ms = shape.now_ms + 3_600_000

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic(self) -> float:
        return self._now_ms / 1000

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError("housekeeping does not wait")


def clearings(side: Side, count: int) -> Sequence[Call]:
    """Clear a batch of bytes and of quotes."""
    storage = side.storage
    clearing = RetentionJob(
        quotes=storage.quotes,
        orders=storage.orders,
        events=storage.events,
        clock=_HourLater(side.shape),
        events_kept_ms=86_400_000,
    )
    return [clearing] * count
