"""The SQL of a client's event numbers, with the numbers that a restore may have lost."""

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
