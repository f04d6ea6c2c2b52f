"""RPC URLs of wallets, as they are stored."""

from dataclasses import dataclass
from typing import Literal

from quietswap.rules.clients import is_visitor
from quietswap.rules.tx.address import Address

UnmatchedPolicy = Literal["refuse", "private"]
"""What happens to a transaction that belongs to no live quote: an error, or the private relay."""


@dataclass(frozen=True, slots=True)
class WalletRpcToken:
    """A wallet's RPC URL without its secret, which is stored only as a hash. Times in Unix ms.

    The token acts for `client_id` and for `wallets` only. `key_id` is the API key that it belongs
    to: `revoked_at_ms` is set once the token or that key is revoked, or the client is disabled.
    """

    id: str
    client_id: str
    name: str
    wallets: frozenset[Address]
    unmatched: UnmatchedPolicy
    created_at_ms: int
    revoked_at_ms: int | None
    key_id: str
    expires_at_ms: int | None = None
    """When the API key expires, and the token with it."""

    @property
    def is_of_web_session(self) -> bool:
        return is_visitor(self.client_id)

    def is_live(self, now_ms: int) -> bool:
        is_over = self.expires_at_ms is not None and now_ms >= self.expires_at_ms
        return self.revoked_at_ms is None and not is_over


class TooManyRpcTokens(Exception):
    """The client has as many live tokens as it may have; nothing was stored."""
