"""Track orders until the chain has decided, and until its decision is final.

At every new head one full block is matched by hash and by (sender, nonce), receipts are read for
the matches only, and a slice of all orders is checked again. The cost per block does not grow with
the number of orders. A node that does not answer permits no conclusion.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import Protocol

from quietswap.rules.chain.pool_reference import Reference, reference_of
from quietswap.rules.chain.received import Arrival, arrival
from quietswap.rules.chain.records import ChainReader, NodeUnavailable, Receipt
from quietswap.rules.orders.evidence import (
    inclusion_transition,
    new_head_transition,
    nonce_consumed_transition,
    reorg_transition,
    replacement_transition,
)
from quietswap.rules.orders.order import Order, OrderKind
from quietswap.rules.orders.tracking import (
    DEEP,
    BlockRef,
    TrackedOrder,
    TrackingRules,
    depth,
    safe_now_ms,
    was_offered,
)
from quietswap.rules.tokens.token import WETH, WrapOperation
from quietswap.rules.tx.address import Address
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.base.concurrency import bounded_gather
from quietswap.service.orders.tracking.chain_follower import ChainFollower, ChainUpdate
from quietswap.service.orders.tracking.order_cache import OrderCache
from quietswap.service.orders.tracking.reconcile import BATCH, Reconciler
from quietswap.service.orders.tracking.refunds import RefundReader
from quietswap.service.orders.tracking.resend import Resender
from quietswap.service.relays.relay import Relay
from quietswap.service.storage.orders import OrderStore

_REFERENCES_WITHIN_S = 2.0
"""A node that hangs delays the orders of one block by this much at most."""
_BLOCKS_AT_ONCE = 4


class BlockPrices(Protocol):
    """Prices by the pools at a past state. It never raises."""

    async def after(self, block: int, tokens: Sequence[Address]) -> Sequence[Decimal | None]:
        """Return USD per smallest unit after `block`, in order; None without a price."""


class OrderTracker:
    """One active tracker follows all orders. `relays` by tier, `prices` for what swaps were worth.

    `start` and `run_once` raise NodeUnavailable and StoreUnavailable. A failed turn is safe to
    repeat: each step depends on the stored state only, so the next turn completes it.
    """

    def __init__(
        self,
        orders: OrderStore,
        chain: ChainReader,
        relays: Mapping[int, Relay],
        clock: Clock,
        rules: TrackingRules,
        *,
        prices: BlockPrices,
    ) -> None:
        self._chain = chain
        self._relays = relays
        self._cache = OrderCache(orders, clock, rules)
        self._prices = prices
        self._begin()

    def _begin(self) -> None:
        self._follower = ChainFollower(self._chain)
        self._reconciler = Reconciler(self._cache, self._chain, self._follower)
        self._sender = Resender(self._cache, self._chain, self._relays, self._reconciler)
        self._refunds = RefundReader(self._cache, self._chain, self._relays)
        self._must_look_at_all = True
        self._is_unfinished = False

    @property
    def watched(self) -> int:
        return len(self._cache.watches)

    async def start(self) -> None:
        """Load all orders and check each one at the node, then resend those that are due."""
        self._begin()
        await self._cache.load()
        await self.run_once()

    async def run_once(self) -> None:
        """Read the head once; if it is new, update the orders."""
        try:
            head = await self._chain.head()
            self._sender.next_base_fee = head.next_base_fee
            if self._follower.is_news(head):
                await self._cache.load_changes()
                self._note(await self._follower.advance(head))
                self._is_unfinished = True
            if self._is_unfinished:
                await self._conclude(self._follower.tip)
                self._is_unfinished = False
                observe.orders_watched(self._cache.watches.statuses)
        except NodeUnavailable:
            self._forget_doubts()
            raise

    def _note(self, progress: ChainUpdate) -> None:
        """Record in memory which blocks hold orders, and which do not any more."""
        watches = self._cache.watches
        if progress.restarted:
            self._must_look_at_all = True
            for watch in watches:
                watch.unread = None
                if watch.rival is not None or not watch.is_settled:
                    watches.set_block(watch, None)
        for ref in progress.removed:
            watches.remove_block(ref.hash)
        for block in progress.added:
            watches.match(block)

    async def _conclude(self, tip: BlockRef) -> None:
        await self._look()
        await self._take_back(tip)
        await self._settle(tip)
        for watch in list(self._cache.watches.accepted.values()):
            if was_offered(watch.order, tip.number):
                await self._cache.apply(watch, new_head_transition(tip.number))
        settled = self._follower.canonical.at(tip.number - self._cache.rules.confirmations + 1)
        await self._sender.expire(tip, settled)
        await self._sender.resend(tip)
        await self._refunds.ask_due(tip.number)
        if _is_turn_to_close(tip, self._cache.rules):
            await self._close(tip)

    async def _look(self) -> None:
        """Check all orders after a gap; otherwise the doubted ones and a slice of the rest."""
        watches = self._cache.watches
        if self._must_look_at_all:
            await self._reconciler.reconcile(list(watches))
            self._must_look_at_all = False
            return
        chosen = {w.order.order_id: w for w in watches.doubted.values()}
        if not _is_turn_to_close(self._follower.tip, self._cache.rules):
            due = watches.next_batch(self._cache.rules.backstop_every, BATCH)
            chosen |= {w.order.order_id: w for w in due}
        await self._reconciler.reconcile(list(chosen.values()))

    def _forget_doubts(self) -> None:
        for watch in self._cache.watches.doubted.values():
            watch.trusts()

    async def _take_back(self, tip: BlockRef) -> None:
        """Take back the verdicts of blocks that are no longer canonical, and resend at once."""
        for watch in list(self._cache.watches.undone.values()):
            watch.must_go_out = True
            watch.spared_until = tip.number + self._cache.rules.resend_every
            await self._cache.apply(watch, reorg_transition(watch.order))

    async def _settle(self, tip: BlockRef) -> None:
        """Apply the verdicts of blocks that are deep enough; an inclusion needs its receipt."""
        due = []
        for watch in list(self._cache.watches.unsettled.values()):
            deep = depth(tip.number, watch.blocks[0].number)
            if deep < self._cache.rules.confirmations:
                continue
            if watch.rival is not None:
                step = replacement_transition(watch.rival)
                await self._cache.apply(watch, replace(step, depth=deep))
            else:
                due.append(watch)
        for start in range(0, len(due), BATCH):
            await self._include(due[start : start + BATCH], tip)

    async def _include(self, watches: list[TrackedOrder], tip: BlockRef) -> None:
        """Apply inclusions. A missing receipt, or one of another block, is ignored: it may lag.

        An unreadable receipt is ignored, too. The order is due again at the next block.
        """
        receipts = await self._chain.receipts([w.order.tx_hash for w in watches])
        mined: list[tuple[TrackedOrder, BlockRef, Receipt, Arrival | None]] = []
        for watch in watches:
            receipt, place = receipts.get(watch.order.tx_hash), watch.seen
            if receipt is not None and place is not None and receipt.block_hash == place.hash:
                mined.append((watch, place, receipt, _arrival(watch.order, receipt)))
        swaps: defaultdict[int, list[Order]] = defaultdict(list)
        for watch, place, receipt, arrived in mined:
            is_swap = watch.order.kind is OrderKind.SWAP and receipt.succeeded
            if is_swap and arrived is not None and arrived.amount is not None:
                swaps[place.number].append(watch.order)
        references = await _references(self._prices, swaps)
        for watch, place, receipt, arrived in mined:
            reference = references.get(watch.order.order_id)
            step = inclusion_transition(place, receipt, arrived, reference)
            deep = depth(tip.number, place.number)
            await self._cache.apply(watch, replace(step, depth=deep))
            self._refunds.expect(watch, self._follower.tip.number)

    async def _close(self, tip: BlockRef) -> None:
        """Stop tracking orders whose deciding block is final, or whose tracking time is over."""
        watches = self._cache.watches
        moment = safe_now_ms(self._cache.clock.now_ms(), tip.time)
        over = watches.end.take(moment, BATCH)
        final: list[str] = []
        if len(watches.closing):
            deep = min(await self._chain.finalized_number(), tip.number - DEEP + 1)
            final = watches.closing.take(deep, BATCH)
        try:
            final_watches = filter(None, map(watches.get, final))
            settled = await self._reconciler.reconcile(
                [w for w in final_watches if w.is_final_candidate]
            )
            await self._refunds.ask(settled)
            for watch in filter(None, map(watches.get, over)):
                if not watch.is_open:
                    await self._cache.close(watch)
            for watch in settled:
                if watch.is_final_candidate and watch.doubt is None:
                    await self._end(watch, tip)
        finally:
            for watch in filter(None, map(watches.get, (*over, *final))):
                watches.reindex(watch)

    async def _end(self, watch: TrackedOrder, tip: BlockRef) -> None:
        """Stop tracking an order whose nonce is used by a final block.

        An expired or refused order could have been mined until now: it gets the verdict of the
        transaction that used its nonce. Only a final block permits this verdict, because taking it
        back would resend the bytes of the order.
        """
        since = watch.blocks[0].number if watch.blocks else watch.gone_since
        deep = 0 if since is None else depth(tip.number, since)
        if watch.order.is_at_large and watch.seen is None:
            step = nonce_consumed_transition(str(since))
            if watch.rival is not None:
                step = replacement_transition(watch.rival)
            await self._cache.apply(watch, replace(step, depth=deep))
        await self._cache.close(watch, deep)


async def _references(
    prices: BlockPrices, swaps: Mapping[int, Sequence[Order]]
) -> dict[str, Reference]:
    """Return what swaps, by block number, were worth before their blocks, by order id, if known.

    The node has that state now; a full node drops it after 128 blocks. So it is read once, and what
    cannot be read then stays unknown: it decides nothing about an order.
    """
    references: dict[str, Reference] = {}

    async def one(block: int) -> None:
        pairs = [(order.sell_token, order.buy_token) for order in swaps[block]]
        tokens = list(dict.fromkeys([WETH, *(token for pair in pairs for token in pair)]))
        usd = dict(zip(tokens, await prices.after(block - 1, tokens), strict=True))
        for order in swaps[block]:
            sold, bought = usd[order.sell_token], usd[order.buy_token]
            reference = reference_of(order.sell_amount, sold, bought, usd[WETH])
            if reference is not None:
                references[order.order_id] = reference

    with suppress(TimeoutError):
        async with asyncio.timeout(_REFERENCES_WITHIN_S):
            await bounded_gather(swaps, one, limit=_BLOCKS_AT_ONCE)
    return references


def _arrival(order: Order, receipt: Receipt) -> Arrival | None:
    """Return what the order's transaction brought; None for kinds that buy nothing."""
    if order.kind not in (OrderKind.SWAP, OrderKind.WRAP):
        return None
    return arrival(
        order.buy_token,
        from_weth=order.kind is OrderKind.WRAP,
        unwraps=order.conversion == WrapOperation.UNWRAP,
        succeeded=receipt.succeeded,
        is_sender=receipt.sender == order.wallet,
        movements=receipt.movements,
    )


def _is_turn_to_close(tip: BlockRef, rules: TrackingRules) -> bool:
    """Return whether this block is for closing; the other blocks check a slice of all orders."""
    return tip.number % rules.backstop_every == 0
