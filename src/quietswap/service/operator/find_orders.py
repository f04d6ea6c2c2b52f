"""Search over the orders of all clients: by id, hash, wallet, API key or client."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from quietswap.rules.clients import Client
from quietswap.rules.operator.operators import (
    FoundOrders,
    OrderDetail,
    OrderPlace,
)
from quietswap.rules.orders.order import Order
from quietswap.service.storage.clients import ClientStore
from quietswap.service.storage.operator_view import OperatorSearch
from quietswap.service.storage.orders import OrderStore

PAGE = 50
"""Orders on one page."""
_HASH = re.compile(r"0x[0-9a-fA-F]{64}")
_WALLET = re.compile(r"0x[0-9a-fA-F]{40}")


@dataclass(frozen=True, slots=True)
class FindOrders:
    """Each search is one range of an index. Raises StoreUnavailable."""

    search: OperatorSearch
    orders: OrderStore
    clients: ClientStore

    async def __call__(self, text: str, after: OrderPlace | None) -> FoundOrders:
        """Return the orders that `text` names, newest first; all orders if it is empty."""
        if not text:
            return _page("newest orders of all clients", await self.search.newest(after, PAGE + 1))
        if _HASH.fullmatch(text):
            return _one("transaction hash", await self.orders.by_hash(text.lower()))
        if _WALLET.fullmatch(text):
            orders = await self.search.of_wallet(text, after, PAGE + 1)
            return _page("wallet", orders)
        if (order := await self.orders.find(text)) is not None:
            return _one("order id", order)
        return await self._of_owner(text, after)

    async def _of_owner(self, text: str, after: OrderPlace | None) -> FoundOrders:
        key = await self.search.key(text)
        owners = [key.client_id] if key else [one.id for one in await self.clients.find(text)]
        if not owners:  # a session of the wallet page is deleted before its orders
            orders = await self.search.of_client(text, after, PAGE + 1)
            return _page(f"client {text}", orders) if orders else FoundOrders("", ())
        owner = f"client of the API key {text}" if key else f"client {owners[0]}"
        if len(owners) > 1:
            owner += f", the oldest of {len(owners)} clients with this name"
        return _page(owner, await self.search.of_client(owners[0], after, PAGE + 1))

    async def detail(self, order_id: str) -> OrderDetail | None:
        """Return one order with its events; None when unknown."""
        order = await self.orders.find(order_id)
        if order is None:
            return None
        events = await self.orders.events(order_id)
        owners: Sequence[Client] = await self.clients.find(order.client_id)
        name = next((one.name for one in owners if one.id == order.client_id), "")
        return OrderDetail(replace(order, raw=None), events, name)


def _page(what: str, orders: Sequence[Order]) -> FoundOrders:
    if len(orders) <= PAGE:
        return FoundOrders(what, orders)
    last = orders[PAGE - 1]
    return FoundOrders(what, orders[:PAGE], OrderPlace(last.created_at_ms, last.order_id))


def _one(what: str, order: Order | None) -> FoundOrders:
    return FoundOrders(what, ()) if order is None else FoundOrders(what, [replace(order, raw=None)])
