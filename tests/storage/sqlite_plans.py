"""How SQLite will execute a statement (https://www.sqlite.org/opcode.html)."""

from collections.abc import Sequence

from quietswap.storage.database import Value
from quietswap.storage.factory import Storage


async def plan_of(storage: Storage, sql: str, args: Sequence[Value]) -> str:
    """Return the query plan, a line for each step."""
    rows = await storage.database.fetch(f"EXPLAIN QUERY PLAN {sql}", *args)
    return "\n".join(row[3] for row in rows)


async def reads_index_alone(storage: Storage, sql: str, args: Sequence[Value], index: str) -> bool:
    """Return whether `sql` uses `index` and takes no value from the rows that it leads to.

    The plan does not say so: SQLite calls no index with a computed column a covering one.
    """
    [[root]] = await storage.database.fetch(
        "SELECT rootpage FROM sqlite_master WHERE name = ?", index
    )
    steps = await storage.database.fetch(f"EXPLAIN {sql}", *args)
    program = [tuple(step)[1:5] for step in steps]
    indexes = {first for code, first, page, _ in program if code == "OpenRead" and page == root}
    tables = {
        table for code, first, _, table in program if code == "DeferredSeek" and first in indexes
    }
    sought = {first for code, first, _, _ in program if code == "FinishSeek"}
    read = {first for code, first, _, _ in program if code == "Column"}
    return bool(indexes) and not (indexes & sought or tables & read)
