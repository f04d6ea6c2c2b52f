"""What arrived and what was refunded is stored with the inclusion, and taken back with it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from decimal import Decimal

import pytest

from quietswap.rules.chain.pool_reference import Reference
from quietswap.rules.chain.received import Refund, RefundStatus
from quietswap.rules.chain.relay_refund import ReportedRefund
from quietswap.rules.orders.order import Order, OrderKind, OrderStatus
from quietswap.rules.tokens.token import NATIVE, WETH
from quietswap.rules.tx.address import Address, from_bytes
from tests.orders.tracking import Scene, Tx, open_scene
from tests.stored_orders import USDC

BUILDER = from_bytes(b"\xbb" * 20)
MILLI = 10**15
NO_REFUND = Refund()


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with open_scene() as scene:
        yield scene


def swap_of(order: Order, amount: int | None = 2_990 * 10**6, **changes: object) -> Tx:
    """Return the order's transaction, which brings so much of the buy token."""
    return Tx.of(
        order, movements={order.buy_token.lower(): amount, order.sell_token.lower(): -1}, **changes
    )


def refund_of(order: Order, value: int = 14 * MILLI) -> Tx:
    return Tx("0x" + "ef" * 32, BUILDER, 0, to=order.wallet, data_size=0, value=value)


async def result(scene: Scene, order: Order) -> tuple[int | None, str | None, Refund | None]:
    block = (await scene.now(order)).inclusion
    assert block is not None
    return block.received, block.received_issue, block.refund


async def test_the_inclusion_carries_what_arrived(scene: Scene) -> None:
    order = await scene.order()
    await scene.mine(swap_of(order), blocks=2)
    assert await result(scene, order) == (2_990 * 10**6, None, NO_REFUND)


async def test_a_reverted_swap_brought_nothing(scene: Scene) -> None:
    order = await scene.order()
    await scene.mine(Tx.of(order, succeeded=False), blocks=2)
    assert await result(scene, order) == (0, None, NO_REFUND)


async def test_an_unknown_amount_has_a_reason(scene: Scene) -> None:
    order, odd = await scene.order(), await scene.order()
    await scene.mine(Tx.of(order), swap_of(odd, None), blocks=2)
    assert await result(scene, order) == (None, "NO_LOGS", NO_REFUND)
    assert await result(scene, odd) == (None, "UNREADABLE", NO_REFUND)


async def test_an_unwrap_brings_eth_and_a_cancel_nothing(scene: Scene) -> None:
    unwrap = await scene.order(kind=OrderKind.WRAP, sell_token=WETH, buy_token=NATIVE)
    cancel = await scene.order(kind=OrderKind.CANCEL, sell_token=NATIVE, buy_token=NATIVE)
    await scene.mine(
        Tx.of(unwrap, movements={WETH.lower(): -7, NATIVE.lower(): 7}),
        Tx.of(cancel, movements={}),
        blocks=2,
    )
    assert await result(scene, unwrap) == (7, None, NO_REFUND)
    assert await result(scene, cancel) == (None, None, NO_REFUND)


async def test_a_reorganisation_takes_it_back(scene: Scene) -> None:
    order = await scene.order()
    await scene.mine(swap_of(order), blocks=2)
    scene.chain.reorg(2, length=3)
    await scene.look()
    now = await scene.now(order)
    assert (now.status, now.inclusion) == (OrderStatus.MINING, None)
    await scene.mine(swap_of(order, 5 * 10**6), blocks=2)
    assert await result(scene, order) == (5 * 10**6, None, NO_REFUND)


PRICES = {WETH: Decimal("3e-15"), USDC: Decimal("1e-6")}
WORTH = Reference(3_000 * 10**6, 10**18)


async def reference(scene: Scene, order: Order) -> Reference | None:
    block = (await scene.now(order)).inclusion
    assert block is not None
    return block.reference


async def test_the_reference_is_read_before_the_block_and_kept(scene: Scene) -> None:
    scene.prices.usd |= PRICES
    order = await scene.order()
    await scene.mine(swap_of(order), blocks=14)
    assert await reference(scene, order) == WORTH
    inclusion = (await scene.now(order)).inclusion
    assert inclusion is not None
    assert scene.prices.asked == [inclusion.block_number - 1]


@pytest.mark.parametrize("unknown", [WETH, USDC])
async def test_without_a_price_the_reference_is_unknown(scene: Scene, unknown: Address) -> None:
    scene.prices.usd |= {token: usd for token, usd in PRICES.items() if token != unknown}
    order = await scene.order()
    await scene.mine(swap_of(order), blocks=2)
    assert await result(scene, order) == (2_990 * 10**6, None, NO_REFUND)
    assert await reference(scene, order) is None


async def test_prices_that_hang_delay_no_confirmation_for_long(scene: Scene) -> None:
    scene.prices.hangs = True
    order = await scene.order()
    await scene.mine(swap_of(order), blocks=2)
    assert await scene.status(order) is OrderStatus.CONFIRMED
    assert await reference(scene, order) is None


async def test_only_a_swap_that_brought_something_has_a_reference(scene: Scene) -> None:
    scene.prices.usd |= PRICES
    failed, odd = await scene.order(), await scene.order()
    wrap = await scene.order(kind=OrderKind.WRAP, sell_token=NATIVE, buy_token=WETH)
    txs = Tx.of(failed, succeeded=False), swap_of(odd, None), swap_of(wrap)
    await scene.mine(*txs, blocks=2)
    assert [await reference(scene, each) for each in (failed, odd, wrap)] == [None] * 3
    assert scene.prices.asked == []


async def test_a_reorganisation_reads_the_reference_again(scene: Scene) -> None:
    scene.prices.usd |= PRICES
    order = await scene.order()
    await scene.mine(swap_of(order), blocks=2)
    scene.chain.reorg(2, length=3)
    await scene.look()
    assert (await scene.now(order)).inclusion is None
    scene.prices.usd[USDC] *= 2
    await scene.mine(swap_of(order), blocks=2)
    assert await reference(scene, order) == Reference(1_500 * 10**6, 10**18)


async def test_a_refund_is_reported_first_and_paid_only_by_the_chain(scene: Scene) -> None:
    told, paid = await scene.order(), await scene.order()
    await scene.mine(swap_of(told), swap_of(paid), refund_of(paid), blocks=2)
    for order in (told, paid):
        scene.relay.refunds[order.tx_hash] = ReportedRefund(14 * MILLI, 10**12)
    await scene.mine()
    assert (await result(scene, told))[2] == Refund(RefundStatus.REPORTED, 14 * MILLI)
    found = (await result(scene, paid))[2]
    assert found == Refund(RefundStatus.PAID, 14 * MILLI, refund_of(paid).hash)
    assert (await scene.moves(paid))[-1] == "refund_paid"
    asked = scene.relay.asked.count(paid.tx_hash)
    await scene.mine(blocks=12)
    assert scene.relay.asked.count(paid.tx_hash) == asked, "what is paid is not asked again"


async def test_a_late_report_is_found_before_tracking_ends(scene: Scene) -> None:
    order = await scene.order()
    await scene.mine(swap_of(order), refund_of(order), blocks=14)
    assert (await result(scene, order))[2] == NO_REFUND
    scene.relay.refunds[order.tx_hash] = ReportedRefund(14 * MILLI, 10**12)
    await scene.restart()  # it forgets what was to be asked
    scene.chain.finalized = scene.chain.blocks[-1].number
    await scene.mine(blocks=30)
    now = await scene.now(order)
    assert not now.watched
    assert now.inclusion is not None
    assert now.inclusion.refund == Refund(RefundStatus.PAID, 14 * MILLI, refund_of(order).hash)


async def test_a_relay_without_rebates_is_not_asked(scene: Scene) -> None:
    hidden = await scene.order(endpoint_type="fullprivacy")
    await scene.mine(swap_of(hidden), blocks=30)
    scene.relay.pays_rebates = False
    order = await scene.order()
    await scene.mine(swap_of(order), blocks=30)
    assert scene.relay.asked == []


async def test_a_refund_goes_with_its_block(scene: Scene) -> None:
    order = await scene.order(buy_token=USDC)
    await scene.mine(swap_of(order), refund_of(order), blocks=2)
    scene.relay.refunds[order.tx_hash] = ReportedRefund(14 * MILLI, 10**12)
    await scene.mine()
    scene.chain.reorg(3, swap_of(order), length=5)
    await scene.look()
    await scene.mine()
    assert (await result(scene, order))[2] == Refund(RefundStatus.REPORTED, 14 * MILLI)


@pytest.mark.parametrize("payments", [1, 2])
async def test_one_payment_proves_one_refund(scene: Scene, payments: int) -> None:
    first = await scene.order()
    second = await scene.order(wallet=first.wallet, nonce=1, client_id="other")
    paid = [replace(refund_of(first), hash=f"0x{n:064x}") for n in range(payments)]
    await scene.mine(swap_of(first), swap_of(second), *paid, blocks=2)
    for order in (first, second):
        scene.relay.refunds[order.tx_hash] = ReportedRefund(14 * MILLI, 10**12)
    await scene.mine(blocks=30)
    found = [(await result(scene, order))[2] for order in (first, second)]
    hashes = [refund.tx_hash for refund in found if refund is not None]
    assert sorted(filter(None, hashes)) == [one.hash for one in paid]
    statuses = {refund.status for refund in found if refund is not None}
    expected = {RefundStatus.PAID, RefundStatus.REPORTED} if payments == 1 else {RefundStatus.PAID}
    assert statuses == expected


async def test_a_payment_stays_with_an_order_that_is_no_longer_tracked(scene: Scene) -> None:
    first = await scene.order()
    second = await scene.order(wallet=first.wallet, nonce=1)
    await scene.mine(swap_of(first), swap_of(second), refund_of(first), blocks=2)
    scene.relay.refunds[first.tx_hash] = ReportedRefund(14 * MILLI, 10**12)
    await scene.mine()
    told = await scene.now(first)
    assert await scene.storage.orders.update(replace(told, watched=False), None)
    await scene.restart()
    scene.relay.refunds[second.tx_hash] = ReportedRefund(14 * MILLI, 10**12)
    scene.chain.finalized = scene.chain.blocks[-1].number
    await scene.mine(blocks=40)
    assert (await result(scene, second))[2] == Refund(RefundStatus.REPORTED, 14 * MILLI)
