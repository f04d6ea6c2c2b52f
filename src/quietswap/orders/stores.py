"""Ports of the storage: clients, keys, issued quotes, orders, leader locks and rate windows."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from quietswap.chain.address import Address
from quietswap.chain.fees import OwnNonces
from quietswap.orders.order import (
    Order,
    OrderEvent,
    OrderKind,
    OrderPage,
    OrderStatus,
    OrderView,
)
from quietswap.orders.statistics import ExportFilter, ExportRow, Tally
from quietswap.quoting.quote import IssuedQuote, QuoteKind, Trade


class StoreUnavailable(Exception):
    """The database did not respond within its time limit, or rejects calls."""


class QuoteStore(Protocol):
    """Issued quotes."""

    async def save(self, quote: IssuedQuote) -> None:
        """Store and count a quote, before it is returned to the client.

        Raises the errors of the client's limits, and stores nothing then. A cancel is not limited.
        """

    async def by_fingerprint(
        self, client_id: str, wallet: Address, kind: QuoteKind, fingerprint: str
    ) -> Sequence[IssuedQuote]:
        """Return issued quotes whose transaction matches, newest first."""

    async def nearest(
        self, client_id: str, wallet: Address, kind: QuoteKind, limit: int
    ) -> Sequence[IssuedQuote]:
        """Return the latest issued quotes of this client and wallet, newest first."""

    async def by_id(self, client_id: str, quote_id: str) -> IssuedQuote | None:
        """Return one quote of this client."""

    async def since(
        self,
        client_id: str,
        wallet: Address,
        kind: QuoteKind,
        issued_from_ms: int,
        *,
        target: str,
        data: bytes | None = None,
    ) -> Sequence[IssuedQuote]:
        """Return quotes issued at or after then that call `target`, newest first.

        With `data`, only quotes with this calldata.
        """

    async def purge(self, issued_before_ms: int, limit: int) -> int:
        """Delete up to `limit` quotes issued before then; return the number."""


class DuplicateTransaction(Exception):
    """`order` with this transaction hash is already stored."""

    def __init__(self, order: Order) -> None:
        super().__init__(order.order_id)
        self.order = order


class OrderStore(Protocol):
    """Orders and their events. Each method is one database transaction."""

    async def add(self, order: Order, event: OrderEvent, spends: Sequence[str] = ()) -> None:
        """Commit and count a new order. Raises DuplicateTransaction.

        The order's quote, and the quotes of `spends`, are spent at its nonce from then on. Raises
        ValidationError (QUOTE_USED) if one is spent at another nonce, and the errors of the
        client's limits; it stores nothing then. A cancel is not limited.
        """

    async def update(self, order: Order, event: OrderEvent | None) -> bool:
        """Write `order` with the next version. Return False if the stored version differs.

        Raises OpenOrderLimitExceeded if it would be pending again after a final status.
        """

    async def claim(self, orders: Sequence[Order], head: int) -> Mapping[str, bytes]:
        """Record a resend of these orders at block `head`; return their signed bytes by id.

        An order with another stored version, or without bytes, is not changed and not returned.
        """

    async def raws(self, order_ids: Sequence[str]) -> Mapping[str, bytes]:
        """Return the signed bytes of these orders by id; orders without bytes are omitted."""

    async def record(self, client_id: str, order_id: str) -> OrderView | None:
        """Return an order of this client only."""

    async def find(self, order_id: str) -> Order | None:
        """Return any order (operator's view)."""

    async def by_hash(self, tx_hash: str) -> Order | None:
        """Return any order by transaction hash."""

    async def page(
        self, client_id: str, wallet: Address, status: OrderStatus | None, limit: int, offset: int
    ) -> OrderPage:
        """Return swap orders, newest first (ties by order id), and the total, from one snapshot."""

    async def page_of_kind(
        self,
        client_id: str,
        wallet: Address,
        kind: OrderKind | None,
        status: OrderStatus | None,
        *,
        limit: int,
        offset: int,
    ) -> OrderPage:
        """Return orders of another kind than swaps, or of any kind (None), and their total.

        The newest come first (ties by order id).
        """

    async def watched(self) -> Sequence[Order]:
        """Return every order that the tracker still tracks."""

    async def arrivals(self, failed_since_ms: int = 0) -> Sequence[tuple[str, int]]:
        """Return (order id, version) of every tracked order that is pending, submitted or failed.

        The API writes only these states, so the result contains each order that is new to the
        tracker. Failed orders are included only if they expire after `failed_since_ms`.
        """

    async def live_nonces(self, wallet: Address) -> Sequence[int]:
        """Return nonces of this wallet's non-terminal orders of all clients, ascending.

        They must not be shown to a client, because they include orders of others.
        """

    async def own_nonces(self, client_id: str, wallet: Address) -> OwnNonces:
        """Return the nonces of this client's orders of a wallet that may still be mined."""

    async def live_at(self, wallet: Address, nonce: int) -> Sequence[Order]:
        """Return this wallet's non-terminal orders with this nonce, bytes included."""

    async def contenders(self, client_id: str, wallet: Address, nonce: int) -> Sequence[Order]:
        """Return the client's orders with this nonce that may be mined, bytes included.

        These are open orders, and expired or refused ones that are still tracked.
        """

    async def same_trade(
        self, client_id: str, wallet: Address, trade: Trade, created_from_ms: int
    ) -> Sequence[Order]:
        """Return the client's swaps of exactly these amounts since then, bytes included."""

    async def events(self, order_id: str) -> Sequence[OrderEvent]:
        """Return the events of an order, oldest first."""


class SignedBytesStore(Protocol):
    """Retention of the signed bytes of orders."""

    async def drop_raw(self, finalised_before_ms: int, limit: int) -> int:
        """Delete the bytes of up to `limit` orders final before then; return the number."""


class HistoryStore(Protocol):
    """Retention of orders."""

    async def delete_over(self, created_before_ms: int, limit: int) -> int:
        """Delete up to `limit` final orders of each kind created before then; return the number."""


class ExportStore(Protocol):
    """All orders of a range, page by page."""

    def pages(self, wanted: ExportFilter) -> AsyncGenerator[Sequence[ExportRow]]:
        """Yield orders, oldest first; without a client, by kind. Raises StoreUnavailable."""


class StatisticsStore(Protocol):
    """Counted results of orders."""

    async def tallies(self, client_id: str, since_ms: int, limit: int) -> Sequence[Tally]:
        """Count the newest `limit` swaps and wraps of a client created since then."""


class LeaderLock(Protocol):
    """A lock held by one process, used for leader election."""

    @property
    def is_held(self) -> bool:
        """Return whether the last `hold` succeeded. No I/O."""

    @property
    def is_elsewhere(self) -> bool:
        """Return whether another process held it at the last attempt, as far as could be asked."""

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
