"""Read what confirmed swaps were worth by the pools, at the state before their blocks.

The node has that state when an order is confirmed; a full node drops it after 128 blocks. So it is
read once, with the inclusion, and a reference that cannot be read then stays unknown.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Protocol

from quietswap.chain.address import Address
from quietswap.concurrency import bounded_gather
from quietswap.orders.order import Order
from quietswap.orders.received import Reference, reference_of
from quietswap.tokens.token import WETH

_WITHIN_S = 2.0
"""A node that hangs delays the orders of one block by this much at most."""
_BLOCKS_AT_ONCE = 4


class BlockPrices(Protocol):
    """Prices by the pools at a past state. It never raises."""

    async def after(self, block: int, tokens: Sequence[Address]) -> Sequence[Decimal | None]:
        """Return USD per smallest unit after `block`, in order; None without a price."""


class ReferenceReader:
    """A reference decides nothing about an order: without it the order is confirmed as well."""

    def __init__(self, prices: BlockPrices) -> None:
        self._prices = prices

    async def read(self, swaps: Sequence[tuple[Order, int]]) -> dict[str, Reference]:
        """Return the references of swaps in blocks of these numbers, by order id, if known."""
        by_block: defaultdict[int, list[Order]] = defaultdict(list)
        for order, block in swaps:
            by_block[block].append(order)
        found: dict[str, Reference] = {}

        async def one(block: int) -> None:
            pairs = [(order.sell_token, order.buy_token) for order in by_block[block]]
            tokens = list(dict.fromkeys([WETH, *(token for pair in pairs for token in pair)]))
            usd = dict(zip(tokens, await self._prices.after(block - 1, tokens), strict=True))
            for order in by_block[block]:
                sold, bought = usd[order.sell_token], usd[order.buy_token]
                reference = reference_of(order.sell_amount, sold, bought, usd[WETH])
                if reference is not None:
                    found[order.order_id] = reference

        with suppress(TimeoutError):
            async with asyncio.timeout(_WITHIN_S):
                await bounded_gather(by_block, one, limit=_BLOCKS_AT_ONCE)
        return found
