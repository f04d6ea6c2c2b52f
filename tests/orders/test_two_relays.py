"""A nonce that two relays have: each later transaction of it goes to both, or is not sent yet."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest

from quietswap.rules.orders.order import FailureCode, Order, OrderEvent, OrderStatus
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.rules.relays import EndpointType
from quietswap.service.orders.submit import OrderDelivery
from quietswap.service.orders.tracking.tracker import OrderTracker
from quietswap.service.relays.answers import RelayOutcome
from tests.orders.cancelling import ended, refused, submission, swapped
from tests.orders.submitting import KEY, Desk, open_desk, swap_submission
from tests.orders.tracking import ScriptedPrices
from tests.scripted_chain import Tx
from tests.scripted_relay import ScriptedRelay
from tests.signing import FIELDS, sign
from tests.stored_orders import MINUTE_MS, RULES, swap_quote
from tests.wallet_rpc.wallet_sends import token

TAKEN = (RelayOutcome.ACCEPTED, RelayOutcome.ALREADY_KNOWN)
NOT_TAKEN_BY_ONE = [outcome for outcome in RelayOutcome if outcome not in TAKEN]
AFTER = 1
"""Blocks until the backup gets an order that no block has."""


@dataclass
class Scene:
    """A desk and the tracker of its orders."""

    desk: Desk
    tracker: OrderTracker

    @property
    def relays(self) -> tuple[ScriptedRelay, ScriptedRelay]:
        return self.desk.relay, self.desk.backup

    async def mine(self, *txs: Tx, blocks: int = 1) -> None:
        """Mine blocks, the tracker looking at each; `txs` are in the first."""
        for _ in range(blocks):
            self.desk.chain.mine(*txs)
            await self.tracker.run_once()
            txs = ()

    async def restart(self) -> None:
        """Let another tracker take over."""
        self.tracker = a_tracker(self.desk)
        await self.tracker.start()

    async def now(self, order: Order) -> Order:
        found = await self.desk.storage.orders.find(order.order_id)
        assert found is not None
        return found

    async def at_both(self) -> Order:
        """Return a swap that both relays have; what they got until then is forgotten."""
        order = await swapped(self.desk)
        await self.mine()
        assert self.got(order) == (2, 1)
        for relay in self.relays:
            relay.sent.clear()
        return await self.now(order)

    async def cancel(self, order: Order) -> Order:
        """Cancel an order, and return the cancel as the API answers."""
        quote = await self.desk.cancel.issue(KEY, order.order_id)
        return (await self.desk.cancel.submit(KEY, submission(quote))).order

    def got(self, order: Order) -> tuple[int, int]:
        """Return how often each relay was sent the order's bytes."""
        first, backup = (relay.sent.count(order.raw or b"") for relay in self.relays)
        return first, backup


def a_tracker(desk: Desk, after: int = AFTER) -> OrderTracker:
    every = frozenset(kind.value for kind in EndpointType)
    rules = replace(RULES, backup_after=after, backup_endpoints=every)
    relays = {2: desk.relay, 4: desk.backup}
    prices = ScriptedPrices()
    return OrderTracker(desk.storage.orders, desk.chain, relays, desk.clock, rules, prices=prices)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with open_desk() as desk:
        desk.backup.name = "Backup"
        await desk.storage.quotes.save(swap_quote())
        opened = Scene(desk, a_tracker(desk))
        await opened.tracker.start()
        yield opened


# The backup gets what no block has.


async def test_the_backup_gets_what_no_block_has(scene: Scene) -> None:
    order = await scene.at_both()
    assert (order.tiers, order.status) == ((2, 4), OrderStatus.MINING)
    assert "the backup gets it, too" in [
        event.evidence.rpartition(": ")[2]
        for event in await scene.desk.storage.orders.events(order.order_id)
    ]
    await scene.mine(blocks=RULES.resend_every)
    assert scene.got(order) == (1, 1)


async def test_it_does_not_get_what_a_block_has(scene: Scene) -> None:
    order = await swapped(scene.desk)
    await scene.mine(Tx.of(order))
    await scene.mine(blocks=10)
    assert scene.got(order) == (1, 0)


async def test_without_the_setting_it_gets_nothing(scene: Scene) -> None:
    scene.tracker = a_tracker(scene.desk, after=0)
    await scene.tracker.start()
    order = await swapped(scene.desk)
    await scene.mine(blocks=12)
    assert scene.got(order)[1] == 0


@pytest.mark.parametrize("is_down", [True, False])
async def test_a_backup_that_may_not_have_it_makes_no_resend_sooner(
    scene: Scene, is_down: bool
) -> None:
    scene.desk.backup.is_up = not is_down
    if not is_down:
        rules = replace(RULES, backup_after=AFTER, backup_endpoints=frozenset({"fast"}))
        relays = {2: scene.desk.relay, 4: scene.desk.backup}
        scene.tracker = OrderTracker(
            scene.desk.storage.orders,
            scene.desk.chain,
            relays,
            scene.desk.clock,
            rules,
            prices=ScriptedPrices(),
        )
        await scene.tracker.start()
    order = await swapped(scene.desk)
    await scene.mine(blocks=RULES.resend_every - 1)
    assert scene.got(order) == (1, 0)
    await scene.mine()
    assert scene.got(order) == (2, 0)


async def test_a_backup_without_the_promise_gets_no_replacement_either(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The swap went out by a promise of less; what replaces it is dropped if it would revert."""
    order = await scene.at_both()
    monkeypatch.setattr(scene.desk.backup, "drops_reverts", lambda kind: False)
    sped = await scene.desk.send(token(), sign(maxFeePerGas=FIELDS["maxFeePerGas"] * 2))
    found = await scene.desk.storage.orders.by_hash(sped)
    assert found is not None
    assert (found.status, scene.got(found)) == (OrderStatus.PENDING, (1, 0))
    assert "does not drop what would revert" in (found.relay_answer or "")
    assert (await scene.cancel(order)).status is OrderStatus.SUBMITTED, "a cancel never reverts"


# A cancelled swap is not mined by the relay that did not get the cancel.


async def test_a_cancel_goes_to_both(scene: Scene) -> None:
    order = await scene.at_both()
    cancel = await scene.cancel(order)
    assert (cancel.status, cancel.tiers) == (OrderStatus.SUBMITTED, (2, 4))
    assert scene.got(cancel) == (1, 1)
    assert [relay.cancelled for relay in scene.relays] == [[order.tx_hash]] * 2
    await scene.mine(blocks=12)
    assert scene.got(order) == (0, 0), "what is cancelled is sent to nobody"


@pytest.mark.parametrize("missing", [0, 1])
@pytest.mark.parametrize("outcome", NOT_TAKEN_BY_ONE)
async def test_a_cancel_that_one_relay_did_not_take_is_open_and_sent_each_block(
    scene: Scene, outcome: RelayOutcome, missing: int
) -> None:
    order = await scene.at_both()
    scene.relays[missing].answers(outcome)
    cancel = await scene.cancel(order)
    assert cancel.status is OrderStatus.PENDING
    assert ("Test Relay", "Backup")[missing] in (cancel.relay_answer or "")
    assert (await scene.now(order)).status is OrderStatus.MINING, "it may still be mined"
    await scene.mine(blocks=3)
    assert scene.got(cancel) == (4, 4)
    assert scene.got(order) == (0, 0)
    assert scene.relays[missing].cancelled.count(order.tx_hash) == 4
    scene.relays[missing].answers(RelayOutcome.ACCEPTED)
    await scene.mine()
    assert (await scene.now(cancel)).status in {OrderStatus.SUBMITTED, OrderStatus.MINING}


async def test_a_cancel_that_both_refuse_is_no_cancel(scene: Scene) -> None:
    order = await scene.at_both()
    for relay in scene.relays:
        relay.answers(RelayOutcome.CONFLICT)
    quote = await scene.desk.cancel.issue(KEY, order.order_id)
    error = await refused(scene.desk, submission(quote))
    assert error.details["mayBeMined"] is True


async def test_a_cancel_that_reached_no_relay_says_so(scene: Scene) -> None:
    order = await scene.at_both()
    for relay in scene.relays:
        relay.answers(RelayOutcome.NOT_SENT)
    quote = await scene.desk.cancel.issue(KEY, order.order_id)
    error = await refused(scene.desk, submission(quote))
    assert error.details["reason"] == "NOT_SENT"
    scene.desk.relay.answers(RelayOutcome.ACCEPTED)
    again = await scene.desk.cancel.submit(KEY, submission(quote))
    assert again.order.status is OrderStatus.PENDING, "one of two has it"


async def test_a_cancel_of_what_only_the_first_has_goes_on_to_the_backup(scene: Scene) -> None:
    """The first relay keeps both: an empty transfer at the backup ends the swap."""
    order = await swapped(scene.desk)
    cancel = await scene.cancel(order)
    assert scene.got(cancel) == (1, 0)
    await scene.mine(blocks=2)
    assert (scene.got(cancel), scene.got(order)) == ((2, 1), (1, 0))


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_cancel_that_comes_while_the_backup_is_about_to_get_the_swap(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """Whoever stores first is seen by the other: the swap stays where the cancel goes."""
    order = await swapped(scene.desk)
    quote = await scene.desk.cancel.issue(KEY, order.order_id)
    orders = scene.desk.storage.orders
    update, cancels = orders.update, list[Order]()

    async def late(changed: Order, event: OrderEvent | None) -> bool:
        if changed.order_id != order.order_id or changed.second_tier is None:
            return await update(changed, event)
        monkeypatch.setattr(orders, "update", update)
        done = when == "after" and await update(changed, event)
        cancels.append((await scene.desk.cancel.submit(KEY, submission(quote))).order)
        return done or await update(changed, event)

    monkeypatch.setattr(orders, "update", late)
    await scene.mine()
    [cancel] = cancels
    assert scene.got(order) == (1, 0), "the backup did not get the swap"
    assert scene.got(cancel)[0] == 1
    assert (scene.got(cancel)[1] == 1) is (when == "after")
    await scene.mine(blocks=2)
    assert scene.got(cancel)[1] >= 1, "it may be there, so the cancel goes there"
    assert scene.got(order) == (1, 0)


async def test_a_cancel_stored_by_a_process_that_was_killed_goes_to_both(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = await scene.at_both()
    quote = await scene.desk.cancel.issue(KEY, order.order_id)
    orders = scene.desk.storage.orders

    async def killed(*_: object) -> None:
        raise StoreUnavailable("its process has ended")

    with monkeypatch.context() as patched:
        patched.setattr(orders, "at_nonce", killed)
        cancel = (await scene.desk.cancel.submit(KEY, submission(quote))).order
    assert (cancel.status, scene.got(cancel)) == (OrderStatus.PENDING, (0, 0))
    await scene.restart()
    await scene.mine()
    stored = await scene.now(cancel)
    assert (scene.got(cancel), stored.tiers) == ((1, 1), (2, 4))
    assert stored.status is OrderStatus.MINING


async def test_a_new_leader_knows_who_has_it(scene: Scene) -> None:
    order = await scene.at_both()
    await scene.restart()
    await scene.mine(blocks=RULES.resend_every)
    assert scene.got(order) == (1, 1)


async def test_only_the_newest_transaction_of_a_nonce_is_given_to_the_backup(scene: Scene) -> None:
    order = await swapped(scene.desk)
    scene.desk.relay.answers(RelayOutcome.INVALID)
    quote = await scene.desk.cancel.issue(KEY, order.order_id)
    await refused(scene.desk, submission(quote))
    scene.desk.relay.answers(RelayOutcome.ALREADY_KNOWN)
    await scene.mine(blocks=12)
    assert scene.got(order)[1] == 0, "its wallet wants it gone"
    assert scene.got(order)[0] > 1, "it is open, and the first relay has it anyway"


async def test_a_reorganisation_sends_both_to_both(scene: Scene) -> None:
    order = await scene.at_both()
    await scene.mine(Tx.of(order), blocks=RULES.confirmations)
    assert (await scene.now(order)).status is OrderStatus.CONFIRMED
    scene.desk.chain.reorg(RULES.confirmations, length=RULES.confirmations + 1)
    await scene.tracker.run_once()
    await scene.mine()
    assert (await scene.now(order)).status is OrderStatus.MINING
    assert scene.got(order) == (1, 1)
    assert scene.got(await scene.cancel(order)) == (1, 1)


# Speed-ups and other transactions with the nonce.


async def test_a_speed_up_goes_to_both(scene: Scene) -> None:
    order = await scene.at_both()
    sped = await scene.desk.send(token(), sign(maxFeePerGas=FIELDS["maxFeePerGas"] * 2))
    found = await scene.desk.storage.orders.by_hash(sped)
    assert found is not None
    assert (found.status, scene.got(found)) == (OrderStatus.SUBMITTED, (1, 1))
    await scene.mine(blocks=12)
    assert scene.got(order) == (0, 0), "it is replaced"


async def test_a_cancel_of_a_speed_up_also_ends_the_first_swap(scene: Scene) -> None:
    order = await scene.at_both()
    sped = await scene.desk.send(token(), sign(maxFeePerGas=FIELDS["maxFeePerGas"] * 2))
    found = await scene.desk.storage.orders.by_hash(sped)
    assert found is not None
    assert scene.got(await scene.cancel(found)) == (1, 1)
    assert [set(relay.cancelled) for relay in scene.relays] == [{order.tx_hash, sped}] * 2


async def test_a_fresh_quote_at_the_backup_replaces_what_the_first_has(scene: Scene) -> None:
    """The first relay went down after it took the swap: it may still have it mined."""
    order = await swapped(scene.desk)
    await ended(scene.desk, order, FailureCode.EXPIRED)
    fees = FIELDS["maxFeePerGas"] * 2
    quote = swap_quote(quote_id="quote-2", tier=4)
    quote = replace(quote, params=replace(quote.params, max_fee_per_gas=fees))
    await scene.desk.storage.quotes.save(quote)
    sent = swap_submission(sign(maxFeePerGas=fees), selectedTier=4)
    fresh = (await scene.desk.swap(KEY, sent)).order
    assert (scene.got(fresh), fresh.tiers) == ((1, 1), (4, 2))
    assert scene.got(await scene.cancel(fresh)) == (1, 1)


async def test_what_the_first_relay_may_have_is_still_its_own(scene: Scene) -> None:
    """It answered nothing certain, then that it takes nothing: it may have the bytes."""
    scene.desk.relay.answers(RelayOutcome.UNKNOWN, RelayOutcome.NOT_TAKEN)
    order = await swapped(scene.desk)
    await scene.mine(blocks=7)
    assert (await scene.now(order)).tiers == (4, 2)
    scene.desk.relay.answers(RelayOutcome.ACCEPTED)
    assert scene.got(await scene.cancel(order)) == (1, 1)


async def test_a_cancel_that_the_first_relay_does_not_take_now_waits_for_it(scene: Scene) -> None:
    order = await swapped(scene.desk)
    scene.desk.relay.answers(RelayOutcome.NOT_TAKEN)
    cancel = await scene.cancel(order)
    assert (cancel.status, cancel.tiers) == (OrderStatus.PENDING, (4, 2))
    scene.desk.relay.answers(RelayOutcome.ACCEPTED)
    await scene.mine()
    assert (await scene.now(cancel)).status is OrderStatus.SUBMITTED
    assert scene.got(cancel)[0] >= 2


async def test_what_a_block_has_is_not_told_as_refused(scene: Scene) -> None:
    order = await swapped(scene.desk)
    scene.desk.relay.answers(RelayOutcome.NOT_TAKEN)
    cancel = await scene.cancel(order)
    assert "not each relay took it" in ((await scene.now(cancel)).relay_answer or "")
    await scene.mine(Tx.of(cancel), blocks=RULES.confirmations)
    mined = await scene.now(cancel)
    assert (mined.status, mined.relay_answer) == (OrderStatus.CONFIRMED, None)


async def test_an_ended_order_posted_again_elsewhere_keeps_its_first_relay(scene: Scene) -> None:
    order = await swapped(scene.desk)
    await ended(scene.desk, order, FailureCode.EXPIRED)
    dead = await scene.now(order)
    relays = {2: scene.desk.relay, 4: scene.desk.backup}
    delivery = OrderDelivery(scene.desk.storage.orders, scene.desk.chain, relays, scene.desk.clock)
    later = scene.desk.clock.now_ms() + 30 * MINUTE_MS
    again = (await delivery.redeliver(dead, replace(dead, tier=4, expires_at_ms=later))).order
    assert (again.tiers, scene.got(again)) == ((4, 2), (2, 1))


# An expired order is asked back from both.


async def test_expiry_is_the_same_for_both(scene: Scene) -> None:
    order = await scene.at_both()
    scene.desk.clock.advance(31 * 60)
    await scene.mine(blocks=12)
    found = await scene.now(order)
    assert found.failure is not None
    assert found.failure.code is FailureCode.EXPIRED
    assert [relay.cancelled for relay in scene.relays] == [[order.tx_hash]] * 2
    assert scene.got(order) == (0, 0)
    assert scene.got(await scene.cancel(found)) == (1, 1), "it may still be mined by either"
