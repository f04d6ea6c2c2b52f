"""RPC URLs of wallets: 256 random bits in the path, stored and found by their SHA-256."""

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

from quietswap.rules.clients import ApiKey
from quietswap.rules.errors.clients import RpcTokenNotFound
from quietswap.rules.errors.requests import InvalidParameter
from quietswap.rules.tx.address import Address
from quietswap.rules.wallet_rpc_token import TooManyRpcTokens, UnmatchedPolicy, WalletRpcToken
from quietswap.service.base.clock import Clock
from quietswap.service.clients.credentials import SecretCache, hash_secret

if TYPE_CHECKING:  # it stores the records of this module
    from quietswap.service.storage.wallet_rpc_tokens import WalletRpcTokenStore


MOST_TOKENS = 1000
"""Live tokens of one client."""
MOST_WEB_TOKENS = 20
"""Live tokens of one session of the web page."""


def new_wallet_rpc_token(
    key: ApiKey, name: str, wallets: Sequence[Address], unmatched: UnmatchedPolicy, now_ms: int
) -> tuple[WalletRpcToken, str]:
    """Return a token of `key` and its secret; the secret is shown once and never stored."""
    token = WalletRpcToken(
        id=f"rpc_{secrets.token_hex(8)}",
        client_id=key.client_id,
        name=name,
        wallets=frozenset(wallets),
        unmatched=unmatched,
        created_at_ms=now_ms,
        revoked_at_ms=None,
        key_id=key.id,
    )
    return token, f"qr_{secrets.token_hex(32)}"


def rpc_url(base_url: str, secret: str) -> str:
    return f"{base_url}/rpc/{secret}"


class WalletRpcTokens:
    """Find the token of a secret; create, list and revoke those of the calling key's client.

    `base_url` is the address of the service as wallets reach it, without a path.
    """

    def __init__(self, tokens: "WalletRpcTokenStore", clock: Clock, base_url: str) -> None:
        self._tokens = tokens
        self._clock = clock
        self._base_url = base_url
        self._live = SecretCache(self._find, clock)

    async def find(self, secret: str) -> WalletRpcToken | None:
        """Return the live token of a secret, else None. Raises StoreUnavailable.

        A revoked token stops working within a second.
        """
        return await self._live.get(secret)

    async def _find(self, digest: bytes) -> WalletRpcToken | None:
        token = await self._tokens.find(digest)
        return token if token is not None and token.is_live(self._clock.now_ms()) else None

    async def create(
        self, key: ApiKey, name: str, wallets: Sequence[Address], unmatched: UnmatchedPolicy
    ) -> tuple[WalletRpcToken, str]:
        """Store a new token and return it with its URL, which contains the secret.

        A token of a key in the overlap of its rotation belongs to the successor.

        A session of the web page has few tokens, and none for transactions that match no quote.

        Raises InvalidParameter if the client has too many, and StoreUnavailable.
        """
        if key.is_web_session and unmatched != "refuse":
            reason = "RPC URLs of the web page send only what this service offered"
            raise InvalidParameter(parameter="unmatched", provided=unmatched, reason=reason)
        most = MOST_WEB_TOKENS if key.is_web_session else MOST_TOKENS
        token, secret = new_wallet_rpc_token(key, name, wallets, unmatched, self._clock.now_ms())
        try:
            token = await self._tokens.add(token, hash_secret(secret), most=most)
        except TooManyRpcTokens:
            reason = f"this client has {most} RPC URLs; revoke one first"
            raise InvalidParameter(
                parameter="wallets", provided="one more RPC URL", reason=reason, maximum=most
            ) from None
        return token, rpc_url(self._base_url, secret)

    async def list(self, key: ApiKey) -> Sequence[WalletRpcToken]:
        """Return the client's tokens, oldest first, without their secrets."""
        return await self._tokens.list(key.client_id)

    async def revoke(self, key: ApiKey, token_id: str) -> int:
        """Revoke a token and return the time in Unix ms. Raises RpcTokenNotFound."""
        now = self._clock.now_ms()
        if not await self._tokens.revoke(token_id, now, key.client_id):
            raise RpcTokenNotFound
        return now
