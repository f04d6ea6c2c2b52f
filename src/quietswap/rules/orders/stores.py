"""What the stores return of orders, why they refuse; order ids, leader locks, rate windows."""

import secrets
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from quietswap.rules.orders.order import Order, OrderKind
from quietswap.rules.tx.address import Address


class StoreUnavailable(Exception):
    """The database did not respond within its time limit, or rejects calls."""


class DuplicateTransaction(Exception):
    """`order` with this transaction hash is already stored."""

    def __init__(self, order: Order) -> None:
        super().__init__(order.order_id)
        self.order = order


# Read models of orders: the stored values that the interface shows.
#
# Amounts and prices stay decimal digits (smallest units, wei), because nothing is computed with
# them; times are Unix ms. The fields of a block are None unless a block included the order. A page
# has fifty lines: reading only what it shows halves its cost.


class OrderView(NamedTuple):
    """One order in full; `succeeded` is 1 or 0 if a block included it.

    `received` and the refund are None for orders that an older release confirmed. The last eight
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

    @property
    def mined_at_ms(self) -> int | None:
        """The time of its block, not before the order was created.

        It is the begin of the block's slot, in whole seconds: transactions reach it a little later.
        """
        block_ms = self.block_time_ms
        return None if block_ms is None else max(block_ms, self.created_at_ms)


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


@dataclass(frozen=True, slots=True)
class OrderPage:
    """One page, newest first, and the total of matching orders."""

    orders: tuple[OrderListItem, ...]
    total: int


# What has more than one implementation.


class LeaderLock(Protocol):
    """A lock held by one process, used for leader election."""

    @property
    def is_held(self) -> bool:
        """Return whether the last `acquire_or_renew` succeeded. No I/O."""

    is_elsewhere: bool
    """Whether another process held it at the last attempt, as far as could be asked."""

    async def acquire_or_renew(self) -> bool:
        """Acquire or renew the lock; return whether it is held.

        Never raises: without a response the lock is not held. Call it about every second.
        """

    async def release(self) -> None:
        """Release the lock, so that another process can acquire it at once."""


@dataclass(frozen=True, slots=True)
class RateWindow:
    """The state after one hit: `reset_ms` is when the window ends, in Unix ms."""

    allowed: bool
    limit: int
    remaining: int
    reset_ms: int


class RateStore(Protocol):
    """Fixed rate limit windows by key."""

    async def hit(self, key: str, limit: int, window_s: int, count: int = 1) -> RateWindow:
        """Count one request, or `count`, and return the state of the window, atomically."""


# Order ids.

PREFIX_OF = {
    OrderKind.SWAP: "ord",
    OrderKind.WRAP: "wrp",
    OrderKind.CANCEL: "cnl",
    OrderKind.APPROVAL: "apr",
    OrderKind.TRANSACTION: "txn",
}
PREFIXES = tuple(PREFIX_OF.values())
"""Prefixes of order ids. Retention finds old orders by prefix and time."""


def new_order_id(prefix: str, now_ms: int) -> str:
    """Return `prefix`, 12 hexadecimal digits of Unix ms and 20 random ones.

    As with UUIDv7 (RFC 9562, section 5.7), new ids are adjacent in an index. Inserts of an order
    and its events then use index pages that are in memory, whatever the number of orders.
    """
    assert prefix in PREFIXES
    return f"{prefix}_{now_ms:012x}{secrets.token_hex(10)}"
