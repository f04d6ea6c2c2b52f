"""Port of the storage of the web page's anonymous sessions."""

from dataclasses import dataclass
from typing import Protocol

from quietswap.ports.clients import ApiKey, Client

SECRET_PREFIX = "qw_"
"""Of a session's secret. A session is no API key for programs, and an API key is no cookie."""


@dataclass(frozen=True, slots=True)
class WebSessionBounds:
    """Most sessions of one client address, and of all together."""

    per_address: int
    total: int


class WebSessionStore(Protocol):
    """Sessions. Each is a client with one key of the same id. All raise StoreUnavailable."""

    async def add(
        self,
        key: ApiKey,
        secret_hash: bytes,
        client: Client,
        address: str,
        bounds: WebSessionBounds,
    ) -> bool:
        """Store a session that began at a client address; False when the bounds are reached.

        Where the address has as many as it may, its session that was used least lately is deleted,
        unless all have orders. The address is stored as a hash. The bounds are exact, also with
        parallel calls.
        """

    async def extend(self, session_id: str, expires_at_ms: int) -> None:
        """Let a session and its RPC URLs end later."""

    async def purge(self, before_ms: int, limit: int) -> int:
        """Delete sessions that ended before a time, at most `limit`; return how many.

        A session with an open order is kept. Orders are never deleted here.
        """
