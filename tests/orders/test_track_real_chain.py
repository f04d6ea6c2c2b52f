"""The tracker against a real node and a real relay over HTTP, reorganisations included."""

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from quietswap.rules.orders.order import FailureCode, Order, OrderEvent, OrderStatus
from quietswap.sandbox.chain.transactions import Transaction
from quietswap.sandbox.http_server import ComponentServer
from quietswap.service.base.http_client import HttpClient
from quietswap.service.node.chain import NodeChain
from quietswap.service.node.rpc import NodeRpcClient
from quietswap.service.orders.tracking.tracker import OrderTracker
from quietswap.service.relays.mev_blocker import MevBlocker
from quietswap.service.sources.uniswap_reference import PoolPrices
from quietswap.service.storage.factory import Storage
from tests import stored_orders
from tests.defaults import NODE, RELAY
from tests.manual_clock import ManualClock
from tests.patient import open_storage
from tests.sandbox.small_network import ALICE, BOB, SmallNetwork, running_small_network
from tests.stored_orders import RULES


@dataclass
class Place:
    """A town with our tracker in it; every `block` is one look."""

    town: SmallNetwork
    storage: Storage
    clock: ManualClock
    chain: NodeChain
    tracker: OrderTracker

    async def order(self, tx: Transaction, **changes: Any) -> Order:
        """Store a pending order whose send nobody knows the fate of."""
        head = await self.chain.head()
        order = stored_orders.order(
            wallet=tx.sender,
            nonce=tx.fields.nonce,
            tx_hash=tx.hash,
            raw=tx.raw,
            min_buy_amount=0,  # it is a transfer, which delivers nothing
            **changes,
            created_at_ms=self.clock.now_ms(),
            expires_at_ms=self.clock.now_ms() + 1_800_000,
            watch_until_ms=self.clock.now_ms() + 86_400_000,
            sent_head=head.number,
            attempts=1,
        )
        line = OrderEvent(order.order_id, 0, "posted", None, order.status, "test")
        await self.storage.orders.add(order, line)
        return order

    async def blocks(self, count: int = 1) -> None:
        """Build blocks, with a look at each."""
        for _ in range(count):
            await self.town.builder.mine(1)
            await self.look()

    async def look(self) -> None:
        """Look, once the head in memory has gone stale."""
        self.clock.advance(2)
        await self.tracker.run_once()

    async def status(self, order: Order) -> tuple[OrderStatus, FailureCode | None]:
        """Return the order's status and the code of its failure."""
        found = await self.storage.orders.find(order.order_id)
        assert found is not None
        return found.status, found.failure and found.failure.code


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    async with running_small_network() as town:
        part = ComponentServer("relay", town.active_faults, town.relay.handle)
        await part.start()
        clock = ManualClock(int(time.time()))
        http = HttpClient()
        rpc = NodeRpcClient(http, [town.chain.url], clock, **NODE)
        chain = NodeChain(rpc, clock)
        relay = MevBlocker(http, clock, referrer="test", base_url=part.url, **RELAY)
        storage = await open_storage("sqlite:///:memory:", clock=clock)
        pools = PoolPrices(rpc, clock)
        tracker = OrderTracker(storage.orders, chain, {2: relay}, clock, RULES, prices=pools)
        try:
            await tracker.start()
            yield Place(town, storage, clock, chain, tracker)
        finally:
            await storage.close()
            await rpc.close()
            await http.close()
            await part.stop()


async def test_a_lost_answer_becomes_a_confirmation(place: Place) -> None:
    order = await place.order(await place.town.signed())
    await place.blocks()
    assert await place.status(order) == (OrderStatus.SUBMITTED, None)
    await place.blocks()
    assert await place.status(order) == (OrderStatus.MINING, None)
    await place.blocks()
    assert await place.status(order) == (OrderStatus.CONFIRMED, None)
    found = await place.storage.orders.find(order.order_id)
    receipt = await place.town.chain.receipt(order.tx_hash)
    assert found is not None
    assert found.inclusion is not None
    assert receipt is not None
    assert found.inclusion.block_hash == receipt["blockHash"]
    assert found.inclusion.gas_used == 21_000


@pytest.mark.parametrize("depth", [2, 6])
async def test_a_reorganisation_takes_it_back_until_it_is_mined_again(
    place: Place, depth: int
) -> None:
    await place.blocks(4)
    order = await place.order(await place.town.signed())
    await place.blocks(1)
    await place.blocks(depth)
    assert await place.status(order) == (OrderStatus.CONFIRMED, None)
    await place.town.builder.reorg(depth)
    await place.look()
    assert await place.status(order) == (OrderStatus.MINING, None)
    await place.blocks(2)
    assert await place.status(order) == (OrderStatus.CONFIRMED, None)


async def test_what_the_relay_loses_is_sent_until_it_is_mined(place: Place) -> None:
    order = await place.order(await place.town.signed())
    place.town.active_faults.put("relay", "lose")
    await place.blocks(5)
    assert await place.status(order) == (OrderStatus.MINING, None)
    assert await place.town.chain.receipt(order.tx_hash) is None
    place.town.active_faults.clear("relay")
    await place.blocks(7)
    assert await place.status(order) == (OrderStatus.CONFIRMED, None)


async def test_a_silent_relay_leaves_it_pending_and_the_node_decides(place: Place) -> None:
    order = await place.order(await place.town.signed())
    place.town.active_faults.put("relay", "answer_lost")
    await place.blocks()
    assert await place.status(order) == (OrderStatus.PENDING, None)
    await place.blocks(2)
    assert await place.status(order) == (OrderStatus.CONFIRMED, None)


@pytest.mark.parametrize(
    ("to", "code"),
    [(BOB, FailureCode.REPLACED), (ALICE, FailureCode.USER_CANCELLED)],
)
async def test_the_wallets_own_public_transaction_takes_the_nonce(
    place: Place, to: object, code: FailureCode
) -> None:
    tx = await place.town.signed(max_fee=10**9 + 1)
    order = await place.order(tx)
    place.town.active_faults.put("relay", "lose")
    other = await place.town.signed(to=to.address, value=5)  # type: ignore[attr-defined]
    await place.town.chain.send_raw(other.raw)
    await place.town.chain.mine()
    await place.look()
    await place.blocks()
    assert await place.status(order) == (OrderStatus.CANCELLED, code)
