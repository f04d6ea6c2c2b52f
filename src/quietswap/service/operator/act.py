"""Actions of operators: each is stored together with its entry in the audit log."""

import asyncio
import secrets
from collections.abc import Collection

from quietswap.rules.clients import AuditEntry
from quietswap.rules.operator.operators import (
    AuditUnavailable,
    Operator,
    PausedSource,
)
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.operator.audit_file import AuditFile
from quietswap.service.storage.api_keys import KeyStore
from quietswap.service.storage.paused_sources import PausedSourceStore

LONGEST_REASON = 200


class ActionRefused(Exception):
    """Nothing was changed; the message says why."""


class ActionUnrecorded(Exception):
    """It was done, and the database has its entry, but the audit file could not be written."""


class OperatorActions:
    """Revoke keys, pause and resume sources. `sources` are the names of the configured ones.

    `audit_file` records each action, too, if the settings name one. Nothing is done if it cannot be
    opened, or its disk is full. All methods raise ActionRefused, ActionUnrecorded and
    StoreUnavailable.
    """

    def __init__(
        self,
        keys: KeyStore,
        pauses: PausedSourceStore,
        clock: Clock,
        *,
        sources: Collection[str],
        audit_file: AuditFile,
    ) -> None:
        self._keys = keys
        self._pauses = pauses
        self._clock = clock
        self._sources = sources
        self._file = audit_file

    async def revoke_key(self, operator: Operator, key_id: str) -> None:
        """Revoke an API key. Processes refuse it within a second."""
        entry = self._entry(operator, "key_revoked", key=key_id)
        await self._check_file()
        if not await self._keys.revoke(key_id, entry.at_ms, entry):
            raise ActionRefused("there is no live key with this id: it may be revoked already")
        await self._recorded(operator, entry)

    async def pause_source(self, operator: Operator, name: str, reason: str) -> None:
        """Send no more requests to a source. Clients see the reason in `sources` of a quote."""
        reason = checked_reason(reason)
        if name not in self._sources:
            raise ActionRefused("there is no source with this name")
        entry = self._entry(operator, "source_paused", source=name, pauseReason=reason)
        await self._check_file()
        paused = PausedSource(name, entry.at_ms, operator.name, reason)
        if not await self._pauses.pause(paused, entry):
            raise ActionRefused("this source is paused already")
        await self._recorded(operator, entry)

    async def resume_source(self, operator: Operator, name: str) -> None:
        """Send requests to a source again."""
        entry = self._entry(operator, "source_resumed", source=name)
        await self._check_file()
        if not await self._pauses.resume(name, entry):
            raise ActionRefused("this source is not paused")
        await self._recorded(operator, entry)

    def _entry(self, operator: Operator, event: str, **details: str) -> AuditEntry:
        now = self._clock.now_ms()
        actor = {"operator": operator.name, "operatorId": operator.id}
        return AuditEntry(f"aud_{now:012x}{secrets.token_hex(6)}", now, actor, event, details)

    async def _check_file(self) -> None:
        try:
            await asyncio.to_thread(self._file.check)
        except AuditUnavailable as error:
            raise ActionRefused(f"the audit file cannot be written: {error}") from error

    async def _recorded(self, operator: Operator, entry: AuditEntry) -> None:
        observe.operator_acted(operator.id, entry.event)
        details = {"outcome": "done", **entry.actor, **entry.details}
        try:
            await asyncio.to_thread(lambda: self._file.write(entry.event, **details))
        except AuditUnavailable as error:
            raise ActionUnrecorded(f"the audit file cannot be written: {error}") from error


def checked_reason(text: str) -> str:
    """Return a reason for a pause in one line. Raises ActionRefused."""
    reason = " ".join(text.split())
    if len(reason) > LONGEST_REASON or not reason.isprintable():
        raise ActionRefused(
            f"a reason has at most {LONGEST_REASON} characters, and no invisible ones"
        )
    return reason
