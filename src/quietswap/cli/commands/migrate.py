"""`quietswap migrate`: update the database to this version's schema."""

import asyncio

import click

from quietswap.cli.options.operator import OperatorContext, operator_command, storage_errors
from quietswap.service.storage.factory import migrate_storage
from quietswap.service.storage.sqlite_to_postgres import copy_storage


@operator_command()
@click.option(
    "--from", "source", metavar="URL",
    help="Also copy all of sqlite:///FILE into an empty PostgreSQL.",
)  # fmt: skip
@click.option(
    "--restored", is_flag=True,
    help="The database is a copy without its last commits: use no number of a lost event again.",
)  # fmt: skip
def migrate(context: OperatorContext, source: str | None, restored: bool) -> None:
    """Apply the missing migrations. Run it before the first start with PostgreSQL.

    After the restore of a copy, run it once with --restored, before the service starts: readers of
    events then learn that some are lost. A promoted standby of PostgreSQL is noticed without it.
    """
    url = context.settings("storage").storage.url
    copied: dict[str, int] = {}
    with storage_errors(), context.recorded("database_migrated") as record:
        applied = asyncio.run(migrate_storage(url))
        record["applied"] = list(applied)
        if source is not None:
            copied = asyncio.run(copy_storage(source, url))
            record["copied"] = copied
        if restored:
            record["restored"] = True
            context.run(lambda storage: storage.events.skip_lost())
        if applied or restored or source is not None:
            entry = context.audit("database_migrated", **record)
            context.run(lambda storage: storage.audit.append(entry))
    lines = [
        f"copied {rows} {'row' if rows == 1 else 'rows'} of {table}"
        for table, rows in copied.items()
    ]
    if applied:
        lines.append(f"applied {len(applied)}: {', '.join(applied)}")
    if restored:
        lines.append("numbers of lost events are left out")
    text = "\n".join(lines) or "nothing to do"
    context.result({"applied": list(applied), "copied": copied}, text)
