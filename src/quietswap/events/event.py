"""The outbox: the events of each client's orders, in the order of their commits.

The order store writes an event in the transaction that changes the order. Each client has its own
sequence: 1, 2, 3 and so on, without gaps. Events of one client become visible in this order, also
if several processes write. There is no order between clients, so a reader keeps one sequence for
each client: `newest` says which clients have more, `after` returns it.
"""

from dataclasses import dataclass

from quietswap.chain.address import Address
from quietswap.orders.order import OrderChange
from quietswap.orders.stores import OrderView


@dataclass(frozen=True, slots=True, eq=False)
class StoredEvent:
    """One change of one order. `order` is its status record as that change left it.

    `event_id` is unique and never changes. `at_ms` is Unix ms; `depth` is the number of
    confirmations of the block that decided, 0 without one; `finalized` says that it is final.
    """

    event_id: str
    client_id: str
    sequence: int
    type: OrderChange
    at_ms: int
    wallet: Address
    order: OrderView
    depth: int
    finalized: bool


@dataclass(frozen=True, slots=True)
class EventSpan:
    """The sequences of one client: of its last event, and of the oldest one that is not pruned.

    Both hold without any stored event: `oldest` is then `newest` + 1, and `newest` 0 before the
    first one.
    """

    oldest: int
    newest: int

    def is_pruned(self, after: int) -> bool:
        """Return whether events that follow `after` are no longer stored."""
        return after + 1 < self.oldest


@dataclass(frozen=True, slots=True)
class EventFilter:
    """The events of one order, or of one wallet; None admits all."""

    order_id: str | None = None
    wallet: Address | None = None

    def admits(self, event: StoredEvent) -> bool:
        return (self.order_id is None or self.order_id == event.order.order_id) and (
            self.wallet is None or self.wallet == event.wallet
        )


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """The last event that a client has, and the name of the request's field that says so."""

    sequence: int
    parameter: str
