"""Read models of orders: the stored values that the interface shows.

Amounts and prices stay decimal digits (smallest units, wei), because nothing is computed with them;
times are Unix ms. The fields of a block are None unless a block included the order. A page has
fifty lines: reading only what it shows halves its cost.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar


class OrderView(NamedTuple):
    """One order in full; `succeeded` is 1 or 0 if a block included it.

    `received` and the refund are None for orders that an older release confirmed. The last three
    are None in events of older releases.
    """

    order_id: str
    kind: str
    status: str
    tx_hash: str
    created_at_ms: int
    submitted_at_ms: int | None
    sell_token: str
    buy_token: str
    sell_amount: str
    min_buy_amount: str
    buy_amount: str
    block_number: int | None
    gas_used: int | None
    effective_gas_price: str | None
    block_time_ms: int | None
    succeeded: int | None
    failure_code: str | None
    failure_message: str | None
    received: str | None
    received_issue: str | None
    refund_status: str | None
    refund_wei: str | None
    refund_tx: str | None
    expires_at_ms: int | None
    endpoint_type: str | None
    share_mode: str | None


class OrderListItem(NamedTuple):
    """One order in a page."""

    order_id: str
    status: str
    tx_hash: str
    created_at_ms: int
    sell_token: str
    buy_token: str
    sell_amount: str
    buy_amount: str
    block_number: int | None
    block_time_ms: int | None
    failure_code: str | None
    kind: str


@dataclass(frozen=True, slots=True)
class OrderPage:
    """One page, newest first, and the total of matching orders."""

    orders: tuple[OrderListItem, ...]
    total: int

    def next_offset(self, offset: int) -> int:
        """Return the offset of the following page, for a page that was read at `offset`."""
        return offset + len(self.orders)

    def has_more(self, offset: int) -> bool:
        """Return whether orders follow a page that was read at `offset`."""
        return self.next_offset(offset) < self.total


class RenderedPage(Protocol):
    """What a reader makes of a page."""

    @property
    def total(self) -> int:
        """Return the total of matching orders."""


OrderT = TypeVar("OrderT")
PageT = TypeVar("PageT", bound=RenderedPage)
RenderPage = Callable[[OrderPage, int, int], PageT]
"""Takes a page, and the limit and offset at which it was read."""
