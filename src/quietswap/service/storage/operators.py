"""Operators and their sessions. A session is read at each request: a revocation counts at once."""

from collections.abc import Sequence

from quietswap.rules.clients import AuditEntry
from quietswap.rules.operator.operators import NameTaken, Operator, OperatorSession
from quietswap.service.storage.database import Store, Transaction, append_audit

_COLUMNS = "o.id, o.name, o.created_at_ms, o.revoked_at_ms, o.last_login_at_ms"
_SELECT = f"SELECT {_COLUMNS} FROM operators o "  # noqa: S608  only the constant above
_INSERT = """
INSERT INTO operators (id, name, secret_hash, created_at_ms) VALUES (?, ?, ?, ?)
ON CONFLICT (name) WHERE revoked_at_ms IS NULL DO NOTHING RETURNING id
"""
_SESSION = f"""
SELECT s.created_at_ms, s.expires_at_ms, {_COLUMNS}
FROM operator_sessions s JOIN operators o ON o.id = s.operator_id
WHERE s.secret_hash = ? AND s.expires_at_ms > ? AND o.revoked_at_ms IS NULL
"""  # noqa: S608
_LOGIN = """
UPDATE operators SET last_login_at_ms = ? WHERE id = ? AND revoked_at_ms IS NULL RETURNING id
"""
"""It locks the row: a revocation at the same time waits, and then deletes the new session, too."""


class OperatorStore(Store):
    """Operators and sessions by the SHA-256 of their secret. All raise StoreUnavailable."""

    async def add(self, operator: Operator, secret_hash: bytes, audit: AuditEntry) -> None:
        """Store a new operator. Raises NameTaken."""
        values = (operator.id, operator.name, secret_hash, operator.created_at_ms)
        if not await self._change_audited(audit, _INSERT, *values):
            raise NameTaken

    async def list(self) -> Sequence[Operator]:
        """Return all operators, oldest first."""
        rows = await self._database.fetch(_SELECT + "ORDER BY o.created_at_ms, o.id")
        return [Operator(*row) for row in rows]

    async def revoke(self, operator_id: str, at_ms: int, audit: AuditEntry) -> bool:
        """Revoke an operator and end the sessions; False when there is no such live operator."""

        async def body(transaction: Transaction) -> bool:
            rows = await transaction.fetch(
                "UPDATE operators SET revoked_at_ms = ? WHERE id = ? AND revoked_at_ms IS NULL "
                "RETURNING id",
                at_ms,
                operator_id,
            )
            if not rows:
                return False
            await transaction.fetch(
                "DELETE FROM operator_sessions WHERE operator_id = ?", operator_id
            )
            await append_audit(transaction, audit)
            return True

        return await self._database.transact(body)

    async def live(self, secret_hash: bytes) -> Operator | None:
        """Return the operator with this secret; None when unknown or revoked."""
        rows = await self._database.fetch(
            _SELECT + "WHERE o.secret_hash = ? AND o.revoked_at_ms IS NULL", secret_hash
        )
        return Operator(*rows[0]) if rows else None

    async def begin_session(
        self, operator_id: str, session_hash: bytes, at_ms: int, expires_at_ms: int
    ) -> bool:
        """Store a session and delete those that have expired; False for a revoked operator."""

        async def body(transaction: Transaction) -> bool:
            if not await transaction.fetch(_LOGIN, at_ms, operator_id):
                return False
            await transaction.fetch("DELETE FROM operator_sessions WHERE expires_at_ms <= ?", at_ms)
            sql = (
                "INSERT INTO operator_sessions "
                "(secret_hash, operator_id, created_at_ms, expires_at_ms) VALUES (?, ?, ?, ?)"
            )
            await transaction.fetch(sql, session_hash, operator_id, at_ms, expires_at_ms)
            return True

        return await self._database.transact(body)

    async def session(self, session_hash: bytes, now_ms: int) -> OperatorSession | None:
        """Return the session; None if it is unknown or expired, or its operator revoked."""
        rows = await self._database.fetch(_SESSION, session_hash, now_ms)
        if not rows:
            return None
        created, expires, *operator = rows[0]
        return OperatorSession(Operator(*operator), created, expires)

    async def end_session(self, session_hash: bytes) -> None:
        """Delete a session; an unknown one is ignored."""
        await self._database.change(
            "DELETE FROM operator_sessions WHERE secret_hash = ?", session_hash
        )
