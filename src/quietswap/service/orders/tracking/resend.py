"""Resend the same bytes, and ask relays to forget expired ones.

Swaps are simulated before: one that would fail now is not sent now.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from quietswap.rules.chain.records import (
    ChainReader,
    DryRun,
    NodeUnavailable,
    SignedSwap,
    signed_swap,
)
from quietswap.rules.orders.evidence import deadline_transition, expiry_transition
from quietswap.rules.orders.order import Order, OrderKind, OrderStatus
from quietswap.rules.orders.tracking import (
    BlockRef,
    TrackedOrder,
    backup_at,
    safe_chain_s,
    safe_now_ms,
    same_relays_at,
    with_resend_recorded,
)
from quietswap.rules.relays import BACKUP_TIER, FIRST_TIER
from quietswap.rules.tx.signed import decode
from quietswap.service import observe
from quietswap.service.base.concurrency import bounded_gather
from quietswap.service.orders.tracking.order_cache import OrderCache
from quietswap.service.orders.tracking.reconcile import Reconciler
from quietswap.service.orders.transition import RELAY_SAID, transition_for_response
from quietswap.service.relays.answers import (
    EarlierSend,
    RelayOutcome,
    RelayResponse,
    response_text,
    words_of,
)
from quietswap.service.relays.relay import Relay
from quietswap.service.relays.send import (
    ALSO_SENT,
    PASSED_ON,
    forget,
    other_relay,
    passed_on,
    send,
    with_reason_to_stay,
)

MOST_RESENT, MOST_EXPIRED = 64, 256
"""Orders resent and expired per block; the rest waits for the next block."""
PARALLEL = 16
MOST_TRIED = 32
"""Swaps simulated per block, in one batch; further ones are resent without a simulation."""
WOULD_FAIL, WOULD_WORK = "would_fail", "would_work"
FEE_TOO_LOW, FEE_SUFFICES = "fee_too_low", "fee_suffices"
"""Event types."""


class Resender:
    """`relays` by tier. Identical bytes cannot be mined twice, so a resend is harmless."""

    def __init__(
        self,
        cache: OrderCache,
        chain: ChainReader,
        relays: Mapping[int, Relay],
        reconciler: Reconciler,
    ) -> None:
        self._cache = cache
        self._chain = chain
        self._relays = relays
        self._reconciler = reconciler
        self.next_base_fee = 0
        """In wei, after the newest head."""

    async def resend(self, tip: BlockRef) -> None:
        """Resend what is due: first the orders that no relay is known to have."""
        if not any(relay.is_up for relay in self._relays.values()):
            return
        watches = self._cache.watches
        due = watches.resend_pending.take(tip.number, MOST_RESENT)
        due += watches.resend_held.take(tip.number, MOST_RESENT - len(due))
        failing: set[str] = set()
        try:
            failing = await self._failing(due, tip)
            rest = [order_id for order_id in due if order_id not in failing]
            for start in range(0, len(rest), PARALLEL):
                await self._send_again(rest[start : start + PARALLEL], tip)
        finally:
            for watch in filter(None, map(watches.get, due)):
                fails = watch.order.order_id in failing
                wait = self._cache.rules.resend_every if fails else 1
                next_at = tip.number + wait
                if (at := backup_at(watch.order, self._cache.rules)) and at <= tip.number:
                    next_at = max(next_at, same_relays_at(watch, self._cache.rules))
                watches.schedule_resend(watch, not_before=next_at)

    async def _failing(self, due: Sequence[str], tip: BlockRef) -> set[str]:
        """Return the orders that would fail now; they wait as long as after a resend."""
        watches = filter(None, map(self._cache.watches.get, due))
        past = self._past(tip)
        swaps = (
            w for w in watches if w.order.kind is OrderKind.SWAP and self._may_be_sent(w, tip, past)
        )
        return await self._dry_run(list(islice(swaps, MOST_TRIED)))

    async def _dry_run(self, swaps: Sequence[TrackedOrder]) -> set[str]:
        """Return the ids of swaps that would fail now, and store an event for each change.

        Without a result from the node no order is held back.
        """
        raws = await self._cache.orders.raws([watch.order.order_id for watch in swaps])
        decoded = [(w, stored_swap(w.order, raws.get(w.order.order_id, b""))) for w in swaps]
        signed = [(watch, swap) for watch, swap in decoded if swap is not None]
        try:
            runs = await self._chain.dry_runs([swap for _, swap in signed])
        except NodeUnavailable:
            return set()
        failing: set[str] = set()
        for (watch, swap), run in zip(signed, runs, strict=True):
            fault = run.fault(swap)
            if fault is not None:
                failing.add(watch.order.order_id)
            await self._note_run(watch, fault, run)
        return failing

    async def _note_run(self, watch: TrackedOrder, fault: str | None, run: DryRun) -> None:
        """Store an event if the result has changed; an unknown result changes nothing."""
        if run.succeeded is None or watch.would_fail == (fault is not None):
            return
        watch.would_fail = fault is not None
        if fault is None:
            await self._cache.remark(watch, WOULD_WORK, f"{run.words}; it is sent again")
            return
        relay = self._relays.get(watch.order.tier)
        hint = await relay.status_hint(watch.order.tx_hash) if relay is not None else None
        text = f"on the latest state it would fail: {fault}; it is not sent again for now"
        await self._cache.remark(watch, WOULD_FAIL, f"{text}; the relay: {hint or 'nothing'}")

    async def _send_again(self, due: Sequence[str], tip: BlockRef) -> None:
        """Store the resend of these orders, then send them.

        The write comes first: a delivery that would conclude "nothing was sent" finds the row
        changed. An order that another writer has changed is read again and waits for a block.
        """
        past = self._past(tip)
        due_watches = filter(None, map(self._cache.watches.get, due))
        resendable = [w for w in due_watches if self._may_be_sent(w, tip, past)]
        resendable = [w for w in resendable if await self._stored_for_all(w, tip)]
        raws = await self._cache.orders.claim([watch.order for watch in resendable], tip.number)
        claims = [(w, raws[w.order.order_id]) for w in resendable if w.order.order_id in raws]
        for watch, _ in claims:
            watch.must_go_out = False
            watch.order = with_resend_recorded(watch.order, tip.number)
        await self._note_fees(claims)
        await bounded_gather(claims, self._send, limit=PARALLEL)
        for watch in resendable:
            if watch.order.order_id not in raws:
                await self._cache.refresh(watch.order.order_id)

    async def _note_fees(self, claims: Sequence[tuple[TrackedOrder, bytes]]) -> None:
        """Store an event when the next base fee is above an order's fee cap, or no longer is.

        Relays take such a transaction without a word, and no block can have it.
        """
        base_fee = self.next_base_fee
        for watch, raw in claims:
            swap = stored_swap(watch.order, raw)
            if swap is None or (swap.params.max_fee_per_gas < base_fee) == watch.fee_is_low:
                continue
            watch.fee_is_low = not watch.fee_is_low
            kind, so = FEE_SUFFICES, "is within"
            if watch.fee_is_low:
                kind, so = FEE_TOO_LOW, "must fall before a block can have it: it is above"
            cap = swap.params.max_fee_per_gas
            text = f"the next base fee of {base_fee} wei {so} its fee cap of {cap} wei"
            await self._cache.remark(watch, kind, text)

    async def _send(self, claim: tuple[TrackedOrder, bytes]) -> None:
        watch, raw = claim
        order, rivals = watch.order, self._cache.watches.rivals(watch.order)
        if order.tiers != (FIRST_TIER,) and await self._is_overtaken(order):
            return
        is_cancel = order.kind is OrderKind.CANCEL
        if is_cancel and order.status is OrderStatus.PENDING:
            await forget(self._relays, order, rivals)
        replaces = is_cancel or any(order.is_newer(one) for one in rivals)
        answer = await send(self._relays, order, raw, replaces=replaces)
        observe.order_resent(order.order_id, order.attempts, answer.outcome.value)
        await self._conclude(watch, order, answer)

    async def _stored_for_all(self, watch: TrackedOrder, tip: BlockRef) -> bool:
        """Store, before they get it, to which further relay it goes; False if that failed.

        It goes to a relay that may have an earlier transaction with its nonce, and to the backup if
        no block has it in time.
        """
        order = watch.order
        earlier = [one for one in self._cache.watches.rivals(order) if order.is_newer(one)]
        other, text = other_relay(order, earlier), ALSO_SENT
        if other is None and self._goes_to_backup(watch, tip):
            blocks = self._cache.rules.backup_after
            other, text = BACKUP_TIER, f"no block has it after {blocks}: the backup gets it, too"
        if other is not None:
            await self._note(watch, replace(order, second_tier=other), text)
        return other is None or watch.order.second_tier == other

    def _goes_to_backup(self, watch: TrackedOrder, tip: BlockRef) -> bool:
        """Return whether no block has it in time, and the backup may get it.

        Only the newest transaction of a nonce is given to a further relay.
        """
        at, backup = backup_at(watch.order, self._cache.rules), self._relays.get(BACKUP_TIER)
        if at is None or tip.number < at or backup is None or not backup.is_up:
            return False
        return not any(one.is_newer(watch.order) for one in self._cache.watches.rivals(watch.order))

    async def _is_overtaken(self, order: Order) -> bool:
        """Return whether something newer with its nonce is open that the tracker has not read yet.

        Who accepted it has stored it before reading this order, so it goes wherever this one may
        be.
        """
        stored = await self._cache.orders.at_nonce(order.wallet, order.nonce)
        return any(one.is_newer(order) and not one.status.is_terminal for one in stored)

    def _may_be_sent(self, watch: TrackedOrder, tip: BlockRef, past: int) -> bool:
        """Return whether it may go out now; `past` is what `_past` returns for `tip`."""
        goes_on = self._goes_to_backup(watch, tip)
        tiers = (*watch.order.tiers, BACKUP_TIER) if goes_on else watch.order.tiers
        is_up = any(self._relays[tier].is_up for tier in tiers if tier in self._relays)
        if watch.order.status.is_terminal or not is_up:
            return False
        if not goes_on and tip.number < same_relays_at(watch, self._cache.rules):
            return False
        if self._cache.watches.live_replacement(watch.order) is not None:
            return False  # its wallet cancels it, or pays more for it
        return past < watch.order.expires_at_ms or tip.number < watch.spared_until

    def _past(self, tip: BlockRef) -> int:
        return safe_now_ms(self._cache.clock.now_ms(), tip.time)

    async def _conclude(self, watch: TrackedOrder, order: Order, answer: RelayResponse) -> None:
        """Apply the response to a pending order; an accepted order changes by the chain only."""
        if answer.outcome is RelayOutcome.NONCE_USED:
            self._cache.watches.doubted[order.order_id] = watch
        answer = with_reason_to_stay(order, answer, self._relays)
        moved = passed_on(order, answer, self._relays, stays=True)
        if moved is not None and order.status is OrderStatus.PENDING:
            await self._note(watch, moved, PASSED_ON)
            return
        step = None
        if order.status is OrderStatus.PENDING:
            step = await transition_for_response(
                answer, order, self._cache.orders, self._chain, EarlierSend.POSSIBLE
            )
        if step is not None:
            await self._cache.apply(watch, step)
        elif words_of(answer) != order.relay_answer:
            heard = replace(order, relay_answer=words_of(answer))
            await self._note(watch, heard, response_text(answer))

    async def _note(self, watch: TrackedOrder, changed: Order, text: str) -> None:
        """Store what the relay said, and the order as this changes it."""
        watch.order = changed
        await self._cache.remark(watch, RELAY_SAID, text)
        if watch.order is changed:  # another writer was first
            await self._cache.refresh(changed.order_id)

    async def expire(self, tip: BlockRef, settled: BlockRef | None) -> None:
        """Expire orders whose time is over, unless a last check finds them in a block.

        `settled` is the newest block with enough confirmations, if it is known: only its time ends
        an order whose router has a deadline.
        """
        watches, past = self._cache.watches, self._past(tip)
        chain_s = safe_chain_s(self._cache.clock.now_ms(), settled.time) if settled else 0
        due = watches.expiry.take(max(past, chain_s * 1000), MOST_EXPIRED)
        due_watches = [w for w in map(watches.get, due) if w is not None]

        def may_expire(watch: TrackedOrder) -> bool:
            return _is_over(watch.order, past, chain_s) and _may_expire(watch, tip.number)

        try:
            checked = await self._reconciler.reconcile([w for w in due_watches if may_expire(w)])
            ended = await self._unmined([w for w in checked if may_expire(w)], settled)
            over = [(w.order.order_id, settled) for w in ended]
            await bounded_gather(over, self._expire, limit=PARALLEL)
        finally:
            for watch in filter(None, map(watches.get, due)):
                watches.reindex(watch)

    async def _unmined(
        self, watches: Sequence[TrackedOrder], settled: BlockRef | None
    ) -> list[TrackedOrder]:
        """Return the orders that no block up to `settled` can hold: their nonce is free there.

        Only those with a router's deadline need it: the others may still be mined, and say so.
        """
        due = [w for w in watches if w.order.deadline_s is not None]
        if settled is None or not due:
            return list(watches)
        wallets = sorted({w.order.wallet for w in due})
        counts = await self._chain.nonces_at(settled.number, settled.hash, wallets)
        used = {w.order.order_id for w in due if counts[w.order.wallet] > w.order.nonce}
        for watch in due:
            if watch.order.order_id in used:
                self._cache.watches.doubted[watch.order.order_id] = watch
        return [w for w in watches if w.order.order_id not in used]

    async def _expire(self, over: tuple[str, BlockRef | None]) -> None:
        order_id, settled = over
        watch = self._cache.watches.get(order_id)
        assert watch is not None
        tx_hash, hint = watch.order.tx_hash, None
        for relay in filter(None, map(self._relays.get, reversed(watch.order.tiers))):
            await relay.cancel(tx_hash)
            hint = await relay.status_hint(tx_hash)
        step, deadline_s = expiry_transition(hint), watch.order.deadline_s
        if deadline_s is not None and settled is not None:
            step = deadline_transition(deadline_s, settled)
        await self._cache.apply(watch, step)


def _is_over(order: Order, past: int, chain_s: int) -> bool:
    """Return whether its time is over: by the router's deadline, if it has one, else by time."""
    if order.deadline_s is not None:
        return chain_s > order.deadline_s
    return past >= order.expires_at_ms


def _may_expire(watch: TrackedOrder, head: int) -> bool:
    is_searched = watch.is_open and not watch.is_placed
    return is_searched and watch.doubt is None and head >= watch.spared_until


def stored_swap(order: Order, raw: bytes) -> SignedSwap | None:
    """Return the dry run's input for a stored order; None for missing or damaged bytes."""
    try:
        signed = decode("0x" + raw.hex())
    except ValueError:
        return None
    return signed_swap(signed, order.buy_token, order.min_buy_amount)
