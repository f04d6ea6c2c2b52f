"""The tracked orders, indexed so that the cost of a block does not depend on their number."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import replace

from quietswap.rules.chain.records import Block
from quietswap.rules.orders.evidence import replacement_failure
from quietswap.rules.orders.order import FailureCode, Order, OrderKind, OrderStatus
from quietswap.rules.orders.tracking import (
    BlockRef,
    Replacement,
    TrackedOrder,
    TrackingRules,
    resend_at,
)
from quietswap.rules.orders.watch_states import QUEUES, Queue
from quietswap.rules.tx.address import Address
from quietswap.service.orders.tracking.due_queue import DueQueue


class OrderIndex:
    """Watches by id, by transaction hash, by (wallet, nonce) and by the block that holds them."""

    def __init__(self, rules: TrackingRules) -> None:
        self._rules = rules
        self._by_id: dict[str, TrackedOrder] = {}
        self._by_hash: dict[str, TrackedOrder] = {}
        self._by_nonce: defaultdict[tuple[Address, int], dict[str, TrackedOrder]]
        self._by_nonce = defaultdict(dict)
        self._by_block: defaultdict[str, dict[str, TrackedOrder]] = defaultdict(dict)
        self._open_round: deque[str] = deque()
        self._over_round: deque[str] = deque()
        self.statuses: Counter[OrderStatus] = Counter()
        """The number of tracked orders by status."""
        self.accepted: dict[str, TrackedOrder] = {}
        """Orders that the relay accepted, with no new block since."""
        self.unsettled: dict[str, TrackedOrder] = {}
        """Orders in a block, whose status does not say so yet."""
        self.undone: dict[str, TrackedOrder] = {}
        """Orders whose verdict is no longer on the chain."""
        self.doubted: dict[str, TrackedOrder] = {}
        """Orders to check again at the next block."""
        self.resend_pending, self.resend_held = DueQueue(), DueQueue()
        """Block numbers at which the bytes are sent again."""
        self.expiry, self.end = DueQueue(), DueQueue()
        """Unix ms at which the order expires, and at which tracking ends."""
        self.closing = DueQueue()
        """Numbers of deciding blocks: once one is final, tracking ends."""

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[TrackedOrder]:
        return iter(list(self._by_id.values()))

    def get(self, order_id: str) -> TrackedOrder | None:
        return self._by_id.get(order_id)

    def put(self, order: Order) -> TrackedOrder:
        order = replace(order, raw=None)
        watch = self._by_id.get(order.order_id)
        if watch is None:
            watch = TrackedOrder(order)
            self._by_id[order.order_id] = watch
            self.statuses[order.status] += 1
            self._by_hash[order.tx_hash] = watch
            self._by_nonce[order.wallet, order.nonce][order.order_id] = watch
            self._queue(watch)
            if order.inclusion is not None:
                was = order.inclusion
                time = was.block_time_ms // 1000
                ref = BlockRef(was.block_number, was.block_hash, time, was.facts)
                self._move(watch, ref, None)
        self.statuses[watch.order.status] -= 1
        self.statuses[order.status] += 1
        watch.order = order
        if watch.is_open:
            watch.is_undone, watch.gone_since = False, None
        self.reindex(watch)
        return watch

    def drop(self, watch: TrackedOrder) -> None:
        order_id, key = watch.order.order_id, (watch.order.wallet, watch.order.nonce)
        self._move(watch, None, None)
        self.statuses[watch.order.status] -= 1
        del self._by_id[order_id], self._by_hash[watch.order.tx_hash]
        del self._by_nonce[key][order_id]
        if not self._by_nonce[key]:
            del self._by_nonce[key]
        for group in (self.accepted, self.unsettled, self.undone, self.doubted):
            group.pop(order_id, None)
        for schedule in (self.expiry, self.end, self.closing):
            schedule.set(order_id, None)
        self.resend_pending.set(order_id, None)
        self.resend_held.set(order_id, None)

    def affected_by(self, tx_hash: str, sender: Address, nonce: int) -> Iterator[TrackedOrder]:
        """Yield the orders that a transaction decides: its own, and those with its nonce."""
        watch = self._by_hash.get(tx_hash)
        if watch is not None:
            yield watch
        rivals = self._by_nonce.get((sender, nonce))
        if rivals is not None:
            yield from (w for w in rivals.values() if w is not watch)

    def live_replacement(self, order: Order) -> TrackedOrder | None:
        """Return what replaces an order: a live cancel, or a later order that a relay accepted.

        Both are of the same wallet, with the same nonce.
        """
        rivals = self._by_nonce.get((order.wallet, order.nonce), {}).values()
        if len(rivals) < 2 or order.kind is OrderKind.CANCEL:
            return None
        return next((w for w in rivals if w.is_open and _replaces(w.order, order)), None)

    def rivals(self, order: Order) -> list[Order]:
        """Return the other orders at its nonce whose bytes a relay may have."""
        same_nonce = self._by_nonce.get((order.wallet, order.nonce), {}).values()
        others = [watch.order for watch in same_nonce if watch.order.order_id != order.order_id]
        unsent = FailureCode.NOT_SENT
        return [one for one in others if one.failure is None or one.failure.code is not unsent]

    def match(self, block: Block) -> None:
        """Record which orders a canonical block decides."""
        ref = BlockRef.of(block)
        for tx in block.transactions:
            for watch in list(self.affected_by(tx.hash, tx.sender, tx.nonce)):
                if watch.order.tx_hash == tx.hash:
                    self.set_block(watch, ref)
                else:
                    failure = replacement_failure(watch.order, tx.hash, tx.to, tx.data_size)
                    self.set_block(watch, None, Replacement(ref, failure))

    def set_block(
        self, watch: TrackedOrder, seen: BlockRef | None, rival: Replacement | None = None
    ) -> None:
        """Record the canonical block that decides about an order; None removes it.

        Another block proves that the block of an earlier verdict is no longer canonical.
        """
        self._move(watch, seen, rival)
        if watch.is_placed and watch.order.inclusion is not None:
            watch.is_undone = watch.is_undone or not watch.is_settled
        self.reindex(watch)

    def remove_block(self, block_hash: str) -> None:
        for watch in list(self._by_block.get(block_hash, {}).values()):
            watch.is_undone = watch.is_undone or watch.rests_on(block_hash)
            self.set_block(watch, None)

    def mark_reorged(self, watch: TrackedOrder) -> None:
        """Record that the chain has taken the order's verdict back."""
        watch.is_undone = True
        self.set_block(watch, None)

    def reindex(self, watch: TrackedOrder) -> None:
        """Put the watch into the queues of its state."""
        order, order_id, queues = watch.order, watch.order.order_id, QUEUES[watch.state]
        _sort(self.accepted, watch, order.status is OrderStatus.SUBMITTED)
        _sort(self.unsettled, watch, Queue.UNSETTLED in queues)
        _sort(self.undone, watch, Queue.UNDONE in queues)
        self.end.set(order_id, order.watch_until_ms)
        ends_at_ms = order.expires_at_ms if order.deadline_s is None else order.deadline_s * 1000
        self.expiry.set(order_id, ends_at_ms if Queue.EXPIRY in queues else None)
        self.closing.set(order_id, _deciding_block(watch) if Queue.CLOSING in queues else None)
        self.schedule_resend(watch)

    def schedule_resend(self, watch: TrackedOrder, not_before: int = 0) -> None:
        """Put the watch into the queue of its next resend, at block `not_before` at the earliest.

        A resend changes no other queue.
        """
        order, order_id = watch.order, watch.order.order_id
        self.resend_pending.set(order_id, None)
        self.resend_held.set(order_id, None)
        if Queue.RESEND in QUEUES[watch.state]:
            pending = order.status is OrderStatus.PENDING
            schedule = self.resend_pending if pending else self.resend_held
            schedule.set(order_id, max(resend_at(watch, self._rules), not_before))

    def next_batch(self, every: int, most: int) -> list[TrackedOrder]:
        """Return the next watches of two endless rounds: of open orders, and of ended ones.

        A round takes `every` calls, but a call returns at most `most` watches. Ended orders get a
        quarter of that, so that open orders do not wait for them.
        """
        chosen = self._take(self._open_round, every, most - most // 4)
        return chosen + self._take(self._over_round, every, most // 4)

    def _take(self, queue: deque[str], every: int, most: int) -> list[TrackedOrder]:
        share = min(-(-len(queue) // every), most)
        watches = [self._by_id.get(queue.popleft()) for _ in range(share)]
        chosen = [watch for watch in watches if watch is not None]
        for watch in chosen:
            self._queue(watch)
        return chosen

    def _queue(self, watch: TrackedOrder) -> None:
        queue = self._open_round if watch.is_open else self._over_round
        queue.append(watch.order.order_id)

    def _move(self, watch: TrackedOrder, seen: BlockRef | None, rival: Replacement | None) -> None:
        """Change the known block, and the index by block."""
        for ref in watch.blocks:
            self._by_block[ref.hash].pop(watch.order.order_id, None)
            if not self._by_block[ref.hash]:
                del self._by_block[ref.hash]
        watch.seen, watch.rival = seen, rival
        for ref in watch.blocks:
            self._by_block[ref.hash][watch.order.order_id] = watch


def _replaces(later: Order, order: Order) -> bool:
    if later.kind is OrderKind.CANCEL:
        return True
    is_accepted = later.status in (OrderStatus.SUBMITTED, OrderStatus.MINING)
    return is_accepted and later.client_id == order.client_id and later.is_newer(order)


def _deciding_block(watch: TrackedOrder) -> int:
    """Return the number of the block that used the nonce: once it is final, tracking ends."""
    if watch.seen is not None:
        return watch.seen.number
    if watch.rival is not None:
        return watch.rival.block.number
    assert watch.gone_since is not None
    return watch.gone_since


def _sort(group: dict[str, TrackedOrder], watch: TrackedOrder, belongs: bool) -> None:
    if belongs:
        group[watch.order.order_id] = watch
    else:
        group.pop(watch.order.order_id, None)
