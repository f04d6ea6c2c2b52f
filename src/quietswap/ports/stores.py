"""Storage: keys, issued quotes, orders and rate windows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from quietswap.domain.address import Address
from quietswap.domain.order import Order, OrderEvent, Status
from quietswap.domain.order_record import HistoryPage, OrderRecord
from quietswap.domain.quote import IssuedQuote, QuoteKind


class StoreDown(Exception):
    """The database did not answer within its bound."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An issued key; the secret itself is never stored, only its hash. Times in Unix ms."""

    id: str
    name: str
    created_at_ms: int
    revoked_at_ms: int | None


class KeyStore(Protocol):
    """API keys by SHA-256 of their secret."""

    async def find(self, secret_hash: bytes) -> ApiKey | None:
        """Return the key, revoked or not; None when unknown."""

    async def add(self, key: ApiKey, secret_hash: bytes) -> None:
        """Store a new key."""

    async def list(self) -> Sequence[ApiKey]:
        """Return all keys, oldest first."""

    async def revoke(self, key_id: str, at_ms: int) -> bool:
        """Revoke; False when there is no such live key."""


class QuoteStore(Protocol):
    """Issued quotes."""

    async def save(self, quote: IssuedQuote) -> None:
        """Store before the client sees it."""

    async def by_fingerprint(
        self, key_id: str, wallet: Address, kind: QuoteKind, fingerprint: str
    ) -> Sequence[IssuedQuote]:
        """Return issued quotes whose transaction matches, newest first."""

    async def nearest(
        self, key_id: str, wallet: Address, kind: QuoteKind, limit: int
    ) -> Sequence[IssuedQuote]:
        """Return the latest issued quotes of this key and wallet, newest first."""

    async def by_id(self, key_id: str, quote_id: str) -> IssuedQuote | None:
        """Return one quote of this key."""

    async def purge(self, issued_before_ms: int, limit: int) -> int:
        """Delete up to `limit` quotes issued before; return how many went."""


class DuplicateTransaction(Exception):
    """A row with this transaction hash exists; `order` is it."""

    def __init__(self, order: Order) -> None:
        super().__init__(order.order_id)
        self.order = order


class OrderStore(Protocol):
    """Orders and their diary. Each method is one transaction."""

    async def add(self, order: Order, event: OrderEvent) -> None:
        """Commit a new order. Raises DuplicateTransaction."""

    async def update(self, order: Order, event: OrderEvent | None) -> bool:
        """Write `order` if the stored version is `order.version`, and grow it; else False."""

    async def claim(self, orders: Sequence[Order], head: int) -> Mapping[str, bytes]:
        """Write that these are sent once more at block number `head`; return their bytes by id.

        One whose stored version is not the given one, or without bytes, is left alone, and missing.
        """

    async def record(self, key_id: str, order_id: str) -> OrderRecord | None:
        """Return a swap order of this key only."""

    async def find(self, order_id: str) -> Order | None:
        """Return any order (operator's view)."""

    async def by_hash(self, tx_hash: str) -> Order | None:
        """Return any order by transaction hash."""

    async def page(
        self, key_id: str, wallet: Address, status: Status | None, limit: int, offset: int
    ) -> HistoryPage:
        """Return swap orders newest first (ties by order id) and the total, at one snapshot."""

    async def watched(self) -> Sequence[Order]:
        """Return every order the tracker still follows."""

    async def arrivals(self) -> Sequence[tuple[str, int]]:
        """Return (order id, version) of every watched order that is pending, submitted or failed.

        These are all the states the API writes: what the tracker does not know yet is among them.
        """

    async def live_nonces(self, wallet: Address) -> Sequence[int]:
        """Return nonces of this wallet's non-terminal orders, ascending."""

    async def events(self, order_id: str) -> Sequence[OrderEvent]:
        """Return the diary, oldest first."""


class ByteStore(Protocol):
    """The signed bytes of orders."""

    async def drop_raw(self, finalised_before_ms: int, limit: int) -> int:
        """Delete the bytes of up to `limit` orders final before then; return how many went."""


class Leadership(Protocol):
    """A lead that is taken when it is free and kept by asking again."""

    @property
    def is_held(self) -> bool:
        """Return whether the lead was held when last looked at; free to call."""

    @property
    def term(self) -> int | None:
        """Return how often the lead was taken, while it is held; None while it is not."""

    async def hold(self) -> bool:
        """Take the lead if it is free, make sure of it if it is held; return whether it is held.

        Never raises: without an answer nobody leads. Call it every second or so.
        """

    async def release(self) -> None:
        """Give the lead up, so that another process has it at once."""


@dataclass(frozen=True, slots=True)
class RateWindow:
    """The state after one hit: `reset_ms` is when the window ends, in Unix ms."""

    allowed: bool
    limit: int
    remaining: int
    reset_ms: int


class RateStore(Protocol):
    """Fixed windows shared by everything that counts for one key."""

    async def hit(self, key: str, limit: int, window_s: int) -> RateWindow:
        """Count one request and return the window's state, atomically."""
