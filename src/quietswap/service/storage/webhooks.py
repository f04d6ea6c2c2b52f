"""Webhooks and their deliveries."""

from collections.abc import Sequence
from dataclasses import asdict, astuple
from operator import attrgetter
from typing import Any

from quietswap.rules.webhooks.webhook import Delivery, DisabledReason, Webhook, WebhookState
from quietswap.service.storage.clients import HAS_LIVE_KEY
from quietswap.service.storage.database import Row, Store, Transaction, Value

_COLUMNS = """webhook_id, client_id, url, events, description, secret, cursor, created_at_ms, state,
disabled_reason, failures, next_try_ms"""
_NAMES = [name.strip() for name in _COLUMNS.split(",")]
_DELIVERY = """delivery_id, webhook_id, event_id, event_type, sequence, attempt, at_ms, ms, status,
error"""

# The SQL below is composed only of constants of this module.
_INSERT = f"""
INSERT INTO webhooks ({_COLUMNS}, slot) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (client_id, slot) DO NOTHING RETURNING webhook_id
"""  # noqa: S608
_LIST = f"""
SELECT {_COLUMNS} FROM webhooks WHERE client_id = ? ORDER BY created_at_ms, webhook_id
"""  # noqa: S608
_FIND = f"SELECT {_COLUMNS} FROM webhooks WHERE client_id = ? AND webhook_id = ?"  # noqa: S608
DUE = f"""
SELECT {", ".join(f"w.{name}" for name in _NAMES)}
FROM webhooks w JOIN event_counters c ON c.client_id = w.client_id
WHERE w.state = 'active' AND w.next_try_ms <= ? AND w.cursor < c.sequence
AND {HAS_LIVE_KEY.format(client_id="w.client_id")}
ORDER BY w.next_try_ms, w.webhook_id LIMIT ?
"""  # noqa: S608
_UNCHANGED = "webhook_id = ? AND cursor = ? AND failures = ? AND state = 'active'"
_MOVE = f"""
UPDATE webhooks SET cursor = ?, failures = ?, next_try_ms = ?, state = ?, disabled_reason = ?
WHERE {_UNCHANGED} RETURNING webhook_id
"""  # noqa: S608
_INSERT_DELIVERY = f"""
INSERT INTO webhook_deliveries ({_DELIVERY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""  # noqa: S608
_DELIVERIES = f"""
SELECT {_DELIVERY} FROM webhook_deliveries WHERE webhook_id = ?
ORDER BY delivery_id DESC LIMIT ? OFFSET ?
"""  # noqa: S608
_ENABLE = """
UPDATE webhooks SET state = 'active', disabled_reason = NULL, failures = 0, next_try_ms = 0
WHERE webhook_id = ? AND state = 'disabled' RETURNING webhook_id
"""
_PURGE = """
DELETE FROM webhook_deliveries WHERE delivery_id IN (
    SELECT delivery_id FROM webhook_deliveries WHERE at_ms < ? ORDER BY at_ms LIMIT ?
) RETURNING delivery_id
"""


class WebhookStore(Store):
    """Webhooks and their deliveries. Every method raises StoreUnavailable."""

    async def add(self, webhook: Webhook, most: int) -> bool:
        """Take the lowest free slot of the client. Return False if there is none below `most`."""
        in_use = "SELECT slot FROM webhooks WHERE client_id = ?"
        return await self._fill_slot(in_use, webhook.client_id, most, _INSERT, _values(webhook))

    async def list(self, client_id: str) -> Sequence[Webhook]:
        """Return the webhooks of a client, oldest first."""
        return [_webhook(row) for row in await self._database.fetch(_LIST, client_id)]

    async def find(self, client_id: str, webhook_id: str) -> Webhook | None:
        """Return a webhook of this client only."""
        rows = await self._database.fetch(_FIND, client_id, webhook_id)
        return _webhook(rows[0]) if rows else None

    async def delete(self, client_id: str, webhook_id: str) -> bool:
        """Delete a webhook and its deliveries. Return False if this client has no such webhook."""

        async def body(transaction: Transaction) -> bool:
            sql = "DELETE FROM webhooks WHERE client_id = ? AND webhook_id = ? RETURNING webhook_id"
            gone = await transaction.fetch(sql, client_id, webhook_id)
            if gone:
                await transaction.fetch(
                    "DELETE FROM webhook_deliveries WHERE webhook_id = ?", webhook_id
                )
            return bool(gone)

        return await self._database.transact(body)

    async def due(self, now_ms: int, limit: int) -> Sequence[Webhook]:
        """Return active webhooks with events after their cursor whose time has come.

        Those of a disabled client, and of a client without a live key, are not returned.
        """
        rows = await self._database.scan(DUE, now_ms, now_ms, limit)
        return [_webhook(row) for row in rows]

    async def advance(self, webhook: Webhook, cursor: int) -> bool:
        """Set the cursor behind events that are not delivered; False if the webhook has changed."""
        return await self._set("cursor", cursor, webhook)

    async def postpone(self, webhook: Webhook, next_try_ms: int) -> bool:
        """Set the time of the next try without a failure; False if the webhook has changed."""
        return await self._set("next_try_ms", next_try_ms, webhook)

    async def _set(self, column: str, value: int, webhook: Webhook) -> bool:
        sql = f"UPDATE webhooks SET {column} = ? WHERE {_UNCHANGED} RETURNING webhook_id"  # noqa: S608
        return bool(await self._database.change(sql, value, *_state(webhook)))

    async def record(self, before: Webhook, after: Webhook, delivery: Delivery) -> bool:
        """Store a delivery and the webhook's new state in one transaction.

        Return False, and store nothing, if the stored webhook differs from `before`: another
        process delivered meanwhile, or the webhook was deleted.
        """

        async def body(transaction: Transaction) -> bool:
            reason = after.disabled_reason and after.disabled_reason.value
            place = (after.cursor, after.failures, after.next_try_ms, after.state.value, reason)
            moved = await transaction.fetch(_MOVE, *place, *_state(before))
            if moved:
                await transaction.fetch(_INSERT_DELIVERY, *astuple(delivery))
            return bool(moved)

        return await self._database.transact(body)

    async def record_test(self, delivery: Delivery, *, enable: bool) -> bool:
        """Store the delivery of a test; `enable` makes a disabled webhook active.

        Return whether the webhook was disabled until now.
        """

        async def body(transaction: Transaction) -> bool:
            rows = await transaction.fetch(_ENABLE, delivery.webhook_id) if enable else ()
            stored = await transaction.fetch(
                "SELECT 1 FROM webhooks WHERE webhook_id = ?", delivery.webhook_id
            )
            if stored:  # not deleted during the test
                await transaction.fetch(_INSERT_DELIVERY, *astuple(delivery))
            return bool(rows)

        return await self._database.transact(body)

    async def deliveries(self, webhook_id: str, limit: int, offset: int) -> Sequence[Delivery]:
        """Return deliveries, newest first."""
        rows = await self._database.fetch(_DELIVERIES, webhook_id, limit, offset)
        return [Delivery(*row) for row in rows]

    async def purge_deliveries(self, before_ms: int, limit: int) -> int:
        """Delete up to `limit` deliveries older than that; return the number."""
        return len(await self._database.change(_PURGE, before_ms, limit))

    async def secrets(self) -> Sequence[tuple[str, bytes]]:
        """Return (webhook id, encrypted secret) of all webhooks."""
        rows = await self._database.fetch("SELECT webhook_id, secret FROM webhooks")
        return [(row[0], bytes(row[1])) for row in rows]

    async def replace_secret(self, webhook_id: str, old: bytes, new: bytes) -> None:
        """Store another encryption of a secret, unless it has changed."""
        sql = "UPDATE webhooks SET secret = ? WHERE webhook_id = ? AND secret = ?"
        await self._database.change(sql, new, webhook_id, old)


_state = attrgetter("webhook_id", "cursor", "failures")
"""The arguments of `_UNCHANGED`."""


def _values(webhook: Webhook) -> tuple[Value, ...]:
    stored = asdict(webhook) | {"events": ",".join(webhook.events), "state": webhook.state.value}
    stored["disabled_reason"] = webhook.disabled_reason and webhook.disabled_reason.value
    return tuple(stored[name] for name in _NAMES)


def _webhook(row: Row) -> Webhook:
    stored: dict[str, Any] = dict(zip(_NAMES, row, strict=True))
    events, reason = stored["events"], stored["disabled_reason"]
    stored["events"] = tuple(events.split(",")) if events else ()
    stored["secret"] = bytes(stored["secret"])
    stored["state"] = WebhookState(stored["state"])
    stored["disabled_reason"] = None if reason is None else DisabledReason(reason)
    return Webhook(**stored)
