"""Ports of the operator view: who may open it, and their sessions in a browser."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from quietswap.ports.clients import AuditEntry


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
