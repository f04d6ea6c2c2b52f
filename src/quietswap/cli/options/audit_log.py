"""Audit records of operator commands: in the database, and in the audit file of the settings.

An entry of the database is stored in the transaction of the change. A command does nothing if its
record cannot be written.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from quietswap.cli.options.settings import read_settings
from quietswap.clients.client import AuditEntry
from quietswap.clock import SystemClock
from quietswap.operator.audit_file import AuditFile, actor
from quietswap.operator.operators import AuditUnavailable


@contextmanager
def recorded_in_audit_log(
    path: Path | None, event: str, **details: object
) -> Iterator[dict[str, object]]:
    """Record the outcome of the `with` block, done or failed, in the audit file of the settings.

    The block can add details to the mapping. Raises click.ClickException before the block if the
    audit file cannot be written. What was done and could not be recorded is done nevertheless, and
    its output may be a secret: this is a warning on standard error.
    """
    audit = AuditFile(read_settings(path, "observe").observe.audit_file)
    found: dict[str, object] = {}
    try:
        audit.check()
    except AuditUnavailable as error:
        raise click.ClickException(f"{error}; nothing was done") from error
    try:
        yield found
    except BaseException as error:
        reason = type(error).__name__
        if isinstance(error, click.ClickException):
            reason = error.format_message()
        _write(audit, event, outcome="failed", reason=reason, **details, **found)
        raise
    _write(audit, event, outcome="done", **details, **found)


def _write(audit: AuditFile, event: str, **details: object) -> None:
    try:
        audit.write(event, **details)
    except AuditUnavailable as error:
        text = f"careful: this is not recorded in the audit file: {error} ({details['outcome']})"
        click.echo(text, err=True)


def audit_entry(event: str, **details: object) -> AuditEntry:
    """Return an entry of now by the account that runs the command. Details are no secrets."""
    now = SystemClock().now_ms()
    who = {name: str(value) for name, value in actor().items()}
    return AuditEntry(f"aud_{now:012x}{secrets.token_hex(6)}", now, who, event, details)
