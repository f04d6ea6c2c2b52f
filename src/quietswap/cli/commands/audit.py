"""`quietswap audit`: the log of what administrators did."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from quietswap.cli.options.settings import settings_option, storage_url, with_storage
from quietswap.cli.options.times import SINCE, iso_text, time_text
from quietswap.clients.client import AuditEntry

_LIMIT = 1_000


@click.group()
def audit() -> None:
    """Show what administrators changed: clients, keys, limits, migrations."""


@audit.command("list")
@settings_option
@click.option(
    "--since",
    type=SINCE,
    metavar="TIME",
    help="Not older than: 30m, 12h, 7d, or 2026-11-20 (UTC).",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    default=_LIMIT,
    show_default=True,
    metavar="N",
    help="At most the latest N.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_entries(settings_path: Path | None, since: int | None, limit: int, as_json: bool) -> None:
    """List actions that changed something, oldest first. Times are UTC.

    The database refuses to change or delete an entry. Refused and failed commands are in the audit
    file of the settings (observe.audit_file).
    """
    found = with_storage(settings_path, lambda storage: storage.audit.list(since or 0, limit + 1))
    if len(found) > limit:
        found = found[-limit:]
        click.echo(f"the latest {limit}; there are more: --limit", err=True)
    if as_json:
        click.echo(json.dumps([_row(entry) for entry in found]))
    elif found:
        from quietswap.cli.output.tables import print_table

        header = ("time", "who", "action", "details")
        rows = [
            (time_text(one.at_ms), _who(one), one.event, json.dumps(_readable(one.details)))
            for one in found
        ]
        print_table(header, rows)
    else:
        click.echo(f"No such entry in {storage_url(settings_path)}.", err=True)


def _who(entry: AuditEntry) -> str:
    if "operator" in entry.actor:
        return f"operator {entry.actor['operator']}"
    user = f"{entry.actor.get('user', '?')}@{entry.actor.get('host', '?')}"
    sudo = entry.actor.get("sudoUser")
    return f"{user} (sudo by {sudo})" if sudo else user


def _readable(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return details with ISO 8601 in place of Unix ms, whose names end in `At`."""
    return {
        name: iso_text(value) if name.endswith("At") and isinstance(value, int) else value
        for name, value in details.items()
    }


def _row(entry: AuditEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "at": entry.at_ms,
        "actor": dict(entry.actor),
        "event": entry.event,
        "details": dict(entry.details),
    }
