"""The orders under watch and the database, kept in step."""

import asyncio
from dataclasses import replace

from quietswap.domain.order import Move, Order, Sighting
from quietswap.domain.tracking import TrackingRules, Watch
from quietswap.domain.watchlist import Watchlist
from quietswap.ports.outside import Clock
from quietswap.ports.stores import OrderStore
from quietswap.services.move_order import move

_PUT_AT_ONCE = 500
"""Orders taken in between two chances for requests to be served in the same process."""


class Board:
    """All writes are compare-and-set: another writer is never overwritten, only caught up with."""

    def __init__(self, orders: OrderStore, clock: Clock, rules: TrackingRules) -> None:
        self.orders = orders
        self.rules = rules
        self.clock = clock
        self.watches = Watchlist(rules)

    async def load(self) -> None:
        """Begin afresh with every order the database has under watch. Raises StoreDown."""
        watches = Watchlist(self.rules)
        for place, order in enumerate(await self.orders.watched()):
            watches.put(order)
            if place % _PUT_AT_ONCE == 0:
                await asyncio.sleep(0)
        self.watches = watches

    async def adopt(self) -> None:
        """Take in what the API has written since; its cost depends on that alone."""
        for order_id, version in await self.orders.arrivals():
            if self.watches.version(order_id) != version:
                await self.refresh(order_id)

    async def refresh(self, order_id: str) -> Order | None:
        """Return the order as stored, bytes included, and take note of it."""
        order = await self.orders.find(order_id)
        if order is not None:
            self.note(order)
        return order

    def note(self, order: Order) -> None:
        """Take note of an order as it is stored now."""
        watch = self.watches.get(order.order_id)
        if order.watched:
            self.watches.put(order)
        elif watch is not None:
            self.watches.drop(watch)

    async def apply(self, watch: Watch, step: Move) -> None:
        """Make a move, if the table still knows it."""
        now = self.clock.now_ms()
        taking_back = step.sighting is Sighting.REORGANISED
        moved = await move(self.orders, watch.order, step, now, untouched=taking_back)
        if not moved.applied:
            watch.is_undone = False
        self.note(moved.order)

    async def close(self, watch: Watch) -> None:
        """End the watch: nothing can change any more, and the bytes may go."""
        order = replace(watch.order, watched=False)
        if await self.orders.update(order, None):
            self.watches.drop(watch)
        else:
            await self.refresh(order.order_id)
