"""Operators: a secret of 256 random bits opens a session of bounded length in a browser."""

import hashlib
import hmac
import secrets

from quietswap.rules.operator.operators import (
    Operator,
    OperatorSession,
)
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.clients.credentials import hash_secret
from quietswap.service.storage.operators import OperatorStore


class OperatorSessions:
    """Begin, find and end sessions; `lasts_s` is the length of a session in seconds."""

    def __init__(self, operators: OperatorStore, clock: Clock, *, lasts_s: int) -> None:
        self._operators = operators
        self._clock = clock
        self.lasts_s = lasts_s

    async def log_in(self, secret: str) -> tuple[Operator, str] | None:
        """Return the operator and the secret of a new session; None for a wrong secret.

        A wrong secret takes the same steps as one that is revoked or malformed. Raises
        StoreUnavailable.
        """
        operator = await self._operators.live(hash_secret(secret))
        if operator is None:
            observe.operator_refused()
            return None
        session, now = f"qt_{secrets.token_hex(32)}", self._clock.now_ms()
        ends = now + self.lasts_s * 1000
        if not await self._operators.begin_session(operator.id, hash_secret(session), now, ends):
            observe.operator_refused()  # revoked between the two statements
            return None
        observe.operator_logged_in(operator.id)
        return operator, session

    async def find(self, session: str) -> OperatorSession | None:
        """Return the live session with this secret. Raises StoreUnavailable."""
        return await self._operators.session(hash_secret(session), self._clock.now_ms())

    async def log_out(self, session: str) -> None:
        """End a session. Raises StoreUnavailable."""
        await self._operators.end_session(hash_secret(session))


def form_token(session: str) -> str:
    """Return the token that each form of a session holds against forged requests.

    It is derived from the session's secret, which no page contains: who reads a page cannot use
    the session.
    """
    return hmac.new(session.encode(), b"operator form", hashlib.sha256).hexdigest()
