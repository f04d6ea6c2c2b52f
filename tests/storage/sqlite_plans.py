"""How SQLite will execute a statement (https://www.sqlite.org/opcode.html)."""

from collections.abc import Sequence

from quietswap.service.storage.database import Value
from quietswap.service.storage.factory import Storage


async def plan_of(storage: Storage, sql: str, args: Sequence[Value]) -> str:
    """Return the query plan, a line for each step."""
    rows = await storage.database.fetch(f"EXPLAIN QUERY PLAN {sql}", *args)
    return "\n".join(row[3] for row in rows)
