"""`quietswap audit`: the log of what administrators did."""

import json
from collections.abc import Mapping
from typing import Any

import click

from quietswap.cli.options.operator import OperatorContext, members, operator_command
from quietswap.cli.options.times import iso_text, since_option, time_text
from quietswap.rules.clients import AuditEntry


@click.group()
def audit() -> None:
    """Show what administrators changed: clients, keys, limits, migrations."""


@operator_command(audit, "list", prints="a JSON array")
@since_option
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=1_000, show_default=True, metavar="N",
    help="At most the latest N.",
)  # fmt: skip
def list_entries(context: OperatorContext, since: int | None, limit: int) -> None:
    """List actions that changed something, oldest first. Times are UTC.

    The database refuses to change or delete an entry. Refused and failed commands are in the audit
    file of the settings (observe.audit_file).
    """
    entries = context.run(lambda storage: storage.audit.list(since or 0, limit + 1))
    if len(entries) > limit:
        entries = entries[-limit:]
        click.echo(f"the latest {limit}; there are more: --limit", err=True)
    rows = [
        (time_text(one.at_ms), _who(one), one.event, json.dumps(_readable(one.details)))
        for one in entries
    ]
    header = ("time", "who", "action", "details")
    none = f"No such entry in {context.url}."
    context.listing([_row(one) for one in entries], header, rows, none)


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
    copied = {"actor": dict(entry.actor), "details": dict(entry.details)}
    return members(entry, "id", "at_ms", "actor", "event", "details") | copied
