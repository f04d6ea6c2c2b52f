"""Operators: who may open the operator view, and their sessions in a browser."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quietswap.rules.clients import ApiKey, Client, ClientLimits, DayUsage
from quietswap.rules.orders.order import Order, OrderEvent


@dataclass(frozen=True, slots=True)
class Operator:
    """A person who may open the operator view. Times in Unix ms."""

    id: str
    name: str
    created_at_ms: int
    revoked_at_ms: int | None = None
    last_login_at_ms: int | None = None

    @property
    def state(self) -> str:
        """Return the state of the operator in one word."""
        return "live" if self.revoked_at_ms is None else "revoked"


@dataclass(frozen=True, slots=True)
class OperatorSession:
    """A session in a browser. It ends at `expires_at_ms` (Unix ms), or when it is deleted."""

    operator: Operator
    created_at_ms: int
    expires_at_ms: int


class NameTaken(Exception):
    """A live operator has this name."""


@dataclass(frozen=True, slots=True)
class ProcessReport:
    """What one process said of itself at `seen_at_ms`; `changes` grows with what it counted.

    `state` has JSON values: the circuits of its sources and relays, its nodes, its tracker.
    """

    process_id: str
    seen_at_ms: int
    changes: int
    state: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PausedSource:
    """A source that gets no requests. `reason` is text of an operator that clients see."""

    name: str
    paused_at_ms: int
    paused_by: str
    reason: str


@dataclass(frozen=True, slots=True)
class OrderPlace:
    """Where a page of orders continues: behind this order, by time and then by id."""

    created_at_ms: int
    order_id: str


@dataclass(frozen=True, slots=True)
class ClientRow:
    """A client with its keys, limits and usage of one UTC day."""

    client: Client
    keys: Sequence[ApiKey]
    limits: ClientLimits
    today: DayUsage
    open_orders: int


@dataclass(frozen=True, slots=True)
class FoundOrders:
    """A page of orders. `what` says how the search text was read; empty if nothing was found."""

    what: str
    orders: Sequence[Order]
    following: OrderPlace | None = None
    """Where the next page begins; None on the last one."""


@dataclass(frozen=True, slots=True)
class OrderDetail:
    """An order without its signed bytes, its events, and the name of its client."""

    order: Order
    events: Sequence[OrderEvent]
    client_name: str


@dataclass(frozen=True, slots=True)
class Health:
    """What /readyz says: `ok` or a reason by dependency, and the part in tracking.

    `warnings` are what an operator should know of a part that still works as a whole.
    """

    checks: Mapping[str, str]
    tracker: str
    warnings: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_ready(self) -> bool:
        """Return whether this process can answer requests: it has its database.

        Without a node, a relay or sources, orders, histories and cancels are answered as before. A
        replica that is taken out for them answers nothing.
        """
        return self.checks.get("database", "ok") == "ok"


class AuditUnavailable(Exception):
    """The audit file cannot be written; the message names it and the reason."""
