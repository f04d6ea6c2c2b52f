"""The SQL of a client's event numbers, with the numbers that a restore may have lost."""

from quietswap.service.storage.database import Transaction

LOST = 1_000_000
"""More events than one client gets in the hours that a restore may lose."""


EPOCHS = {
    "sqlite": "''",
    "postgresql": "CASE WHEN pg_is_in_recovery() THEN '' ELSE"
    " substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END",
}
"""The current history: https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-TIMELINES."""


def last_sequence(dialect: str) -> str:
    """Return the SQL of a client's last number, the lost ones included."""
    epoch = EPOCHS[dialect]
    skipped = f"CASE WHEN event_counters.epoch IN ('', {epoch}) THEN 0 ELSE {LOST} END"
    return f"event_counters.sequence + {skipped}"


_NEXT = {
    dialect: f"""
INSERT INTO event_counters (client_id, sequence, epoch) VALUES (?, 1, {epoch})
ON CONFLICT (client_id) DO UPDATE
SET sequence = {last_sequence(dialect)} + 1, epoch = excluded.epoch
RETURNING sequence
"""  # noqa: S608
    for dialect, epoch in EPOCHS.items()
}


async def next_sequence(transaction: Transaction, client_id: str) -> int:
    """Return the number of a new event. Its row is locked until the commit: ask for it last."""
    [(sequence,)] = await transaction.fetch(_NEXT[transaction.dialect], client_id)
    return int(sequence)
