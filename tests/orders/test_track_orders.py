"""The life of an order under the tracker's eyes, one named case each."""

from collections.abc import AsyncIterator

import pytest

from quietswap.rules.orders.order import Failure, FailureCode, OrderStatus
from quietswap.rules.orders.tracking import DEEP
from quietswap.service.orders.tracking.nonce_search import BLOCKS_PER_HEAD
from quietswap.service.relays.answers import RelayOutcome
from tests.orders.tracking import CANCEL, RIVAL, Scene, open_scene
from tests.scripted_chain import Tx

NEVER_MS = 2**52


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with open_scene() as scene:
        yield scene


async def test_the_whole_life_of_an_order(scene: Scene) -> None:
    order = await scene.order()
    await scene.mine()
    assert await scene.status(order) is OrderStatus.MINING
    block = scene.chain.mine(Tx.of(order))
    await scene.look()
    assert await scene.status(order) is OrderStatus.MINING
    await scene.mine()
    now = await scene.now(order)
    assert now.status is OrderStatus.CONFIRMED
    assert now.inclusion is not None
    assert (now.inclusion.block_number, now.inclusion.block_hash) == (block.number, block.hash)
    assert (now.inclusion.gas_used, now.inclusion.effective_gas_price) == (150_000, 10**9)
    assert now.inclusion.block_time_ms == block.time * 1000
    assert await scene.moves(order) == ["new_head", "included"]


async def test_an_accepted_order_is_mining_only_after_a_new_head(scene: Scene) -> None:
    order = await scene.order()
    for _ in range(3):
        await scene.look()
    assert await scene.status(order) is OrderStatus.SUBMITTED
    await scene.mine()
    assert await scene.status(order) is OrderStatus.MINING


async def test_a_reverted_transaction_fails_with_what_it_cost(scene: Scene) -> None:
    order = await scene.order()
    await scene.mine(Tx.of(order, succeeded=False), blocks=2)
    now = await scene.now(order)
    assert now.failure is not None
    assert (now.status, now.failure.code) == (OrderStatus.FAILED, FailureCode.REVERTED)
    assert now.inclusion is not None
    assert not now.inclusion.succeeded


async def test_two_confirmations_are_waited_for(scene: Scene) -> None:
    order = await scene.order()
    await scene.mine(Tx.of(order))
    for _ in range(3):
        await scene.look()
    assert await scene.status(order) is OrderStatus.MINING
    await scene.mine()
    assert await scene.status(order) is OrderStatus.CONFIRMED


async def test_relay_says_failed_and_then_it_is_mined(scene: Scene) -> None:
    order = await scene.order(OrderStatus.PENDING)
    scene.relay.answers(RelayOutcome.WOULD_REVERT)
    await scene.mine()
    assert await scene.verdict(order) == (OrderStatus.FAILED, FailureCode.REFUSED)
    await scene.mine(Tx.of(order), blocks=2)
    assert await scene.verdict(order) == (OrderStatus.CONFIRMED, None)


async def test_what_the_api_wrote_as_refused_is_corrected_when_mined(scene: Scene) -> None:
    refused = Failure(FailureCode.REFUSED, "the relay refused it")
    order = await scene.order(OrderStatus.FAILED, failure=refused)
    await scene.mine()
    await scene.mine(Tx.of(order), blocks=2)
    assert await scene.verdict(order) == (OrderStatus.CONFIRMED, None)


async def test_a_refusal_after_an_acceptance_changes_nothing(scene: Scene) -> None:
    order = await scene.order()
    scene.relay.answers(RelayOutcome.INVALID)
    await scene.mine(blocks=6)
    assert scene.sends(order) == 1
    assert await scene.status(order) is OrderStatus.MINING


async def test_relay_loses_it_and_gets_it_again(scene: Scene) -> None:
    order = await scene.order()
    await scene.mine(blocks=4)
    assert scene.sends(order) == 0
    await scene.mine(blocks=1)
    assert scene.sends(order) == 1
    await scene.mine(blocks=10)
    assert scene.sends(order) == 3
    await scene.mine(Tx.of(order), blocks=12)
    assert scene.sends(order) == 3
    assert await scene.status(order) is OrderStatus.CONFIRMED


async def test_accepted_but_the_answer_was_lost(scene: Scene) -> None:
    order = await scene.order(OrderStatus.PENDING)
    await scene.mine()
    assert scene.sends(order) == 1
    assert await scene.status(order) is OrderStatus.SUBMITTED
    await scene.mine()
    assert await scene.status(order) is OrderStatus.MINING


async def test_a_lost_answer_of_what_is_mined_at_once(scene: Scene) -> None:
    order = await scene.order(OrderStatus.PENDING)
    scene.relay.answers(RelayOutcome.UNKNOWN)
    await scene.mine(Tx.of(order), blocks=2)
    assert scene.sends(order) == 0
    assert await scene.moves(order) == ["included"]


async def test_silence_is_answered_with_the_same_bytes_every_few_blocks(scene: Scene) -> None:
    order = await scene.order(OrderStatus.PENDING)
    scene.relay.answers(RelayOutcome.UNKNOWN)
    await scene.mine(blocks=12)
    assert scene.sends(order) == 3
    assert (await scene.now(order)).attempts == 4
    assert await scene.status(order) is OrderStatus.PENDING


async def test_a_relay_that_cannot_be_reached_later_fails_nothing(scene: Scene) -> None:
    order = await scene.order(OrderStatus.PENDING)
    scene.relay.answers(RelayOutcome.NOT_SENT)
    await scene.mine(blocks=3)
    assert await scene.status(order) is OrderStatus.PENDING


async def test_while_the_circuit_is_open_nothing_is_claimed(scene: Scene) -> None:
    order = await scene.order(OrderStatus.PENDING)
    scene.relay.is_up = False
    await scene.mine(blocks=3)
    assert (await scene.now(order)).attempts == 1
    scene.relay.is_up = True
    await scene.mine()
    assert scene.sends(order) == 1


async def test_a_receipt_with_missing_fields_is_none(scene: Scene) -> None:
    """The node's adapter gives None for it; a verdict waits until it is whole."""
    order = await scene.order()
    scene.chain.hidden = {order.tx_hash}
    await scene.mine(Tx.of(order), blocks=4)
    assert await scene.status(order) is OrderStatus.MINING
    scene.chain.hidden = set()
    await scene.mine()
    assert await scene.status(order) is OrderStatus.CONFIRMED


async def test_a_receipt_one_head_late(scene: Scene) -> None:
    order = await scene.order()
    await scene.mine(Tx.of(order))
    scene.chain.hidden = {order.tx_hash}
    await scene.mine()
    assert await scene.status(order) is OrderStatus.MINING
    scene.chain.hidden = set()
    await scene.mine()
    assert await scene.status(order) is OrderStatus.CONFIRMED


async def test_the_users_own_transaction_consumes_the_nonce(scene: Scene) -> None:
    order = await scene.order()
    await scene.mine(Tx.of(order, **RIVAL))
    assert await scene.status(order) is OrderStatus.MINING
    await scene.mine()
    assert await scene.verdict(order) == (OrderStatus.CANCELLED, FailureCode.REPLACED)
    failure = (await scene.now(order)).failure
    assert failure is not None
    assert RIVAL["hash"] in failure.message


async def test_a_self_transfer_cancels(scene: Scene) -> None:
    order = await scene.order()
    await scene.mine(Tx.of(order, to=order.wallet, **CANCEL), blocks=2)
    assert await scene.verdict(order) == (OrderStatus.CANCELLED, FailureCode.USER_CANCELLED)


async def test_a_self_transfer_with_data_is_a_replacement(scene: Scene) -> None:
    order = await scene.order()
    await scene.mine(Tx.of(order, to=order.wallet, **RIVAL), blocks=2)
    assert await scene.verdict(order) == (OrderStatus.CANCELLED, FailureCode.REPLACED)


async def test_of_two_orders_with_one_nonce_one_wins(scene: Scene) -> None:
    first = await scene.order()
    second = await scene.order(wallet=first.wallet)
    await scene.mine(Tx.of(second), blocks=2)
    assert await scene.verdict(first) == (OrderStatus.CANCELLED, FailureCode.REPLACED)
    assert await scene.verdict(second) == (OrderStatus.CONFIRMED, None)


async def test_a_nonce_used_by_something_nobody_saw(scene: Scene) -> None:
    """After a gap the blocks are read back until one has the transaction that used it."""
    order = await scene.order()
    await scene.mine()
    scene.chain.mine(Tx.of(order, **RIVAL))
    scene.chain.mine(blocks=3 * BLOCKS_PER_HEAD)
    await scene.look()
    for _ in range(4):
        assert await scene.status(order) is OrderStatus.MINING
        before = scene.chain.calls["block_by_hash"]
        await scene.mine()
        assert scene.chain.calls["block_by_hash"] - before <= BLOCKS_PER_HEAD + 1
    assert await scene.verdict(order) == (OrderStatus.CANCELLED, FailureCode.REPLACED)


async def test_a_swap_of_an_unread_block_is_found_without_its_receipt(scene: Scene) -> None:
    order = await scene.order()
    await scene.mine()
    scene.chain.hidden = {order.tx_hash}
    scene.chain.mine(Tx.of(order))
    scene.chain.mine(blocks=70)
    await scene.look()
    await scene.mine(blocks=4)
    assert await scene.status(order) is OrderStatus.MINING, "found, but its receipt is missing"
    scene.chain.hidden = set()
    await scene.mine()
    assert await scene.verdict(order) == (OrderStatus.CONFIRMED, None)


async def test_a_count_that_no_block_agrees_with_ends_nothing(scene: Scene) -> None:
    """A balancer with a backend of a fork: two looks see the nonce used, and no block uses it."""
    order = await scene.order(expires_at_ms=NEVER_MS)
    await scene.mine()
    scene.chain.flipped = {order.wallet: order.nonce + 1}
    await scene.mine(blocks=3 * DEEP)
    assert not (await scene.status(order)).is_terminal
    scene.chain.flipped = {}
    await scene.mine(Tx.of(order), blocks=2)
    assert await scene.verdict(order) == (OrderStatus.CONFIRMED, None)


async def test_a_nonce_that_code_of_the_wallet_used(scene: Scene) -> None:
    """An authorization (EIP-7702) or a created contract uses one without a transaction."""
    order = await scene.order(expires_at_ms=NEVER_MS)
    scene.chain.mine(blocks=70)
    scene.chain.code_used = {order.wallet: order.nonce + 1}
    await scene.mine(blocks=DEEP - 2)
    assert await scene.status(order) is OrderStatus.MINING, "no deep block was read yet"
    await scene.mine(blocks=3)
    assert await scene.verdict(order) == (OrderStatus.CANCELLED, FailureCode.NONCE_CONSUMED)
    [*_, last] = await scene.storage.orders.events(order.order_id)
    assert "at block" in last.evidence


async def test_the_second_look_finds_the_receipt_after_all(scene: Scene) -> None:
    order = await scene.order()
    await scene.mine()
    scene.chain.hidden = {order.tx_hash}
    scene.chain.mine(Tx.of(order))
    scene.chain.mine(blocks=200)
    await scene.look()
    scene.chain.hidden = set()
    await scene.mine()
    assert await scene.verdict(order) == (OrderStatus.CONFIRMED, None)


@pytest.mark.parametrize("method", ["receipts", "nonces", "head", "block_by_hash"])
async def test_an_error_between_two_looks_begins_the_count_anew(scene: Scene, method: str) -> None:
    order = await scene.order(expires_at_ms=NEVER_MS)
    await scene.mine()
    scene.chain.mine(Tx.of(order, **RIVAL))
    scene.chain.mine(blocks=200)
    await scene.look()
    scene.chain.mine()
    scene.chain.failing = {method}
    assert not await scene.look()
    scene.chain.failing = set()
    assert await scene.look()
    assert await scene.status(order) is OrderStatus.MINING
    await scene.mine(blocks=200 // BLOCKS_PER_HEAD + 1)
    assert await scene.verdict(order) == (OrderStatus.CANCELLED, FailureCode.REPLACED)


async def test_every_move_has_its_evidence(scene: Scene) -> None:
    order = await scene.order(OrderStatus.PENDING)
    await scene.mine()
    block = scene.chain.mine(Tx.of(order))
    await scene.look()
    await scene.mine()
    events = await scene.storage.orders.events(order.order_id)
    assert [e.event_type for e in events] == ["posted", "relay_accepted", "new_head", "included"]
    assert all(e.evidence for e in events)
    assert block.hash in events[-1].evidence
