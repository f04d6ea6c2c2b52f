"""Watches: created by clients, ended by the process that leads."""

from collections.abc import Sequence

from quietswap.rules.quotes.request import IndicativePriceRequest
from quietswap.rules.tx.address import Address
from quietswap.rules.watches import Watch
from quietswap.service.storage.clients import HAS_LIVE_KEY
from quietswap.service.storage.database import Row, Store, Transaction
from quietswap.service.storage.event_rows import write_watch_event
from quietswap.service.storage.watch_rows import WATCH_COLUMNS, swap_values, watch_of, watch_values

_COLUMNS = ", ".join(WATCH_COLUMNS)
_SWAP = "sell_token, buy_token, sell_amount"
_LIVE = "state = 'open' AND " + HAS_LIVE_KEY.format(client_id="watches.client_id")

# The SQL below is composed only of constants of this module.
_INSERT = f"""
INSERT INTO watches ({_COLUMNS}, slot) VALUES ({", ".join("?" for _ in WATCH_COLUMNS)}, ?)
ON CONFLICT (client_id, slot) DO NOTHING RETURNING watch_id
"""  # noqa: S608
_PAGE = f"""
SELECT {_COLUMNS} FROM watches WHERE client_id = ?
ORDER BY created_at_ms DESC, watch_id DESC LIMIT ? OFFSET ?
"""  # noqa: S608
_OPEN_SWAPS = f"""
SELECT DISTINCT {_SWAP} FROM watches WHERE ({_SWAP}) > (?, ?, ?) AND {_LIVE}
ORDER BY {_SWAP} LIMIT ?
"""  # noqa: S608
_OPEN_OF = f"""
SELECT {_COLUMNS} FROM watches WHERE ({_SWAP}) = (?, ?, ?) AND {_LIVE}
ORDER BY created_at_ms, watch_id
"""  # noqa: S608
_MEET = f"""
UPDATE watches SET state = 'met', slot = NULL, ended_at_ms = ?, promised = ?
WHERE watch_id = ? AND state = 'open' RETURNING {_COLUMNS}
"""  # noqa: S608
_EXPIRE = """
UPDATE watches SET state = 'expired', slot = NULL, ended_at_ms = expires_at_ms
WHERE state = 'open' AND expires_at_ms <= ? RETURNING watch_id
"""
_PURGE = """
DELETE FROM watches WHERE watch_id IN (
    SELECT watch_id FROM watches WHERE ended_at_ms < ? ORDER BY ended_at_ms LIMIT ?
) RETURNING watch_id
"""


class WatchStore(Store):
    """The watches of all clients. Every method raises StoreUnavailable."""

    async def add(self, watch: Watch, most: int) -> bool:
        """Take the lowest free slot of the client. Return False if there is none below `most`."""
        in_use = "SELECT slot FROM watches WHERE client_id = ? AND state = 'open'"
        return await self._fill_slot(in_use, watch.client_id, most, _INSERT, watch_values(watch))

    async def list(self, client_id: str, limit: int, offset: int) -> Sequence[Watch]:
        """Return watches of a client, newest first."""
        return [_watch(row) for row in await self._database.fetch(_PAGE, client_id, limit, offset)]

    async def delete(self, client_id: str, watch_id: str) -> bool:
        """Delete a watch. Return False if this client has no such watch."""
        sql = "DELETE FROM watches WHERE client_id = ? AND watch_id = ? RETURNING watch_id"
        return bool(await self._database.change(sql, client_id, watch_id))

    async def open_swaps(
        self, after: IndicativePriceRequest | None, now_ms: int, limit: int
    ) -> Sequence[IndicativePriceRequest]:
        """Return what open watches wait for, each swap once, in an order that stays.

        Those of a disabled client, and of a client without a live key, do not count.
        """
        place = ("", "", "") if after is None else swap_values(after)
        rows = await self._database.fetch(_OPEN_SWAPS, *place, now_ms, limit)
        return [
            IndicativePriceRequest(Address(sell), Address(buy), int(sold), only_own=True)
            for sell, buy, sold in rows
        ]

    async def open_of(self, swap: IndicativePriceRequest, now_ms: int) -> Sequence[Watch]:
        """Return the open watches of a swap, oldest first, of clients with a live key."""
        rows = await self._database.fetch(_OPEN_OF, *swap_values(swap), now_ms)
        return [_watch(row) for row in rows]

    async def meet(self, watch_id: str, promised: int, now_ms: int) -> bool:
        """End an open watch, with its event. Return False if it is open no more."""

        async def body(transaction: Transaction) -> bool:
            rows = await transaction.fetch(_MEET, now_ms, str(promised), watch_id)
            for row in rows:
                await write_watch_event(transaction, row)
            return bool(rows)

        return await self._database.transact(body)

    async def expire(self, now_ms: int) -> int:
        """End the open watches whose time is over, without an event; return their number."""
        return len(await self._database.change(_EXPIRE, now_ms))

    async def purge(self, before_ms: int, limit: int) -> int:
        """Delete up to `limit` watches that ended before; return the number."""
        return len(await self._database.change(_PURGE, before_ms, limit))


def _watch(row: Row) -> Watch:
    return watch_of(dict(zip(WATCH_COLUMNS, row, strict=True)))
