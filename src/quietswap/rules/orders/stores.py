"""What the stores return of orders, why they refuse; order ids, leader locks, rate windows."""

from dataclasses import dataclass
from typing import Protocol

from quietswap.rules.orders.order import Order


class StoreUnavailable(Exception):
    """The database did not respond within its time limit, or rejects calls.

    `for_caller` are the words for a caller.
    """

    for_caller = "the database does not answer"


class DuplicateTransaction(Exception):
    """`order` with this transaction hash is already stored."""

    def __init__(self, order: Order) -> None:
        super().__init__(order.order_id)
        self.order = order


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
