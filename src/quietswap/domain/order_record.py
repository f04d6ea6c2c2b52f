"""What the interface says of an order, as it lies in storage.

Amounts and prices stay decimal digits (smallest units, wei), because nothing is computed with them
on the way out; times are Unix ms. A block's fields stand where one included the order. A page has
fifty of these: only what it shows is read, which halves its cost.
"""

from dataclasses import dataclass
from typing import NamedTuple


class OrderRecord(NamedTuple):
    """One order in full; `succeeded` is 1 or 0 where a block included it."""

    order_id: str
    status: str
    tx_hash: str
    created_at_ms: int
    submitted_at_ms: int | None
    sell_token: str
    buy_token: str
    sell_amount: str
    min_buy_amount: str
    block_number: int | None
    gas_used: int | None
    effective_gas_price: str | None
    block_time_ms: int | None
    succeeded: int | None
    failure_code: str | None
    failure_message: str | None


class HistoryLine(NamedTuple):
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


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class HistoryPage:
    """One page, newest first, and the number of all orders that match.

    A page is itself, not equal to one that says the same: so what was made of it is found again
    without a look at its lines.
    """

    orders: tuple[HistoryLine, ...]
    total: int
