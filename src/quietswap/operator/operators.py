"""Ports of the operator view: who may open it, and their sessions in a browser."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from quietswap.clients.client import ApiKey, AuditEntry, Client, ClientLimits, DayUsage
from quietswap.operator.figures import Figure, FigureRow, Measure
from quietswap.orders.order import Order, OrderEvent


@dataclass(frozen=True, slots=True)
class Operator:
    """A person who may open the operator view. Times in Unix ms."""

    id: str
    name: str
    created_at_ms: int
    revoked_at_ms: int | None = None
    last_login_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class OperatorSession:
    """A session in a browser. It ends at `expires_at_ms` (Unix ms), or when it is deleted."""

    operator: Operator
    created_at_ms: int
    expires_at_ms: int


class NameTaken(Exception):
    """A live operator has this name."""


class OperatorStore(Protocol):
    """Operators and sessions by the SHA-256 of their secret. All raise StoreUnavailable."""

    async def add(self, operator: Operator, secret_hash: bytes, audit: AuditEntry) -> None:
        """Store a new operator. Raises NameTaken."""

    async def list(self) -> Sequence[Operator]:
        """Return all operators, oldest first."""

    async def revoke(self, operator_id: str, at_ms: int, audit: AuditEntry) -> bool:
        """Revoke an operator and end the sessions; False when there is no such live operator."""

    async def live(self, secret_hash: bytes) -> Operator | None:
        """Return the operator with this secret; None when unknown or revoked."""

    async def begin_session(
        self, operator_id: str, session_hash: bytes, at_ms: int, expires_at_ms: int
    ) -> bool:
        """Store a session and delete those that have expired; False for a revoked operator."""

    async def session(self, session_hash: bytes, now_ms: int) -> OperatorSession | None:
        """Return the session; None if it is unknown or expired, or its operator revoked."""

    async def end_session(self, session_hash: bytes) -> None:
        """Delete a session; an unknown one is ignored."""


# Ports of the operator view: figures of all processes, search over all orders, paused sources.


@dataclass(frozen=True, slots=True)
class ProcessReport:
    """What one process said of itself at `seen_at_ms`; `changes` grows with what it counted.

    `state` has JSON values: the circuits of its sources and relays, its nodes, its tracker.
    """

    process_id: str
    seen_at_ms: int
    changes: int
    state: Mapping[str, Any]


class FigureStore(Protocol):
    """Figures and reports of all processes. All methods raise StoreUnavailable."""

    async def record(self, figures: Mapping[Figure, int], report: ProcessReport) -> None:
        """Add figures to the bucket of the report's time, and replace the process's last report."""

    async def read(
        self, measures: Sequence[Measure], since_ms: int, step_ms: int
    ) -> Sequence[FigureRow]:
        """Return the sums of these measures since then, in slots of `step_ms`, oldest first."""

    async def reports(self, since_ms: int) -> Sequence[ProcessReport]:
        """Return the last report of each process that was seen since then, by process id."""

    async def changes(self, since_ms: int) -> Mapping[str, int]:
        """Return `changes` by process id of the processes that were seen since then."""

    async def purge(self, before_ms: int) -> None:
        """Delete figures and reports that are older."""


@dataclass(frozen=True, slots=True)
class PausedSource:
    """A source that gets no requests. `reason` is text of an operator that clients see."""

    name: str
    paused_at_ms: int
    paused_by: str
    reason: str


class PausedSourceStore(Protocol):
    """Sources that an operator paused. All methods raise StoreUnavailable."""

    async def list(self) -> Sequence[PausedSource]:
        """Return them by name."""

    async def pause(self, source: PausedSource, audit: AuditEntry) -> bool:
        """Pause a source; False if it is paused already."""

    async def resume(self, name: str, audit: AuditEntry) -> bool:
        """End a pause; False if there is none."""


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


class OperatorSearch(Protocol):
    """Reads over all clients, each bounded by an index and a limit. All raise StoreUnavailable."""

    async def newest(self, after: OrderPlace | None, limit: int) -> Sequence[Order]:
        """Return orders of all clients, newest first, without their signed bytes."""

    async def of_wallet(self, wallet: str, after: OrderPlace | None, limit: int) -> Sequence[Order]:
        """Return the orders of a wallet in any case of letters, newest first."""

    async def of_client(
        self, client_id: str, after: OrderPlace | None, limit: int
    ) -> Sequence[Order]:
        """Return the orders of a client, newest first."""

    async def open_orders(self) -> Mapping[str, tuple[int, int]]:
        """Return by open status the number of orders and the oldest creation in Unix ms."""

    async def key(self, key_id: str) -> ApiKey | None:
        """Return the key with this id."""

    async def clients(
        self, after: tuple[int, str] | None, limit: int, day: int
    ) -> Sequence[ClientRow]:
        """Return clients, the newest first, behind this creation time and id.

        Sessions of the wallet page are not among them.
        """

    async def client(self, client: Client, day: int) -> ClientRow:
        """Return one client with its keys, limits and usage."""


@dataclass(frozen=True, slots=True)
class FoundOrders:
    """A page of orders. `what` says how the search text was read; empty if nothing was found."""

    what: str
    orders: Sequence[Order]
    following: OrderPlace | None = None
    """Where the next page begins; None on the last one."""


@dataclass(frozen=True, slots=True)
class OrderDiary:
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
        """Return whether nothing is wrong."""
        return all(check == "ok" for check in self.checks.values())


# A file that records the actions of operators, for copies outside the database.


class AuditUnavailable(Exception):
    """The audit file cannot be written; the message names it and the reason."""


class AuditFile(Protocol):
    """Appends records. Both methods raise AuditUnavailable."""

    def check(self) -> None:
        """Check that a record can be written now."""

    def write(self, event: str, **details: object) -> None:
        """Append one record with time, event, account, host and `details`.

        Details are names and ids, never secrets.
        """
