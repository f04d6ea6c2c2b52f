"""Read models of orders: the stored values that the interface shows.

Amounts and prices stay decimal digits (smallest units, wei), because nothing is computed with
them; times are Unix ms. The fields of a block are None unless a block included the order. A page
has fifty lines: reading only what it shows halves its cost.
"""

from dataclasses import dataclass
from typing import NamedTuple

from quietswap.rules.trial.next_block import SLOT_S
from quietswap.rules.tx.address import Address


def mined_at_ms(block_time_ms: int | None, created_at_ms: int) -> int | None:
    """Return when a block took the order: the block's time, but not before the order was created.

    A block's time is the begin of its slot, in whole seconds: a transaction reaches it a little
    later. An order that was created a slot or more after its block was adopted: its transaction
    was mined already, and the block's time stands.
    """
    if block_time_ms is None or created_at_ms - block_time_ms >= SLOT_S * 1000:
        return block_time_ms
    return max(block_time_ms, created_at_ms)


class OrderView(NamedTuple):
    """One order in full; `succeeded` is 1 or 0 if a block included it.

    `received` and the refund are None for orders that an older release confirmed. The last nine
    are None in events of older releases.
    """

    order_id: str
    kind: str
    status: str
    tx_hash: str
    created_at_ms: int
    submitted_at_ms: int | None
    sell_token: Address
    buy_token: Address
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
    relay_answer: str | None
    deadline_s: int | None
    nonce: str | None
    reference: str | None
    reference_wei: str | None
    conversion: str | None = None

    @property
    def mined_at_ms(self) -> int | None:
        """The time of its block, see `mined_at_ms`."""
        return mined_at_ms(self.block_time_ms, self.created_at_ms)


class OrderListItem(NamedTuple):
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
    relay_answer: str | None
    conversion: str | None = None


@dataclass(frozen=True, slots=True)
class OrderPage:
    """One page, newest first, and the total of matching orders."""

    orders: tuple[OrderListItem, ...]
    total: int
