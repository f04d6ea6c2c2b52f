"""The tools that only read: tokens, prices, quotes and orders."""

import contextlib
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from quietswap.cli.mcp.marked import marked
from quietswap.cli.mcp.prepare import Preparer
from quietswap.cli.mcp.quotes import (
    AmountArgument,
    KeptQuotes,
    OrderArgument,
    SlippageArgument,
    SmallestArgument,
    TokenArgument,
    WalletArgument,
    explained,
    in_tokens,
    loss_members,
    read_units,
    read_wallet,
    summary,
    swap_request,
)
from quietswap.client.errors import OrderStillOpen
from quietswap.client.flows import polling
from quietswap.client.flows.quoting import judge_quote
from quietswap.contract.base import MAX_OFFSET, MAX_SEARCH, OrderKindFilter, OrderState
from quietswap.contract.orders import OrderStatusResponse

MOST_ROWS = 50
MOST_WAIT_S = 60
_INTERVAL_S = 2.0
"""Time between two reads of an order's status where the event stream does not work."""

RowsArgument = Annotated[int, Field(ge=1, le=MOST_ROWS)]
OffsetArgument = Annotated[int, Field(ge=0, le=MAX_OFFSET)]


class ReadingTools:
    """The tools that change nothing. Their docstrings are what a model reads."""

    def __init__(self, preparer: Preparer) -> None:
        self._preparer = preparer
        self._client = preparer.client
        self._quotes = KeptQuotes(preparer.monotonic)

    async def search_tokens(
        self,
        search: Annotated[
            str, Field(description="Part of a symbol or name, or an address", max_length=MAX_SEARCH)
        ] = "",
        limit: RowsArgument = 20,
        offset: OffsetArgument = 0,
    ) -> dict[str, Any]:
        """Search tokens by symbol, name or address. Symbols are not unique: compare the address.

        Read `warnings` before a trade. An address also finds a token of no list.
        """
        found = await self._client.tokens(search, limit=limit, offset=offset)
        tokens = [marked(token, "logoURI") for token in found.tokens]
        return {"tokens": tokens, "total": found.total, "hasMore": found.has_more}

    async def price(
        self,
        sell: TokenArgument,
        buy: TokenArgument,
        amount: AmountArgument,
        smallest_units: SmallestArgument = False,
    ) -> dict[str, Any]:
        """Show an indicative price, without a wallet. Nothing is verified: `quote` verifies."""
        selling, buying = await self._preparer.pair(sell, buy)
        units = read_units(amount, selling, smallest=smallest_units)
        found = await self._client.price(selling.address, buying.address, units)
        whole = {
            "sellAmount": in_tokens(selling, found.sell_amount),
            "buyAmount": in_tokens(buying, found.buy_amount),
        }
        loss = loss_members(judge_quote(found, 0))
        return {"inWholeTokens": whole, **marked(found, "loss"), "loss": loss}

    async def quote(
        self,
        sell: TokenArgument,
        buy: TokenArgument,
        amount: AmountArgument,
        wallet: WalletArgument,
        slippage_bps: SlippageArgument = 50,
        smallest_units: SmallestArgument = False,
    ) -> dict[str, Any]:
        """Ask for the best verified route for a wallet. Nothing is signed or sent.

        `issues` says what the wallet lacks; `loss` what the swap may lose. The quote is valid for
        about 30 seconds; `explain_quote` says why it is what it is.
        """
        selling, buying = await self._preparer.pair(sell, buy)
        units = read_units(amount, selling, smallest=smallest_units)
        request = swap_request(selling, buying, units, wallet, slippage_bps)
        quote_id = await self._quotes.ask(self._client, request, selling, buying)
        kept = self._quotes.get(quote_id)
        return {"quoteId": quote_id, "validForSeconds": self._quotes.left_s(kept), **summary(kept)}

    async def explain_quote(
        self, quote_id: Annotated[str, Field(description="quoteId of a quote")]
    ) -> dict[str, Any]:
        """Explain a quote: each source, verification, loss, MEV, and what its transaction does.

        `checks` is the result of this program's own checks, which do not trust the service.
        """
        kept = self._quotes.get(quote_id)
        parts = await explained(kept, self._client, has_node=self._preparer.has_node)
        return {"quoteId": quote_id, "validForSeconds": self._quotes.left_s(kept), **parts}

    async def follow_order(
        self,
        order_id: OrderArgument,
        wait_seconds: Annotated[
            int, Field(description="0: return the status at once", ge=0, le=MOST_WAIT_S)
        ] = 0,
    ) -> dict[str, Any]:
        """Return the status of an order; wait until it is final, or for `wait_seconds`.

        Final are confirmed, failed and cancelled. A failed order with `mayBeMined` can still be
        mined: never repeat it with another nonce.
        """
        seen: list[OrderStatusResponse] = []
        own = self._client.orders.get(order_id)
        patient = replace(
            self._client.polling, patience_s=float(wait_seconds), interval_s=_INTERVAL_S
        )
        flow = polling.follow_order(
            order_id, patient, seen.append, signed_hash=own.tx_hash if own else None
        )
        with contextlib.suppress(OrderStillOpen):
            await self._client.run(flow)
        return {"final": seen[-1].is_terminal, **marked(seen[-1])}

    async def list_orders(
        self,
        wallet: WalletArgument,
        limit: RowsArgument = 20,
        offset: OffsetArgument = 0,
        status: OrderState | None = None,
        kind: OrderKindFilter = "any",
    ) -> dict[str, Any]:
        """List the orders of a wallet that were placed with this API key, newest first."""
        found = await self._client.order_history(
            read_wallet(wallet), limit=limit, offset=offset, status=status, kind=kind
        )
        return {"orders": marked(found.orders), "total": found.total, "hasMore": found.has_more}
