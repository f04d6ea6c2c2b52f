"""All orders under watch, indexed so that a block costs the same however many there are."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import replace

from quietswap.domain.address import Address
from quietswap.domain.canon import BlockRef
from quietswap.domain.order import Order, Status
from quietswap.domain.schedule import Schedule
from quietswap.domain.tracking import Rival, TrackingRules, Watch, resend_at


class Watchlist:
    """Watches by id, by transaction hash, by (wallet, nonce) and by the block that holds them."""

    def __init__(self, rules: TrackingRules) -> None:
        self._rules = rules
        self._by_id: dict[str, Watch] = {}
        self._by_hash: dict[str, Watch] = {}
        self._by_nonce: defaultdict[tuple[Address, int], dict[str, Watch]] = defaultdict(dict)
        self._by_block: defaultdict[str, dict[str, Watch]] = defaultdict(dict)
        self._round: deque[str] = deque()
        self.statuses: Counter[Status] = Counter()
        """How many orders of each status are watched."""
        self.accepted: dict[str, Watch] = {}
        """Orders the relay has and no block has come since."""
        self.unsettled: dict[str, Watch] = {}
        """Orders placed in a block, whose status does not say so yet."""
        self.undone: dict[str, Watch] = {}
        """Orders whose status says what the chain does not say any more."""
        self.doubted: dict[str, Watch] = {}
        """Orders to look at again at the next block."""
        self.resend_pending, self.resend_held = Schedule(), Schedule()
        """Block numbers at which the bytes are to be sent again."""
        self.expiry, self.end = Schedule(), Schedule()
        """Unix ms of the order's end, and of the end of the watch."""
        self.closing = Schedule()
        """Block numbers that decide: once they are final the watch is over."""

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Watch]:
        return iter(list(self._by_id.values()))

    def get(self, order_id: str) -> Watch | None:
        """Return the watch over an order."""
        return self._by_id.get(order_id)

    def version(self, order_id: str) -> int | None:
        """Return the version of the order that is known; None when it is not watched."""
        watch = self._by_id.get(order_id)
        return watch.order.version if watch else None

    def put(self, order: Order) -> Watch:
        """Watch an order, or take note of what it has become."""
        order = replace(order, raw=None)
        watch = self._by_id.get(order.order_id)
        if watch is None:
            watch = Watch(order)
            self._by_id[order.order_id] = watch
            self.statuses[order.status] += 1
            self._by_hash[order.tx_hash] = watch
            self._by_nonce[order.wallet, order.nonce][order.order_id] = watch
            self._round.append(order.order_id)
            if order.inclusion is not None:
                was = order.inclusion
                ref = BlockRef(was.block_number, was.block_hash, was.block_time_ms // 1000)
                self._move(watch, ref, None)
        self.statuses[watch.order.status] -= 1
        self.statuses[order.status] += 1
        watch.order = order
        if watch.is_open:
            watch.is_undone, watch.gone_since = False, None
        self.file(watch)
        return watch

    def drop(self, watch: Watch) -> None:
        """Stop watching."""
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
            schedule.drop(order_id)
        self._unschedule(order_id)

    def concerned(self, tx_hash: str, sender: Address, nonce: int) -> Iterator[Watch]:
        """Yield the orders a transaction decides about: its own, and those whose nonce it takes."""
        watch = self._by_hash.get(tx_hash)
        if watch is not None:
            yield watch
        rivals = self._by_nonce.get((sender, nonce))
        if rivals is not None:
            yield from (w for w in rivals.values() if w is not watch)

    def place(self, watch: Watch, seen: BlockRef | None, rival: Rival | None = None) -> None:
        """Note the canonical block that decides about an order; None takes the place away.

        A place elsewhere proves that the block an earlier verdict named is not canonical any more.
        """
        self._move(watch, seen, rival)
        if watch.is_placed and watch.order.inclusion is not None:
            watch.is_undone = watch.is_undone or not watch.is_settled
        self.file(watch)

    def leave_block(self, block_hash: str) -> None:
        """Take the place of every order away that is placed in this block."""
        for watch in list(self._by_block.get(block_hash, {}).values()):
            watch.is_undone = watch.is_undone or watch.rests_on(block_hash)
            self.place(watch, None)

    def undo(self, watch: Watch) -> None:
        """Note that the chain has taken the order's verdict back."""
        watch.is_undone = True
        self.place(watch, None)

    def file(self, watch: Watch, not_before: int = 0) -> None:
        """Put the watch where its state belongs; it is not sent again before block `not_before`."""
        order, order_id = watch.order, watch.order.order_id
        _sort(self.accepted, watch, order.status is Status.SUBMITTED)
        _sort(self.unsettled, watch, watch.is_placed and not watch.is_settled)
        _sort(self.undone, watch, watch.is_undone)
        self.end.set(order_id, order.watch_until_ms)
        self._unschedule(order_id)
        if watch.is_open:
            self.expiry.set(order_id, order.expires_at_ms)
            self.closing.drop(order_id)
        else:
            self.expiry.drop(order_id)
            self._file_closing(watch)
        if watch.is_open and not watch.is_placed:
            pending = order.status is Status.PENDING
            schedule = self.resend_pending if pending else self.resend_held
            schedule.set(order_id, max(resend_at(watch, self._rules), not_before))

    def next_round(self, limit: int) -> list[Watch]:
        """Return the next watches of an endless round over all of them."""
        chosen: list[Watch] = []
        for _ in range(min(len(self._round), limit)):
            order_id = self._round.popleft()
            watch = self._by_id.get(order_id)
            if watch is not None:
                self._round.append(order_id)
                chosen.append(watch)
        return chosen

    def _move(self, watch: Watch, seen: BlockRef | None, rival: Rival | None) -> None:
        """Change the place, with the index by block."""
        for ref in watch.blocks:
            self._by_block[ref.hash].pop(watch.order.order_id, None)
            if not self._by_block[ref.hash]:
                del self._by_block[ref.hash]
        watch.seen, watch.rival = seen, rival
        for ref in watch.blocks:
            self._by_block[ref.hash][watch.order.order_id] = watch

    def _file_closing(self, watch: Watch) -> None:
        number = watch.gone_since
        if watch.rival is not None:
            number = watch.rival.block.number
        if watch.seen is not None:
            number = watch.seen.number
        if number is not None:
            self.closing.set(watch.order.order_id, number)

    def _unschedule(self, order_id: str) -> None:
        self.resend_pending.drop(order_id)
        self.resend_held.drop(order_id)


def _sort(group: dict[str, Watch], watch: Watch, belongs: bool) -> None:
    if belongs:
        group[watch.order.order_id] = watch
    else:
        group.pop(watch.order.order_id, None)
