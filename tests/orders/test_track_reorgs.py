"""What the chain says and takes back; nodes that lag, fork and forget; trackers that crash."""

from collections.abc import AsyncIterator

import pytest

from quietswap.rules.chain.block_facts import BlockFacts
from quietswap.rules.orders.order import FailureCode, OrderStatus
from quietswap.rules.orders.tracking import DEEP
from quietswap.service.relays.answers import RelayOutcome
from tests.orders.tracking import CANCEL, RIVAL, Scene, open_scene
from tests.scripted_chain import Tx


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with open_scene() as scene:
        yield scene


@pytest.mark.parametrize("depth", range(2, 7))
async def test_a_reorg_takes_a_confirmation_back(scene: Scene, depth: int) -> None:
    order = await scene.order()
    await scene.mine()
    await scene.mine(Tx.of(order), blocks=depth)
    assert await scene.status(order) is OrderStatus.CONFIRMED
    sends = scene.sends(order)
    scene.chain.reorg(depth)
    await scene.look()
    now = await scene.now(order)
    assert (now.status, now.inclusion) == (OrderStatus.MINING, None)
    assert scene.sends(order) == sends + 1
    await scene.mine(Tx.of(order), blocks=2)
    assert await scene.status(order) is OrderStatus.CONFIRMED
    assert (await scene.moves(order))[1:] == ["included", "reorganised", "new_head", "included"]


async def test_a_reorg_that_moves_it_to_another_block_confirms_that_one(scene: Scene) -> None:
    order = await scene.order()
    await scene.mine(Tx.of(order), blocks=3)
    first = (await scene.now(order)).inclusion
    scene.chain.reorg(3, Tx.of(order))
    await scene.look()
    now = await scene.now(order)
    assert now.status is OrderStatus.CONFIRMED
    assert now.inclusion is not None
    assert first is not None
    assert now.inclusion.block_hash != first.block_hash
    assert now.inclusion.block_hash == scene.chain.blocks[-3].hash
    assert scene.sends(order) == 0


@pytest.mark.parametrize("restarted", [False, True])
async def test_the_facts_are_those_of_the_block_that_stays(scene: Scene, restarted: bool) -> None:
    order = await scene.order()
    first, later = BlockFacts(10, 5_000, "Titan"), BlockFacts(20, 9_000, "unknown")
    scene.chain.block_facts = first
    await scene.mine(Tx.of(order), blocks=3)
    now = await scene.now(order)
    assert now.inclusion is not None
    assert now.inclusion.facts == first
    scene.chain.block_facts = later
    scene.chain.reorg(3, Tx.of(order))
    await (scene.restart() if restarted else scene.look())
    await scene.mine(blocks=2)
    now = await scene.now(order)
    assert now.inclusion is not None
    assert now.inclusion.facts == later


async def test_facts_of_a_block_that_was_missed_are_read_with_it(scene: Scene) -> None:
    order = await scene.order()
    scene.chain.block_facts = BlockFacts(10, 5_000, "Titan")
    scene.chain.mine(Tx.of(order))
    scene.chain.mine(blocks=70)
    await scene.look()
    now = await scene.now(order)
    assert now.inclusion is not None
    assert now.inclusion.facts == scene.chain.block_facts


async def test_a_reorg_within_the_confirmations_is_never_seen_outside(scene: Scene) -> None:
    order = await scene.order()
    await scene.mine(Tx.of(order))
    scene.chain.reorg(1)
    await scene.look()
    await scene.mine(blocks=2)
    assert await scene.moves(order) == ["new_head"]


async def test_a_reorg_can_turn_success_into_revert(scene: Scene) -> None:
    order = await scene.order()
    await scene.mine(Tx.of(order), blocks=2)
    scene.chain.reorg(2, Tx.of(order, succeeded=False))
    await scene.look()
    assert await scene.verdict(order) == (OrderStatus.FAILED, FailureCode.REVERTED)


@pytest.mark.parametrize("rival", [RIVAL, CANCEL])
async def test_a_reorg_takes_a_replacement_back(scene: Scene, rival: dict[str, object]) -> None:
    order = await scene.order()
    await scene.mine(Tx.of(order, **rival), blocks=3)
    assert await scene.status(order) is OrderStatus.CANCELLED
    scene.chain.reorg(3, Tx.of(order))
    await scene.look()
    assert await scene.verdict(order) == (OrderStatus.CONFIRMED, None)


async def test_a_reorg_after_expiry_gives_the_order_some_blocks_to_come_back(
    scene: Scene,
) -> None:
    order = await scene.order(expires_at_ms=scene.clock.now_ms() + 40_000)
    await scene.mine(Tx.of(order), blocks=6)
    scene.chain.reorg(6)
    await scene.look()
    assert scene.sends(order) == 1
    await scene.mine(blocks=4)
    assert await scene.status(order) is OrderStatus.MINING
    await scene.mine()
    assert await scene.verdict(order) == (OrderStatus.CANCELLED, FailureCode.EXPIRED)


async def test_a_reorg_while_the_node_was_away_is_found_by_its_parents(scene: Scene) -> None:
    await scene.mine(blocks=5)
    order = await scene.order()
    await scene.mine(Tx.of(order), blocks=3)
    scene.chain.failing = {"all"}
    scene.chain.reorg(5, length=20)
    assert not await scene.look()
    assert await scene.status(order) is OrderStatus.CONFIRMED
    scene.chain.failing = set()
    await scene.look()
    assert await scene.status(order) is OrderStatus.MINING


async def test_a_node_behind_by_three_blocks_changes_nothing(scene: Scene) -> None:
    order, replaced = await scene.order(), await scene.order()
    await scene.mine(Tx.of(order), Tx.of(replaced, **RIVAL), blocks=2)
    before = [await scene.now(order), await scene.now(replaced)]
    scene.chain.lag = 3
    for _ in range(10):
        await scene.look()
    assert [await scene.now(order), await scene.now(replaced)] == before
    await scene.mine(blocks=5)
    scene.chain.lag = 0
    await scene.mine(blocks=5)
    assert [await scene.now(order), await scene.now(replaced)] == before


@pytest.mark.parametrize("method", ["receipts", "nonces"])
async def test_one_node_behind_among_several_decides_nothing(scene: Scene, method: str) -> None:
    """The head comes from one node, receipts or nonces from another that lags."""
    order, replaced = await scene.order(), await scene.order()
    await scene.mine(Tx.of(order), Tx.of(replaced, **RIVAL), blocks=3)
    before = [await scene.now(order), await scene.now(replaced)]
    scene.chain.astray = {method}
    scene.chain.lag = 4
    await scene.mine(blocks=12)
    assert [await scene.now(order), await scene.now(replaced)] == before


async def test_receipts_from_another_fork_are_not_believed(scene: Scene) -> None:
    await scene.mine(blocks=3)
    order = await scene.order()
    await scene.mine()
    scene.chain.astray = {"receipts"}
    scene.chain.fork = scene.chain.branch(3, Tx.of(order), length=6)
    await scene.mine(blocks=20)
    assert await scene.moves(order) == ["new_head"]


async def test_a_node_on_a_shorter_fork_is_left_aside(scene: Scene) -> None:
    order = await scene.order()
    await scene.mine(Tx.of(order), blocks=3)
    scene.chain.fork = scene.chain.branch(3, length=2)
    for _ in range(20):
        await scene.look()
    assert await scene.status(order) is OrderStatus.CONFIRMED
    scene.chain.fork = None
    await scene.mine()
    assert await scene.moves(order) == ["new_head", "included"]


async def test_a_shorter_chain_that_goes_on_is_accepted_in_the_end(scene: Scene) -> None:
    """As after a development node was put back to an earlier state."""
    order = await scene.order()
    await scene.mine(blocks=40)
    await scene.mine(Tx.of(order), blocks=3)
    assert await scene.status(order) is OrderStatus.CONFIRMED
    scene.chain.reorg(43, length=2)
    await scene.mine(blocks=12)
    assert await scene.status(order) is OrderStatus.MINING


async def test_after_a_long_gap_every_order_is_looked_at_again(scene: Scene) -> None:
    kept, lost, open_ = [await scene.order() for _ in range(3)]
    await scene.mine(Tx.of(kept))
    await scene.mine(Tx.of(lost), blocks=3)
    scene.chain.reorg(3, length=3)
    scene.chain.mine(Tx.of(open_))
    scene.chain.mine(blocks=100)
    await scene.look()
    assert await scene.status(kept) is OrderStatus.CONFIRMED
    assert await scene.status(open_) is OrderStatus.CONFIRMED
    await scene.mine()
    assert await scene.status(lost) is OrderStatus.MINING
    assert scene.sends(lost) == 1


async def test_a_crash_is_followed_by_a_look_before_anything_is_sent(scene: Scene) -> None:
    mined = await scene.order(OrderStatus.PENDING)
    lost = await scene.order(OrderStatus.PENDING)
    scene.chain.mine(Tx.of(mined))
    scene.chain.mine(blocks=3)
    await scene.restart()
    assert await scene.status(mined) is OrderStatus.CONFIRMED
    assert scene.sends(mined) == 0
    assert (scene.sends(lost), await scene.status(lost)) == (1, OrderStatus.SUBMITTED)


@pytest.mark.parametrize("method", ["head", "block_by_hash", "receipts", "nonces"])
async def test_nothing_is_sent_after_a_crash_until_the_node_has_answered(
    scene: Scene, method: str
) -> None:
    order = await scene.order(OrderStatus.PENDING)
    scene.chain.mine(blocks=3)
    scene.chain.failing = {method}
    with pytest.raises(Exception, match="failed"):
        await scene.restart()
    assert scene.sends(order) == 0
    scene.chain.failing = set()
    await scene.tracker.start()
    assert scene.sends(order) == 1


async def test_a_reorg_during_a_crash_takes_the_verdict_back(scene: Scene) -> None:
    order, replaced = await scene.order(), await scene.order()
    await scene.mine(Tx.of(order), Tx.of(replaced, **RIVAL), blocks=3)
    assert await scene.status(order) is OrderStatus.CONFIRMED
    assert await scene.status(replaced) is OrderStatus.CANCELLED
    scene.chain.reorg(3)
    await scene.restart()
    await scene.mine()
    assert await scene.status(order) is OrderStatus.MINING
    assert await scene.status(replaced) is OrderStatus.MINING


async def test_verdicts_that_hold_survive_a_crash_and_end_their_watch(scene: Scene) -> None:
    order, replaced = await scene.order(), await scene.order()
    await scene.mine(Tx.of(order), Tx.of(replaced, **RIVAL), blocks=3)
    before = [await scene.now(order), await scene.now(replaced)]
    await scene.restart()
    await scene.mine(blocks=10)
    assert [await scene.now(order), await scene.now(replaced)] == before
    scene.chain.finalized = scene.chain.blocks[-1].number
    await scene.mine(blocks=DEEP + 8)
    assert scene.tracker.watched == 0


async def test_an_order_finished_while_nobody_watched(scene: Scene) -> None:
    order = await scene.order(OrderStatus.PENDING)
    scene.relay.answers(RelayOutcome.UNKNOWN)
    scene.chain.mine(Tx.of(order, **RIVAL))
    scene.chain.mine(blocks=100)
    await scene.restart()
    await scene.mine(blocks=5)
    assert await scene.verdict(order) == (OrderStatus.CANCELLED, FailureCode.REPLACED)
