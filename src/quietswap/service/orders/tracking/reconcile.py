"""Compare orders with receipts and nonces: the check for what reading the blocks did not show.

Receipts and nonces are read in one batch each. A receipt counts only in a canonical block. A
missing receipt counts only together with the nonce, only at two blocks in a row, and only with the
transaction that used the nonce.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from quietswap.rules.chain.records import Block, ChainReader, Head, NodeUnavailable, Receipt
from quietswap.rules.orders.order import Order, OrderEvent, OrderEventType, Transition
from quietswap.rules.orders.order_changes import FINALIZED
from quietswap.rules.orders.tracking import (
    BlockRef,
    CanonicalChain,
    Discrepancy,
    Replacement,
    TrackedOrder,
    TrackingRules,
    failure_by,
    is_by_nonce,
    nonce_consumed_transition,
)
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.orders.tracking.index import OrderIndex
from quietswap.service.orders.tracking.nonce_search import NonceSearch
from quietswap.service.orders.transition import apply_transition, remark
from quietswap.service.storage.orders import OrderStore

# The tracked orders in memory, written through to the database.

_LATEST_ANSWER_MS = 600_000
"""The longest time from an order's post to its stored refusal: a relay has five minutes at most.

An order expires after it was posted. So an order that failed since the last read expires no earlier
than this time before that read."""
_ONLY_IF_UNCHANGED = OrderEventType.REORGANISED, OrderEventType.EXPIRED
"""Dropped if the order has changed since it was read: another process may have decided anew, or its
client may have posted it again."""
_PUT_AT_ONCE = 500
"""Orders loaded before the event loop may serve requests of the same process."""


class OrderCache:
    """All writes are compare-and-set: a change by another writer is read, never overwritten."""

    def __init__(self, orders: OrderStore, clock: Clock, rules: TrackingRules) -> None:
        self.orders = orders
        self.rules = rules
        self.clock = clock
        self.watches = OrderIndex(rules)
        self._adopted_at_ms = 0

    async def load(self) -> None:
        """Load every tracked order from the database. Raises StoreUnavailable."""
        watches = OrderIndex(self.rules)
        for place, order in enumerate(await self.orders.watched()):
            watches.put(order)
            if place % _PUT_AT_ONCE == 0:
                await asyncio.sleep(0)
        self.watches = watches

    async def load_changes(self) -> None:
        """Load the orders that the API has written since the last call, and only these."""
        now_ms = self.clock.now_ms()
        since_ms = min(self._adopted_at_ms, now_ms) - _LATEST_ANSWER_MS
        for order_id, version in await self.orders.arrivals(since_ms):
            known = self.watches.get(order_id)
            if known is None or known.order.version != version:
                await self.refresh(order_id)
                watch = self.watches.get(order_id)
                if watch is not None and watch.order.attempts == 0:  # a block has it already
                    self.watches.doubted[order_id] = watch
        self._adopted_at_ms = now_ms

    async def refresh(self, order_id: str) -> Order | None:
        """Return the order as stored, with its bytes, and record it."""
        order = await self.orders.find(order_id)
        if order is not None:
            self.record(order)
        return order

    def record(self, order: Order) -> None:
        watch = self.watches.get(order.order_id)
        if order.watched:
            self.watches.put(order)
        elif watch is not None:
            self.watches.drop(watch)

    async def apply(self, watch: TrackedOrder, step: Transition) -> None:
        """Apply a transition if the table still allows it.

        One that rests on what the order was, not on the chain, is dropped if the order has changed.
        """
        now, untouched = self.clock.now_ms(), step.event_type in _ONLY_IF_UNCHANGED
        moved = await apply_transition(self.orders, watch.order, step, now, untouched=untouched)
        if not moved.applied:
            watch.is_undone = False
        self.record(moved.order)

    async def remark(self, watch: TrackedOrder, event_type: str, evidence: str) -> None:
        now = self.clock.now_ms()
        watch.order = await remark(self.orders, watch.order, event_type, evidence, now)

    async def close(self, watch: TrackedOrder, final_depth: int | None = None) -> None:
        """Stop tracking: its time is over, so that the bytes may be deleted, or the block that
        decided is final, with `final_depth` confirmations.
        """
        order, line = replace(watch.order, watched=False), None
        if final_depth is not None:
            line = OrderEvent(
                order_id=order.order_id,
                at_ms=self.clock.now_ms(),
                event_type=FINALIZED,
                from_status=order.status,
                to_status=order.status,
                evidence=f"its block is final, {final_depth} deep",
                depth=final_depth,
            )
        if await self.orders.update(order, line):
            self.watches.drop(watch)
        else:
            await self.refresh(order.order_id)


# Follow the chain head by head, without missing a block or a reorganisation.

LONGEST_WALK = 64
"""Blocks read one by one after a gap; after a longer gap all orders are checked instead."""
PATIENCE = 8
"""This many different unknown heads below our own mean another chain, not a lagging node."""


@dataclass(frozen=True, slots=True)
class ChainUpdate:
    """The change of the chain: blocks `removed` (newest first), then blocks `added`.

    `restarted`: the blocks between are unknown, so earlier observations no longer count.
    """

    removed: tuple[BlockRef, ...]
    added: tuple[Block, ...]
    restarted: bool = False


class ChainFollower:
    """Walk parent hashes back to the last known block, so that a gap hides nothing."""

    def __init__(self, chain: ChainReader) -> None:
        self._chain = chain
        self.canonical = CanonicalChain()
        self._off_chain_heads: set[str] = set()

    @property
    def tip(self) -> BlockRef:
        """Return the newest block read; there is one after the first `advance`."""
        assert self.canonical.tip is not None
        return self.canonical.tip

    def is_news(self, head: Head) -> bool:
        """Return whether a head is new.

        A known head comes from a node that lags. An unknown head below our own is on another fork:
        it is ignored until `PATIENCE` different ones have been seen.
        """
        tip = self.canonical.tip
        if tip is None or self._is_given_up():
            return True
        if self.canonical.holds(head.number, head.hash):
            return False
        if head.number >= tip.number:
            return True
        self._off_chain_heads.add(head.hash)
        return self._is_given_up()

    def _is_given_up(self) -> bool:
        return len(self._off_chain_heads) >= PATIENCE

    async def advance(self, head: Head) -> ChainUpdate:
        """Read up to `head`. On NodeUnavailable nothing has changed."""
        tip = self.canonical.tip
        newest = await self._chain.block_by_hash(head.hash)
        if newest is None or newest.number != head.number:
            raise NodeUnavailable("the head changed while it was read")
        if tip is not None:
            observe.tracker_lag(max(head.number - tip.number, 0))
        blocks = await self._walk(newest)
        self._off_chain_heads.clear()
        if blocks is None:
            self.canonical.restart(_ref(newest))
            return ChainUpdate((), (newest,), restarted=True)
        return self._attach(blocks)

    async def _walk(self, newest: Block) -> list[Block] | None:
        """Return the blocks after the last known one, newest first; None if none is reached."""
        tip = self.canonical.tip
        if tip is None or newest.number - tip.number > LONGEST_WALK:
            return None
        blocks = [newest]
        while len(blocks) <= 2 * LONGEST_WALK:
            oldest = blocks[-1]
            if self.canonical.holds(oldest.number - 1, oldest.parent_hash):
                return blocks
            if oldest.number <= tip.number and self.canonical.at(oldest.number - 1) is None:
                return None
            parent = await self._chain.block_by_hash(oldest.parent_hash)
            if parent is None or parent.number != oldest.number - 1:
                raise NodeUnavailable("the node does not know the parent of its own block")
            blocks.append(parent)
        return None

    def _attach(self, blocks: list[Block]) -> ChainUpdate:
        removed = self.canonical.rewind(blocks[-1].number - 1)
        if removed:
            observe.reorg_seen(len(removed), removed[-1].number)
        blocks.reverse()
        for block in blocks:
            self.canonical.extend(_ref(block))
        return ChainUpdate(tuple(removed), tuple(blocks))


def _ref(block: Block) -> BlockRef:
    return BlockRef(block.number, block.hash, block.time)


BATCH = 100
"""Orders per batch: hosted nodes accept 100 calls in a batch, go-ethereum 1000."""


class Reconciler:
    """Every method raises NodeUnavailable if the node is away: no change then.

    A receipt that cannot be read concerns its order alone, which is checked at the next block.
    """

    def __init__(self, cache: OrderCache, chain: ChainReader, follower: ChainFollower) -> None:
        self._cache = cache
        self._chain = chain
        self._follower = follower
        self._nonces = NonceSearch(chain, follower.canonical)
        self._others: dict[int, BlockRef | None] = {}

    async def reconcile(self, watches: Sequence[TrackedOrder]) -> list[TrackedOrder]:
        """Check orders, in batches. Return those that were checked."""
        self._others.clear()
        checked: list[TrackedOrder] = []
        for start in range(0, len(watches), BATCH):
            checked += await self._batch(watches[start : start + BATCH])
        return checked

    async def _batch(self, watches: Sequence[TrackedOrder]) -> list[TrackedOrder]:
        receipts = await self._chain.receipts([w.order.tx_hash for w in watches])
        nonces = await self._chain.nonces(sorted({w.order.wallet for w in watches}))
        checked = [watch for watch in watches if watch.order.tx_hash in receipts]
        for watch in watches:
            order = watch.order
            if order.tx_hash not in receipts:
                self._cache.watches.doubted[order.order_id] = watch
                continue
            receipt = receipts[order.tx_hash]
            if receipt is not None:
                await self._found(watch, receipt)
            elif (was := order.inclusion) is not None:
                await self._without_receipt(watch, was.block_number, was.block_hash)
            elif not watch.is_placed:
                await self._absent(watch, is_used=nonces[order.wallet] > order.nonce)
        return checked

    async def _found(self, watch: TrackedOrder, receipt: Receipt) -> None:
        """Handle a receipt: it counts if its block is canonical."""
        place = await self._canonical(receipt.block_number)
        if place is None or place.hash != receipt.block_hash:
            return
        self._trust(watch)
        watches, order = self._cache.watches, watch.order
        if watch.seen != place:
            watches.set_block(watch, place)
        for other in list(watches.affected_by(order.tx_hash, order.wallet, order.nonce)):
            if other is not watch and not other.is_placed:
                self._trust(other)
                watches.set_block(other, None, Replacement(place, failure_by(order, other.order)))

    async def _without_receipt(self, watch: TrackedOrder, number: int, block_hash: str) -> None:
        """Handle an included order without a receipt: check that its block is canonical."""
        place = await self._canonical(number)
        if place is None:
            return
        if place.hash == block_hash:
            self._trust(watch)
            self._cache.watches.set_block(watch, place)
        elif self._doubt(watch, Discrepancy.UNDONE):
            self._cache.watches.mark_reorged(watch)

    async def _absent(self, watch: TrackedOrder, *, is_used: bool) -> None:
        """Handle an order without a known block: its nonce decides."""
        by_nonce = is_by_nonce(watch.order)
        if not is_used and not by_nonce:
            watch.unread = None
            if watch.gone_since is not None:
                watch.gone_since = None
                self._cache.watches.reindex(watch)
            self._trust(watch)
        elif by_nonce and not is_used:
            if self._doubt(watch, Discrepancy.UNDONE):
                self._cache.watches.mark_reorged(watch)
        elif by_nonce or watch.gone_since is not None:
            self._gone(watch)
        elif watch.unread is not None or self._doubt(watch, Discrepancy.NONCE_GONE):
            await self._search(watch)

    async def _search(self, watch: TrackedOrder) -> None:
        """Search for what used the nonce. Without any transaction a deep count decides."""
        self._cache.watches.doubted[watch.order.order_id] = watch
        if not await self._nonces.read_on(watch, self._cache.watches):
            return
        if watch.is_placed:
            self._trust(watch)
            return
        block = await self._nonces.used_at(watch)
        if block is not None:
            if watch.is_open:
                step = nonce_consumed_transition(f"{block.number} {block.hash}")
                await self._cache.apply(watch, step)
            watch.gone_since = block.number
            self._gone(watch)

    def _gone(self, watch: TrackedOrder) -> None:
        if watch.gone_since is None:
            watch.gone_since = self._follower.tip.number
        self._trust(watch)
        self._cache.watches.set_block(watch, None)

    def _trust(self, watch: TrackedOrder) -> None:
        watch.trusts()
        self._cache.watches.doubted.pop(watch.order.order_id, None)

    def _doubt(self, watch: TrackedOrder, doubt: Discrepancy) -> bool:
        """Record a doubt, to be checked at the next block; return whether it stood before."""
        if watch.doubts(doubt, self._follower.tip.number):
            self._trust(watch)
            return True
        self._cache.watches.doubted[watch.order.order_id] = watch
        return False

    async def _canonical(self, number: int) -> BlockRef | None:
        """Return the canonical block of a number: from memory, or read once per check."""
        known = self._follower.canonical.at(number)
        if known is not None or number > self._follower.tip.number:
            return known
        if number not in self._others:
            block = await self._chain.block(number)
            ref = BlockRef(block.number, block.hash, block.time) if block else None
            self._others[number] = ref
        return self._others[number]
