"""Ask relays for refunds of confirmed orders, and look for the transactions that paid them.

A relay knows a refund only after the block. So it is asked one block after the inclusion is
stored, again some blocks later, and a last time before tracking ends. A restart loses only the
first two.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from quietswap.rules.chain.received import Refund, RefundStatus
from quietswap.rules.chain.records import Block, BlockTransaction, ChainReader, NodeUnavailable
from quietswap.rules.chain.relay_refund import ReportedRefund, refund_of
from quietswap.rules.orders.order import Order, OrderEvent, OrderKind, OrderStatus
from quietswap.rules.orders.tracking import TrackedOrder
from quietswap.rules.relays import EndpointType
from quietswap.service import observe
from quietswap.service.base.concurrency import bounded_gather
from quietswap.service.orders.tracking.due_queue import DueQueue
from quietswap.service.orders.tracking.order_cache import OrderCache
from quietswap.service.relays.relay import Relay

_LATER = 10
"""Blocks until the second question."""
_MOST = 64
"""Orders per block; the others wait for the next block."""
_PARALLEL = 16
_WITHIN_S = 5.0
"""Time limit of all questions to relays, and of all reads of blocks, that one block causes."""
_BLOCKS_AT_ONCE = 4


class RefundReader:
    """`relays` by tier. A relay or a node that hangs delays a turn by `_WITHIN_S` at most."""

    def __init__(self, cache: OrderCache, chain: ChainReader, relays: Mapping[int, Relay]) -> None:
        self._cache = cache
        self._chain = chain
        self._relays = relays
        self._first, self._second = DueQueue(), DueQueue()

    def expect(self, watch: TrackedOrder, tip: int) -> None:
        """Ask for the refund of an order whose inclusion was stored at block number `tip`."""
        if self._may_have_one(watch):
            self._first.set(watch.order.order_id, tip + 1)

    async def ask_due(self, tip: int) -> None:
        """Ask for the refunds that are due at block number `tip`. Raises StoreUnavailable."""
        first = self._first.take(tip, _MOST)
        for order_id in first:
            self._second.set(order_id, tip + _LATER)
        due = [*first, *self._second.take(tip, _MOST - len(first))]
        await self.ask([watch for watch in map(self._cache.watches.get, due) if watch])

    async def ask(self, watches: Sequence[TrackedOrder]) -> None:
        """Ask for the refunds of these orders. Raises StoreUnavailable.

        A refund decides nothing about an order: without its block it is only reported.
        """
        candidates = [watch for watch in watches if self._may_have_one(watch)]
        reports: dict[str, list[ReportedRefund]] = {}

        async def one(watch: TrackedOrder) -> None:
            order = watch.order
            for relay in self._paying(order):
                report = await relay.refund(order.tx_hash)
                if report is not None:
                    reports.setdefault(order.order_id, []).append(report)

        with suppress(TimeoutError):
            async with asyncio.timeout(_WITHIN_S):
                await bounded_gather(candidates, one, limit=_PARALLEL)
        reported = [watch for watch in candidates if watch.order.order_id in reports]
        places = [watch.order.inclusion for watch in reported]
        blocks = await self._blocks({place.block_hash for place in places if place})
        for watch in reported:
            await self._found(watch, reports[watch.order.order_id], blocks)

    async def _blocks(self, hashes: Collection[str]) -> Mapping[str, Block]:
        """Return the blocks that can be read within `_WITHIN_S`, by hash."""
        blocks: dict[str, Block] = {}

        async def read(block_hash: str) -> None:
            try:
                block = await self._chain.block_by_hash(block_hash)
            except NodeUnavailable as error:
                observe.refund_block_unread(block_hash, str(error))
                return
            if block is not None:
                blocks[block_hash] = block

        try:
            async with asyncio.timeout(_WITHIN_S):
                await bounded_gather(hashes, read, limit=_BLOCKS_AT_ONCE)
        except TimeoutError:
            observe.refund_block_unread(None, f"not read within {_WITHIN_S:g} s")
        return blocks

    def _may_have_one(self, watch: TrackedOrder) -> bool:
        """Return whether a refund is possible and not yet proven."""
        order = watch.order
        if not self._paying(order):
            return False
        if order.kind is not OrderKind.SWAP or order.endpoint_type == EndpointType.FULLPRIVACY:
            return False  # no searcher sees it
        if order.status is not OrderStatus.CONFIRMED or order.inclusion is None:
            return False
        refund = order.inclusion.refund
        return refund is not None and refund.status is not RefundStatus.PAID

    def _paying(self, order: Order) -> list[Relay]:
        """Return the relays that may have paid a refund: those that may have had the order."""
        relays = filter(None, map(self._relays.get, order.tiers))
        return [relay for relay in relays if relay.is_up and relay.pays_rebates]

    async def _found(
        self, watch: TrackedOrder, reports: Sequence[ReportedRefund], blocks: Mapping[str, Block]
    ) -> None:
        """Store the refund; of the reports of two relays the one that the block proves."""
        order, inclusion = watch.order, watch.order.inclusion
        if inclusion is None:
            return
        block = blocks.get(inclusion.block_hash)
        mined = () if block is None else block.transactions
        refund = refund_of(reports[0], order.wallet, order.tx_hash, mined)
        for report in reports:
            seen = refund_of(report, order.wallet, order.tx_hash, mined)
            if seen.status is RefundStatus.PAID:
                claimed = await self._taken(order, mined)
                refund = refund_of(report, order.wallet, order.tx_hash, mined, claimed)
        if refund != inclusion.refund:
            await self._store(order, refund)

    async def _taken(self, order: Order, mined: Sequence[BlockTransaction]) -> set[str]:
        """Return the payments to the wallet in this block that other orders already name."""
        claimed: set[str] = set()
        for one in mined:
            if one.sender != order.wallet or one.hash == order.tx_hash:
                continue
            other = await self._cache.orders.by_hash(one.hash)
            refund = other and other.inclusion and other.inclusion.refund
            if refund and refund.tx_hash is not None:
                claimed.add(refund.tx_hash)
        return claimed

    async def _store(self, order: Order, refund: Refund) -> None:
        """Store the refund with an event, unless the order has changed since it was read."""
        assert order.inclusion is not None
        changed = replace(order, inclusion=replace(order.inclusion, refund=refund))
        text = f"{refund.amount_wei} wei" + (f" by {refund.tx_hash}" if refund.tx_hash else "")
        event, status = f"refund_{refund.status}", order.status
        now = self._cache.clock.now_ms()
        line = OrderEvent(order.order_id, now, event, status, status, text)
        if await self._cache.orders.update(changed, line):
            self._cache.record(replace(changed, version=order.version + 1))
            observe.order_refunded(
                order.order_id, order.relays_label, refund.status, refund.amount_wei
            )
        else:
            await self._cache.refresh(order.order_id)
