"""A receipt or block that cannot be read concerns its own order, never those of other clients."""

from collections.abc import AsyncIterator

import pytest

from quietswap.rules.chain.received import Refund, RefundStatus
from quietswap.rules.chain.relay_refund import ReportedRefund
from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.orders.tracking import DEEP
from quietswap.rules.tx.address import from_bytes
from tests.orders.tracking import Scene, Tx, open_scene
from tests.stored_orders import MINUTE_MS

BUILDER = from_bytes(b"\xbb" * 20)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with open_scene() as scene:
        yield scene


async def finalize(scene: Scene) -> None:
    """Let the tracker look at blocks until those mined so far are final and closed."""
    scene.chain.finalized = scene.chain.blocks[-1].number
    await scene.mine(blocks=DEEP + 8)


async def test_an_unreadable_receipt_waits_alone(scene: Scene) -> None:
    poison, other = await scene.order(), await scene.order(client_id="other")
    scene.chain.unreadable = {poison.tx_hash}
    await scene.mine(Tx.of(poison), Tx.of(other), blocks=3)
    assert await scene.status(poison) is OrderStatus.MINING
    assert await scene.status(other) is OrderStatus.CONFIRMED
    scene.chain.unreadable = set()
    await scene.mine()
    assert await scene.status(poison) is OrderStatus.CONFIRMED


async def test_a_start_with_an_unreadable_receipt(scene: Scene) -> None:
    poison, other = await scene.order(), await scene.order(client_id="other")
    scene.chain.mine(Tx.of(poison), Tx.of(other))
    scene.chain.mine(blocks=100)  # a gap: only receipts show what became of the orders
    scene.chain.unreadable = {poison.tx_hash}
    await scene.restart()
    assert await scene.status(other) is OrderStatus.CONFIRMED
    assert (await scene.status(poison)).is_terminal is False
    scene.chain.unreadable = set()
    await scene.mine()
    assert await scene.status(poison) is OrderStatus.CONFIRMED, "it is read at the next block"


async def test_an_unreadable_receipt_does_not_end_the_tracking_of_its_order(scene: Scene) -> None:
    poison, other = await scene.order(), await scene.order(client_id="other")
    await scene.mine(Tx.of(poison), Tx.of(other), blocks=3)
    scene.chain.unreadable = {poison.tx_hash}
    await finalize(scene)
    assert (await scene.now(poison)).watched
    assert not (await scene.now(other)).watched
    scene.chain.unreadable = set()
    await finalize(scene)
    assert not (await scene.now(poison)).watched


async def test_an_order_expires_only_after_its_receipt_was_looked_for(scene: Scene) -> None:
    poison, other = await scene.order(), await scene.order(client_id="other")
    scene.chain.unreadable = {poison.tx_hash}
    scene.clock.advance(31 * MINUTE_MS // 1000)
    await scene.mine(blocks=3)
    assert await scene.status(other) is OrderStatus.CANCELLED
    assert not (await scene.status(poison)).is_terminal
    scene.chain.unreadable = set()
    await scene.mine(blocks=2)
    assert await scene.status(poison) is await scene.status(other)


async def test_an_unreadable_block_of_a_refund_stops_nobody(scene: Scene) -> None:
    told, other = await scene.order(), await scene.order(client_id="other")
    await scene.mine(Tx.of(told, movements={}), blocks=2)
    await scene.mine(Tx.of(other, movements={}), blocks=2)
    for order in (told, other):
        scene.relay.refunds[order.tx_hash] = ReportedRefund(14 * 10**15, 10**12)
    inclusion = (await scene.now(told)).inclusion
    assert inclusion is not None
    scene.chain.unread_blocks = {inclusion.block_hash}
    scene.chain.finalized = scene.chain.blocks[-1].number
    turns = []
    for _ in range(DEEP + 8):
        scene.chain.mine()
        turns.append(await scene.look())
    assert all(turns)
    for order in (told, other):
        now = await scene.now(order)
        assert not now.watched
        assert now.inclusion is not None
        assert now.inclusion.refund == Refund(RefundStatus.REPORTED, 14 * 10**15)


async def test_a_paid_refund_is_found_once_its_block_can_be_read(scene: Scene) -> None:
    order = await scene.order()
    paid = Tx("0x" + "ef" * 32, BUILDER, 0, to=order.wallet, data_size=0, value=14 * 10**15)
    await scene.mine(Tx.of(order, movements={}), paid, blocks=2)
    scene.relay.refunds[order.tx_hash] = ReportedRefund(14 * 10**15, 10**12)
    inclusion = (await scene.now(order)).inclusion
    assert inclusion is not None
    scene.chain.unread_blocks = {inclusion.block_hash}
    await scene.mine()
    assert (await scene.moves(order))[-1] == "refund_reported"
    scene.chain.unread_blocks = set()
    await scene.mine(blocks=12)
    assert (await scene.moves(order))[-1] == "refund_paid"
