"""GET /api/v1/mev/orders/user/:userAddress/export, and `quietswap orders export`."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from quietswap.rules.chain.records import ChainReader, NodeUnavailable
from quietswap.rules.orders.export import ExportFilter, ExportPage, ExportRow
from quietswap.rules.tokens.token import NATIVE, Token
from quietswap.rules.tx.address import Address
from quietswap.service.base.concurrency import bounded_gather
from quietswap.service.storage.order_export import OrderExportStore

_PARALLEL = 8
_ETHER = Token(NATIVE, 18, "ETH")


class ExportOrders:
    """The orders come from the store, decimals and symbols of their tokens from the node.

    Without `chain`, or once the node does not answer, the tokens of the rest are missing: an export
    does not wait for a node that is away.
    """

    def __init__(self, orders: OrderExportStore, chain: ChainReader | None) -> None:
        self._orders = orders
        self._chain = chain

    async def __call__(self, wanted: ExportFilter) -> AsyncGenerator[ExportPage]:
        """Yield pages of the orders. Raises StoreUnavailable."""
        chain = self._chain
        async with aclosing(self._orders.pages(wanted)) as pages:
            async for rows in pages:
                tokens, is_away = await _tokens(chain, rows)
                chain = None if is_away else chain
                yield ExportPage(rows, tokens)


async def _tokens(
    chain: ChainReader | None, rows: Sequence[ExportRow]
) -> tuple[dict[Address, Token], bool]:
    """Return the known tokens of some orders, and whether the node did not answer."""
    tokens = {NATIVE: _ETHER}
    if chain is None:
        return tokens, False
    addresses = {row.order.sell_token for row in rows} | {row.order.buy_token for row in rows}
    reader, is_away = chain, False

    async def look(address: Address) -> None:
        nonlocal is_away
        if is_away:
            return
        try:
            token = await reader.token(address)
        except NodeUnavailable:
            is_away = True
            return
        if token is not None:
            tokens[address] = token

    await bounded_gather(sorted(addresses - {NATIVE}), look, limit=_PARALLEL)
    return tokens, is_away
