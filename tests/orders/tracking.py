"""A tracker on a real database, with a scripted chain and relay, and orders to follow."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from itertools import count
from typing import Any

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.orders.order import FailureCode, Order, OrderEvent, OrderStatus
from quietswap.rules.tx.address import Address, from_bytes
from quietswap.service.orders.tracking.tracker import OrderTracker
from quietswap.service.relays.answers import RelayOutcome
from quietswap.service.storage.factory import Storage
from tests import stored_orders
from tests.manual_clock import ManualClock
from tests.patient import open_storage
from tests.scripted_chain import FIRST_NUMBER, ScriptedChain, Tx
from tests.scripted_relay import ScriptedRelay
from tests.stored_orders import MINUTE_MS, NOW_MS, RULES

_serial = count(1)
CANCEL = {"hash": "0x" + "cc" * 32, "data_size": 0}
RIVAL = {"hash": "0x" + "dd" * 32}


class ScriptedPrices:
    """USD per smallest unit by token, at any block. `hangs`: no answer comes."""

    def __init__(self) -> None:
        self.usd: dict[Address, Decimal] = {}
        self.asked: list[int] = []
        self.hangs = False

    async def after(self, block: int, tokens: Sequence[Address]) -> Sequence[Decimal | None]:
        self.asked.append(block)
        if self.hangs:
            await asyncio.Event().wait()
        return [self.usd.get(token) for token in tokens]


@dataclass
class Scene:
    """Everything a test of the tracker looks at or turns."""

    storage: Storage
    chain: ScriptedChain
    relay: ScriptedRelay
    clock: ManualClock
    prices: ScriptedPrices
    tracker: OrderTracker

    async def order(self, status: OrderStatus = OrderStatus.SUBMITTED, **changes: Any) -> Order:
        """Store an order as the API leaves it, sent at the present head; the tracker finds it."""
        serial = next(_serial)
        now, head = self.clock.now_ms(), self.chain.blocks[-1].number
        values = {
            "order_id": f"ord_{serial}",
            "tx_hash": f"0x{serial:064x}",
            "wallet": from_bytes(serial.to_bytes(20)),
            "raw": b"\x02" + serial.to_bytes(8),
            "nonce": 0,
            "status": status,
            "created_at_ms": now,
            "expires_at_ms": now + 30 * MINUTE_MS,
            "watch_until_ms": now + 24 * 60 * MINUTE_MS,
            "sent_head": head,
            "submitted_head": head if status is OrderStatus.SUBMITTED else None,
            "attempts": 1,
        }
        order = stored_orders.order(**(values | changes))
        line = OrderEvent(order.order_id, now, "posted", None, order.status, "test")
        await self.storage.orders.add(order, line)
        return order

    async def mine(self, *txs: Tx, blocks: int = 1) -> None:
        """Mine blocks one by one, with the tracker looking at each; `txs` are in the first."""
        for _ in range(blocks):
            self.chain.mine(*txs)
            await self.look()
            txs = ()

    async def look(self) -> bool:
        """Let the tracker take a turn; False when the chain was down."""
        try:
            await self.tracker.run_once()
        except NodeUnavailable:
            return False
        return True

    async def restart(self) -> None:
        """Let another tracker take over, as after a crash."""
        self.tracker = a_tracker(self.storage, self.chain, self.relay, self.clock, self.prices)
        await self.tracker.start()

    async def now(self, order: Order) -> Order:
        """Return the order as it is stored now."""
        found = await self.storage.orders.find(order.order_id)
        assert found is not None
        return found

    async def status(self, order: Order) -> OrderStatus:
        """Return the order's status now."""
        return (await self.now(order)).status

    async def verdict(self, order: Order) -> tuple[OrderStatus, FailureCode | None]:
        """Return the order's status and the code of its failure."""
        found = await self.now(order)
        return found.status, found.failure and found.failure.code

    async def moves(self, order: Order) -> list[str]:
        """Return the sightings in the order's diary after it was posted."""
        events = await self.storage.orders.events(order.order_id)
        return [event.event_type for event in events[1:]]

    def sends(self, order: Order) -> int:
        """Return how often the relay got the order's bytes from the tracker."""
        return self.relay.sent.count(order.raw or b"")


def a_tracker(
    storage: Storage,
    chain: ScriptedChain,
    relay: ScriptedRelay,
    clock: ManualClock,
    prices: ScriptedPrices,
) -> OrderTracker:
    """Return a tracker with the default rules."""
    return OrderTracker(storage.orders, chain, {2: relay}, clock, RULES, prices=prices)


@asynccontextmanager
async def open_scene(*, started: bool = True) -> AsyncIterator[Scene]:
    """Open a scene with an empty database and a tracker that has started."""
    clock = ManualClock(NOW_MS // 1000)
    storage = await open_storage("sqlite:///:memory:", clock=clock)
    chain, relay = ScriptedChain(clock), ScriptedRelay(RelayOutcome.ALREADY_KNOWN)
    chain.mine(blocks=5)
    prices = ScriptedPrices()
    tracker = a_tracker(storage, chain, relay, clock, prices)
    scene = Scene(storage, chain, relay, clock, prices, tracker)
    try:
        if started:
            await scene.tracker.start()
        yield scene
    finally:
        await storage.close()


__all__ = [
    "CANCEL",
    "FIRST_NUMBER",
    "RIVAL",
    "Address",
    "FailureCode",
    "OrderStatus",
    "RelayOutcome",
    "Scene",
    "Tx",
    "a_tracker",
    "open_scene",
]
