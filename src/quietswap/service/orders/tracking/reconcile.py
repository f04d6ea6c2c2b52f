"""Compare orders with receipts and nonces: the check for what reading the blocks did not show.

Receipts and nonces are read in one batch each. A receipt counts only in a canonical block. A
missing receipt counts only together with the nonce, only at two blocks in a row, and only with the
transaction that used the nonce.
"""

from collections.abc import Sequence

from quietswap.rules.chain.records import ChainReader, Receipt
from quietswap.rules.orders.evidence import failure_by, nonce_consumed_transition
from quietswap.rules.orders.tracking import (
    BlockRef,
    Discrepancy,
    Replacement,
    TrackedOrder,
    is_by_nonce,
)
from quietswap.service.orders.tracking.chain_follower import ChainFollower
from quietswap.service.orders.tracking.nonce_search import NonceSearch
from quietswap.service.orders.tracking.order_cache import OrderCache

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
            checked += await self._reconcile_batch(watches[start : start + BATCH])
        return checked

    async def _reconcile_batch(self, watches: Sequence[TrackedOrder]) -> list[TrackedOrder]:
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
        canonical = self._follower.canonical.at(number)
        if canonical is not None or number > self._follower.tip.number:
            return canonical
        if number not in self._others:
            block = await self._chain.block(number)
            self._others[number] = BlockRef.of(block) if block else None
        return self._others[number]
