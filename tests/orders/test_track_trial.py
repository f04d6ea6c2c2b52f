"""Before a resend: what would fail now is not offered now, at a bounded cost, and said once."""

from typing import Any

import pytest

from quietswap.rules.chain.records import DryRun
from quietswap.rules.orders.order import Order, OrderKind, OrderStatus
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import decode
from quietswap.service.orders.tracking.resend import MOST_TRIED
from quietswap.service.relays.answers import RelayOutcome
from tests.orders.tracking import Scene, Tx, open_scene
from tests.signing import WALLET, sign

FAILS = DryRun(False, reason="UniswapV2: INSUFFICIENT_OUTPUT_AMOUNT")
WORKS = DryRun(True, 10**30)
UNKNOWN = DryRun(None, reason="node has no eth_simulateV1")


async def swap(scene: Scene, nonce: int = 0, **changes: Any) -> Order:
    """Store a live swap whose bytes can be run."""
    raw = bytes.fromhex(sign(nonce=nonce)[2:])
    known = {"raw": raw, "tx_hash": decode(sign(nonce=nonce)).hash}
    wallet = Address(WALLET.address)
    return await scene.order(wallet=wallet, nonce=nonce, **(known | changes))


async def test_a_swap_is_run_with_its_own_fields_before_it_is_sent_again() -> None:
    async with open_scene() as scene:
        order = await swap(scene)
        await scene.mine(blocks=6)
        assert scene.sends(order) == 1
        (tried,) = [swaps for swaps in scene.chain.tried if swaps]
        assert tried[0].params == decode(sign(nonce=0)).params
        assert (tried[0].wallet, tried[0].buy_token) == (order.wallet, order.buy_token)
        assert tried[0].min_buy_amount == order.min_buy_amount


async def test_what_would_fail_is_not_sent_and_said_once() -> None:
    async with open_scene() as scene:
        scene.relay.says = "it says the transaction failed"
        scene.chain.dry_run = FAILS
        order = await swap(scene)
        await scene.mine(blocks=26)
        assert scene.sends(order) == 0
        assert await scene.status(order) is OrderStatus.MINING
        assert (await scene.moves(order)).count("would_fail") == 1
        evidence = (await scene.storage.orders.events(order.order_id))[-1].evidence
        assert "INSUFFICIENT_OUTPUT_AMOUNT" in evidence
        assert "it says the transaction failed" in evidence
        assert len([swaps for swaps in scene.chain.tried if swaps]) == 5  # every five blocks
        scene.chain.dry_run = WORKS
        await scene.mine(blocks=6)
        assert scene.sends(order) == 1
        assert (await scene.moves(order))[-1] == "would_work"


async def test_delivering_less_than_the_minimum_is_failing_too() -> None:
    async with open_scene() as scene:
        scene.chain.dry_run = DryRun(True, 1)
        order = await swap(scene)
        await scene.mine(blocks=6)
        assert scene.sends(order) == 0
        assert (
            "less than its minimum"
            in (await scene.storage.orders.events(order.order_id))[-1].evidence
        )


@pytest.mark.parametrize("away", [True, False])
async def test_a_node_that_cannot_tell_holds_nothing_back(away: bool) -> None:
    async with open_scene() as scene:
        scene.chain.dry_run = UNKNOWN
        scene.chain.failing = {"dry_runs"} if away else set()
        order = await swap(scene)
        await scene.mine(blocks=6)
        assert scene.sends(order) == 1
        assert "would_fail" not in await scene.moves(order)


async def test_a_failing_swap_that_is_mined_all_the_same_is_confirmed() -> None:
    async with open_scene() as scene:
        scene.chain.dry_run = FAILS
        order = await swap(scene)
        await scene.mine(blocks=6)
        await scene.mine(Tx.of(order), blocks=2)
        assert await scene.status(order) is OrderStatus.CONFIRMED


async def test_a_block_costs_one_batch_of_bounded_size_however_many_fail() -> None:
    async with open_scene(started=False) as scene:
        scene.chain.dry_run = FAILS
        for nonce in range(3 * MOST_TRIED):
            await swap(scene, nonce)
        await scene.tracker.start()
        scene.chain.tried.clear()
        for _ in range(12):
            scene.chain.calls.clear()
            await scene.mine()
            assert scene.chain.calls["dry_runs"] <= 1
            assert scene.chain.calls.total() <= 5
        assert max(map(len, scene.chain.tried)) <= MOST_TRIED


async def test_others_are_sent_while_many_fail() -> None:
    async with open_scene() as scene:
        scene.chain.dry_run = FAILS
        for nonce in range(MOST_TRIED):
            await swap(scene, nonce)
        wrap = await scene.order(kind=OrderKind.WRAP)
        await scene.mine(blocks=7)
        assert scene.sends(wrap) >= 1


async def test_what_the_relay_says_is_in_the_diary_when_it_changes() -> None:
    async with open_scene() as scene:
        scene.relay.answers(RelayOutcome.ALREADY_KNOWN)
        order = await swap(scene)
        await scene.mine(blocks=11)
        assert "relay_said" not in await scene.moves(order)
        scene.relay.answers(RelayOutcome.WOULD_REVERT)
        await scene.mine(blocks=11)
        assert (await scene.moves(order)).count("relay_said") == 1
        last = (await scene.storage.orders.events(order.order_id))[-1]
        assert last.evidence == "the relay's simulation says it would revert"
        assert last.from_status == last.to_status == "mining"
        assert scene.sends(order) >= 3  # a verdict of the relay alone changes nothing
        assert await scene.status(order) is OrderStatus.MINING


async def cancelled_by(scene: Scene, order: Order, **changes: Any) -> Order:
    """Store the cancel of an order."""
    return await scene.order(
        kind=OrderKind.CANCEL, wallet=order.wallet, nonce=order.nonce, **changes
    )


async def test_a_swap_with_a_live_cancel_is_not_offered_again() -> None:
    async with open_scene() as scene:
        order = await swap(scene)
        cancel = await cancelled_by(scene, order)
        await scene.mine(blocks=12)
        assert scene.sends(order) == 0
        assert scene.sends(cancel) >= 1


async def test_an_order_is_not_offered_again_once_its_speed_up_is_accepted() -> None:
    async with open_scene() as scene:
        order = await swap(scene)
        later = {"created_at_ms": order.created_at_ms + 1, "wallet": order.wallet}
        faster = await scene.order(nonce=order.nonce, **later)
        await scene.mine(blocks=12)
        assert scene.sends(order) == 0
        assert scene.sends(faster) >= 1
        await scene.mine(Tx.of(order), blocks=3)  # either may be mined, and only one
        assert await scene.status(order) is OrderStatus.CONFIRMED
        assert await scene.status(faster) is OrderStatus.CANCELLED


async def test_an_order_is_offered_again_while_no_relay_has_its_speed_up() -> None:
    async with open_scene() as scene:
        scene.relay.answers(RelayOutcome.UNKNOWN)
        order = await swap(scene)
        later = {"created_at_ms": order.created_at_ms + 1, "wallet": order.wallet}
        await scene.order(OrderStatus.PENDING, nonce=order.nonce, **later)
        other = {**later, "client_id": "client-2"}
        await scene.order(nonce=order.nonce, **other)
        await scene.mine(blocks=12)
        assert scene.sends(order) >= 1


async def test_the_winner_of_the_race_ends_both() -> None:
    async with open_scene() as scene:
        first, second = await swap(scene), await swap(scene, 1)
        one, two = await cancelled_by(scene, first), await cancelled_by(scene, second)
        by_cancel = Tx.of(one, to=one.wallet, data_size=0)
        await scene.mine(by_cancel, Tx.of(second), blocks=3)
        assert await scene.verdict(first) == ("cancelled", "USER_CANCELLED")
        assert await scene.verdict(one) == ("confirmed", None)
        assert await scene.verdict(second) == ("confirmed", None)
        assert await scene.verdict(two) == ("cancelled", "REPLACED")


@pytest.mark.parametrize("winner", ["cancel", "swap"])
async def test_a_tracker_that_was_away_for_long_says_the_same(winner: str) -> None:
    async with open_scene() as scene:
        order = await swap(scene)
        cancel = await cancelled_by(scene, order)
        await scene.mine(blocks=2)
        mined = Tx.of(order) if winner == "swap" else Tx.of(cancel, to=cancel.wallet, data_size=0)
        scene.chain.mine(mined)
        scene.chain.mine(blocks=100)
        await scene.restart()
        await scene.mine(blocks=3)
        ends = [await scene.verdict(order), await scene.verdict(cancel)]
        if winner == "swap":
            assert ends == [("confirmed", None), ("cancelled", "REPLACED")]
        else:
            assert ends == [("cancelled", "USER_CANCELLED"), ("confirmed", None)]


async def test_a_reorganisation_takes_the_race_back_to_its_start() -> None:
    async with open_scene() as scene:
        order = await swap(scene)
        cancel = await cancelled_by(scene, order)
        await scene.mine(Tx.of(cancel, to=cancel.wallet, data_size=0), blocks=3)
        assert await scene.verdict(order) == ("cancelled", "USER_CANCELLED")
        scene.chain.reorg(4, Tx.of(order), length=6)
        await scene.look()
        await scene.mine(blocks=2)
        assert await scene.verdict(order) == ("confirmed", None)
        assert await scene.verdict(cancel) == ("cancelled", "REPLACED")


async def test_the_words_of_a_relay_go_when_it_takes_the_order() -> None:
    async with open_scene() as scene:
        order = await swap(scene)
        for outcome, words in (
            (RelayOutcome.WOULD_REVERT, "the relay's simulation says it would revert"),
            (RelayOutcome.BUSY, "the relay takes none of the wallet's at the moment"),
            (RelayOutcome.ALREADY_KNOWN, None),
        ):
            scene.relay.answers(outcome)
            await scene.mine(blocks=11)
            stored = await scene.storage.orders.find(order.order_id)
            assert stored is not None
            assert (stored.relay_answer, stored.status) == (words, OrderStatus.MINING)


@pytest.mark.parametrize("kind", [OrderKind.SWAP, OrderKind.WRAP])
async def test_a_base_fee_above_the_fee_cap_is_told_once(kind: OrderKind) -> None:
    async with open_scene() as scene:
        order = await swap(scene, kind=kind)
        cap = decode(sign(nonce=0)).params.max_fee_per_gas
        scene.chain.next_base_fee = cap + 1
        await scene.mine(blocks=16)
        assert (await scene.moves(order)).count("fee_too_low") == 1
        told = (await scene.storage.orders.events(order.order_id))[-1].evidence
        assert f"next base fee of {cap + 1} wei must fall" in told
        assert f"above its fee cap of {cap} wei" in told
        assert scene.sends(order) >= 2, "it may fall at any time"
        scene.chain.next_base_fee = cap
        await scene.mine(blocks=6)
        assert (await scene.moves(order))[-1] == "fee_suffices"
