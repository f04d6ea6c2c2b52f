"""`quietswap operators`: who may open the operator view, each with a secret shown once."""

import json
import re
import sys
from pathlib import Path

import click

from quietswap.cli.options.audit_log import audit_entry, recorded_in_audit_log
from quietswap.cli.options.client import client_name
from quietswap.cli.options.settings import settings_option, storage_url, with_storage
from quietswap.cli.options.times import time_text
from quietswap.clients.credentials import hash_secret, new_operator
from quietswap.clock import SystemClock
from quietswap.operator.operators import NameTaken, Operator
from quietswap.storage.factory import Storage

_SECRET = re.compile(r"qo_[0-9a-f]{64}")


@click.group()
def operators() -> None:
    """Create, list and revoke operators: who may open /operator in a browser.

    An operator sees the orders of all clients, pauses sources and revokes API keys, but cannot
    trade: no API key is shown there. Who may run these commands may read the whole database.
    """


@operators.command()
@settings_option
@click.argument("name", callback=client_name)
@click.option(
    "--secret-stdin",
    is_flag=True,
    help="Read the secret from standard input: qo_ and 64 hexadecimal digits of 256 random bits.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def create(settings_path: Path | None, name: str, secret_stdin: bool, as_json: bool) -> None:
    """Create an operator with this NAME and show the secret. It cannot be shown again.

    The audit log records actions under this name.
    """
    operator, secret = new_operator(name, SystemClock().now_ms())
    if secret_stdin:
        secret = _typed_secret()
    digest = hash_secret(secret)
    audit = audit_entry("operator_created", operator=operator.id, name=name)

    async def add(storage: Storage) -> None:
        if await storage.operators.live(digest) is not None:
            raise click.ClickException("an operator has this secret already")
        try:
            await storage.operators.add(operator, digest, audit)
        except NameTaken as error:
            raise click.ClickException(f"a live operator has the name {name} already") from error

    with recorded_in_audit_log(settings_path, "operator_created", operator=operator.id, name=name):
        with_storage(settings_path, add, creates=True)
    if as_json:
        click.echo(json.dumps({**_row(operator), "secret": secret}))
        return
    click.echo(f"{secret}\n")
    click.echo(
        f"Operator {operator.id} ({name}). Log in with this secret at /operator. Keep it now: it is"
        " stored only as a hash.",
        err=True,
    )


def _typed_secret() -> str:
    """Return the secret on standard input. Raises click.UsageError, which never shows the input."""
    secret = sys.stdin.read(256).strip()
    if not _SECRET.fullmatch(secret):
        raise click.UsageError(
            "--secret-stdin: a secret is qo_ and 64 lower-case hexadecimal digits; make one with: "
            'echo "qo_$(openssl rand -hex 32)"'
        )
    return secret


@operators.command("list")
@settings_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_operators(settings_path: Path | None, as_json: bool) -> None:
    """List all operators, oldest first, without their secrets. Times are UTC."""
    found = with_storage(settings_path, lambda storage: storage.operators.list())
    if as_json:
        click.echo(json.dumps([_row(operator) for operator in found]))
    elif found:
        from quietswap.cli.output.tables import print_table

        header = ("operator", "state", "name", "created", "last login")
        rows = [
            (
                one.id,
                "live" if one.revoked_at_ms is None else "revoked",
                one.name,
                time_text(one.created_at_ms),
                time_text(one.last_login_at_ms, "never"),
            )
            for one in found
        ]
        print_table(header, rows)
    else:
        where = storage_url(settings_path)
        click.echo(f"No operators yet in {where}: quietswap operators create NAME", err=True)


@operators.command()
@settings_option
@click.argument("operator")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def revoke(settings_path: Path | None, operator: str, as_json: bool) -> None:
    """Revoke OPERATOR (its id or name). Its open sessions end at once."""
    now = SystemClock().now_ms()

    async def work(storage: Storage) -> str:
        live = [one for one in await storage.operators.list() if one.revoked_at_ms is None]
        found = next((one.id for one in live if operator in (one.id, one.name)), None)
        audit = audit_entry("operator_revoked", operator=found)
        if found is None or not await storage.operators.revoke(found, now, audit):
            raise click.ClickException(
                f"there is no live operator {operator}: see quietswap operators list"
            )
        return found

    with recorded_in_audit_log(settings_path, "operator_revoked", operator=operator[:100]):
        revoked = with_storage(settings_path, work)
    if as_json:
        click.echo(json.dumps({"id": revoked, "revokedAt": now}))
        return
    click.echo(f"Operator {revoked} is revoked.")


def _row(operator: Operator) -> dict[str, object]:
    return {
        "id": operator.id,
        "name": operator.name,
        "createdAt": operator.created_at_ms,
        "revokedAt": operator.revoked_at_ms,
        "lastLoginAt": operator.last_login_at_ms,
    }
