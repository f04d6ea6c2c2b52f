"""Tokens of the wallet RPC endpoint."""

from collections.abc import Sequence
from dataclasses import replace

from quietswap.rules.clients import AuditEntry
from quietswap.rules.tx.address import Address
from quietswap.rules.wallet_rpc_token import TooManyRpcTokens, WalletRpcToken
from quietswap.service.storage.clients import lock_client
from quietswap.service.storage.database import Row, Store, Transaction, append_audit

_SELECT = (
    "SELECT t.id, t.client_id, t.name, t.wallets, t.unmatched, t.created_at_ms, "
    "COALESCE(t.revoked_at_ms, k.revoked_at_ms, c.disabled_at_ms), t.key_id, k.expires_at_ms "
    "FROM wallet_rpc_tokens t LEFT JOIN api_keys k ON k.id = t.key_id "
    "LEFT JOIN clients c ON c.id = t.client_id "
)
"""A token ends with its API key, and with its client."""
_LOCK = (
    "UPDATE api_keys SET name = name WHERE id = ? AND revoked_at_ms IS NULL RETURNING replaced_by"
)
"""The lock makes a rotation wait for the new token, or the token for the rotation."""
_LIVE = "SELECT COUNT(*) FROM wallet_rpc_tokens WHERE client_id = ? AND revoked_at_ms IS NULL"


class WalletRpcTokenStore(Store):
    """Tokens by SHA-256 of their secret. Every method raises StoreUnavailable."""

    async def find(self, secret_hash: bytes) -> WalletRpcToken | None:
        """Return the token, revoked or not; None when unknown."""
        rows = await self._database.fetch(_SELECT + "WHERE t.secret_hash = ?", secret_hash)
        return _token(rows[0]) if rows else None

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

        async def body(transaction: Transaction) -> WalletRpcToken:
            if most is not None:
                await lock_client(transaction, token.client_id)
                [live] = await transaction.fetch(_LIVE, token.client_id)
                if live[0] >= most:
                    raise TooManyRpcTokens
            key_id = await _last_key(transaction, token.key_id)
            await transaction.fetch(
                "INSERT INTO wallet_rpc_tokens (id, client_id, key_id, name, wallets, unmatched, "
                "secret_hash, created_at_ms, revoked_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                token.id,
                token.client_id,
                key_id,
                token.name,
                " ".join(sorted(token.wallets)),
                token.unmatched,
                secret_hash,
                token.created_at_ms,
                token.revoked_at_ms,
            )
            await append_audit(transaction, audit)
            return replace(token, key_id=key_id)

        return await self._database.transact(body)

    async def list(self, client_id: str | None = None) -> Sequence[WalletRpcToken]:
        """Return the tokens of one client, or all, oldest first."""
        where, of = ("", ()) if client_id is None else ("WHERE t.client_id = ? ", (client_id,))
        rows = await self._database.fetch(f"{_SELECT}{where}ORDER BY t.created_at_ms, t.id", *of)
        return [_token(row) for row in rows]

    async def revoke(
        self,
        token_id: str,
        at_ms: int,
        client_id: str | None = None,
        audit: AuditEntry | None = None,
    ) -> bool:
        """Revoke; False when there is no such live token (of this client, if one is given)."""
        return await self._change_audited(
            audit,
            "UPDATE wallet_rpc_tokens SET revoked_at_ms = ? WHERE id = ? "
            "AND revoked_at_ms IS NULL AND client_id = COALESCE(?, client_id) RETURNING id",
            *(at_ms, token_id, client_id),
        )


async def _last_key(transaction: Transaction, key_id: str) -> str:
    """Return the last live successor of a key, itself if there is none; lock it."""
    successor: str | None = key_id
    while successor is not None and (rows := await transaction.fetch(_LOCK, successor)):
        key_id, successor = successor, rows[0][0]
    return key_id


def _token(row: Row) -> WalletRpcToken:
    token_id, client_id, name, wallets, *rest = row
    return WalletRpcToken(
        token_id, client_id, name, frozenset(map(Address, wallets.split())), *rest
    )
