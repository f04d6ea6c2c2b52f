"""Ports of the wallet RPC endpoint: its tokens, and reads from the operator's node."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from quietswap.domain.address import Address
from quietswap.domain.party import is_visitor
from quietswap.ports.clients import AuditEntry

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
        """Return whether the wallet page created it for an anonymous visitor."""
        return is_visitor(self.client_id)

    def is_live(self, now_ms: int) -> bool:
        """Return whether the token works at this time."""
        is_over = self.expires_at_ms is not None and now_ms >= self.expires_at_ms
        return self.revoked_at_ms is None and not is_over


class TooManyRpcTokens(Exception):
    """The client has as many live tokens as it may have; nothing was stored."""


class WalletRpcTokenStore(Protocol):
    """Tokens by SHA-256 of their secret. Every method raises StoreUnavailable."""

    async def find(self, secret_hash: bytes) -> WalletRpcToken | None:
        """Return the token, revoked or not; None when unknown."""

    async def add(
        self,
        token: WalletRpcToken,
        secret_hash: bytes,
        audit: AuditEntry | None = None,
        *,
        most: int | None = None,
    ) -> WalletRpcToken:
        """Store a new token, with the entry of the audit log in the same transaction.

        A token of a key that was rotated belongs to its successor, unless that is revoked. Returns
        the token as it is stored. Raises TooManyRpcTokens if its client has `most` live tokens.
        """

    async def list(self, client_id: str | None = None) -> Sequence[WalletRpcToken]:
        """Return the tokens of one client, or all, oldest first."""

    async def revoke(
        self,
        token_id: str,
        at_ms: int,
        client_id: str | None = None,
        audit: AuditEntry | None = None,
    ) -> bool:
        """Revoke; False when there is no such live token (of this client, if one is given)."""


@dataclass(frozen=True, slots=True)
class NodeCall:
    """One read of a wallet: a method of the allow list, and parameters that were checked."""

    method: str
    params: Sequence[object] = ()


@dataclass(frozen=True, slots=True)
class NodeFailure:
    """The node's error to one call; `message` is masked and limited, `data` is hex or None."""

    code: int
    message: str
    data: str | None = None


NodeAnswer = bytes | NodeFailure
"""The JSON of a result as the node sent it, or its error."""


class WalletNode(Protocol):
    """The operator's nodes, as wallets read them."""

    async def read(self, calls: Sequence[NodeCall], client_id: str) -> Sequence[NodeAnswer]:
        """Return one answer per call, in order. Raises NodeUnavailable.

        All come from one node, unless so many of them take long that they are split.
        """
