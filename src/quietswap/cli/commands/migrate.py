"""`quietswap migrate`: update the database to this version's schema."""

import asyncio
import json
from pathlib import Path

import click

from quietswap.cli.options.operator import (
    audit_entry,
    read_settings,
    recorded_in_audit_log,
    settings_option,
    storage_errors,
    with_storage,
)
from quietswap.storage.factory import migrate_storage
from quietswap.storage.sqlite_to_postgres import copy_storage


@click.command()
@settings_option
@click.option(
    "--from",
    "source",
    metavar="URL",
    help="Also copy all of sqlite:///FILE into an empty PostgreSQL.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def migrate(settings_path: Path | None, source: str | None, as_json: bool) -> None:
    """Apply the missing migrations. Run it before the first start with PostgreSQL."""
    url = read_settings(settings_path, "storage").storage.url
    copied: dict[str, int] = {}
    audit = recorded_in_audit_log(settings_path, "database_migrated")
    with storage_errors(), audit as record:
        applied = asyncio.run(migrate_storage(url))
        record["applied"] = list(applied)
        if source is not None:
            copied = asyncio.run(copy_storage(source, url))
            record["copied"] = copied
        if applied or source is not None:
            entry = audit_entry("database_migrated", **record)
            with_storage(settings_path, lambda storage: storage.audit.append(entry))
    if as_json:
        click.echo(json.dumps({"applied": list(applied), "copied": copied}))
        return
    for table, rows in copied.items():
        click.echo(f"copied {rows} {'row' if rows == 1 else 'rows'} of {table}")
    if applied or not copied:
        click.echo(f"applied {len(applied)}: {', '.join(applied)}" if applied else "nothing to do")
