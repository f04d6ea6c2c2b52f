"""Ports of the storage of owners: clients, their API keys, limits and usage."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from quietswap.domain.client_limits import ClientLimits, DayUsage, KeyScope
from quietswap.domain.party import is_visitor


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An issued key; the secret itself is never stored, only its hash. Times in Unix ms."""

    id: str
    name: str
    created_at_ms: int
    revoked_at_ms: int | None
    client_id: str
    """The owner of what this key creates."""
    scope: KeyScope = KeyScope.TRADE
    expires_at_ms: int | None = None
    last_used_at_ms: int | None = None
    """To about a minute."""
    is_client_disabled: bool = False
    limits: ClientLimits | None = None
    """Of the client; None without any limit."""
    replaced_by: str | None = None
    """Id of the key that it was rotated to."""

    @property
    def is_web_session(self) -> bool:
        """Return whether it belongs to an anonymous visitor of the web page."""
        return is_visitor(self.id)


@dataclass(frozen=True, slots=True)
class Client:
    """The owner of orders and quotes; it has any number of keys. Times in Unix ms."""

    id: str
    name: str
    created_at_ms: int
    disabled_at_ms: int | None = None

    @property
    def is_web_session(self) -> bool:
        """Return whether it is an anonymous visitor of the web page."""
        return is_visitor(self.id)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One action of an administrator. Details are names and ids, never secrets."""

    id: str
    at_ms: int
    actor: Mapping[str, str]
    event: str
    details: Mapping[str, Any]


class ClientStore(Protocol):
    """Clients, the owners of everything that keys create."""

    async def add(self, client: Client, audit: AuditEntry | None = None) -> None:
        """Store a new client, with the log entry of this in the same transaction."""

    async def find(self, id_or_name: str) -> Sequence[Client]:
        """Return the client with this id, else all clients with this name, oldest first."""

    async def list(self) -> Sequence[Client]:
        """Return all clients except sessions of the web page, oldest first."""

    async def switch(
        self, client_id: str, disabled_at_ms: int | None, audit: AuditEntry | None = None
    ) -> bool:
        """Disable a client, or enable it (None); False when that is its state already."""

    async def limits(self, client_id: str) -> ClientLimits:
        """Return the limits of a client."""

    async def change_limits(
        self,
        client_id: str,
        change: Callable[[ClientLimits], ClientLimits],
        audit: Callable[[ClientLimits, ClientLimits], AuditEntry] | None = None,
    ) -> ClientLimits:
        """Replace the limits of a client by what `change` makes of them, and return these.

        Parallel changes wait for each other, so none is lost. `audit` makes the log entry of the
        limits before and after; without a change nothing is stored. They count within a second.
        What `change` raises is raised unchanged, and nothing is stored.
        """


class UsageStore(Protocol):
    """What clients used. Quotes and orders are counted when they are stored."""

    async def day(self, client_id: str, day: int) -> DayUsage:
        """Return what a client used on a UTC day."""

    async def open_orders(self, client_id: str) -> int:
        """Return the number of swaps and wraps of a client that are in no final status."""


class KeyStore(Protocol):
    """API keys by SHA-256 of their secret."""

    async def find(self, secret_hash: bytes) -> ApiKey | None:
        """Return the key, revoked or not; None when unknown."""

    async def add(
        self,
        key: ApiKey,
        secret_hash: bytes,
        client: Client | None = None,
        audit: AuditEntry | None = None,
    ) -> None:
        """Store a new key, together with its new `client` or for a client that is stored."""

    async def list(self) -> Sequence[ApiKey]:
        """Return all keys except those of sessions of the web page, oldest first."""

    async def revoke(self, key_id: str, at_ms: int, audit: AuditEntry | None = None) -> bool:
        """Revoke; False when there is no such live key."""

    async def used(self, at_ms: Mapping[str, int]) -> None:
        """Store the last use of keys, by id; an earlier time than the stored one is ignored."""
