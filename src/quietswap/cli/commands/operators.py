"""`quietswap operators`: who may open the operator view, each with a secret shown once."""

from typing import Any

import click

from quietswap.cli.options.client import client_name
from quietswap.cli.options.operator import OperatorContext, members, operator_command, secret_option
from quietswap.cli.options.times import time_text
from quietswap.rules.operator.operators import NameTaken, Operator
from quietswap.service.base.clock import SystemClock
from quietswap.service.clients.credentials import hash_secret, new_operator
from quietswap.service.storage.factory import Storage


@click.group()
def operators() -> None:
    """Create, list and revoke operators: who may open /operator in a browser.

    An operator sees the orders of all clients, pauses sources and revokes API keys, but cannot
    trade: no API key is shown there. Who may run these commands may read the whole database.
    """


@operator_command(operators)
@click.argument("name", callback=client_name)
@secret_option("qo", "secret")
def create(context: OperatorContext, name: str, typed_secret: str | None) -> None:
    """Create an operator with this NAME and show the secret. It cannot be shown again.

    The audit log records actions under this name.
    """
    operator, secret = new_operator(name, SystemClock().now_ms())
    secret = typed_secret or secret
    digest = hash_secret(secret)
    audit = context.audit("operator_created", operator=operator.id, name=name)

    async def add(storage: Storage) -> None:
        if await storage.operators.live(digest) is not None:
            raise click.ClickException("an operator has this secret already")
        try:
            await storage.operators.add(operator, digest, audit)
        except NameTaken as error:
            raise click.ClickException(f"a live operator has the name {name} already") from error

    context.change("operator_created", add, creates=True, operator=operator.id, name=name)
    context.result(
        {**_row(operator), "secret": secret},
        f"{secret}\n",
        f"Operator {operator.id} ({name}). Log in with this secret at /operator. Keep it now: it is"
        " stored only as a hash.",
    )


@operator_command(operators, "list", prints="a JSON array")
def list_operators(context: OperatorContext) -> None:
    """List all operators, oldest first, without their secrets. Times are UTC."""
    all_operators = context.run(lambda storage: storage.operators.list())
    rows = [
        (
            one.id,
            one.state,
            one.name,
            time_text(one.created_at_ms),
            time_text(one.last_login_at_ms, "never"),
        )
        for one in all_operators
    ]
    header = ("operator", "state", "name", "created", "last login")
    none = f"No operators yet in {context.url}: quietswap operators create NAME"
    context.listing([_row(one) for one in all_operators], header, rows, none)


@operator_command(operators)
@click.argument("operator")
def revoke(context: OperatorContext, operator: str) -> None:
    """Revoke OPERATOR (its id or name). Its open sessions end at once."""
    now = SystemClock().now_ms()

    async def work(storage: Storage) -> str:
        live = [one for one in await storage.operators.list() if one.revoked_at_ms is None]
        operator_id = next((one.id for one in live if operator in (one.id, one.name)), None)
        audit = context.audit("operator_revoked", operator=operator_id)
        if operator_id is None or not await storage.operators.revoke(operator_id, now, audit):
            raise click.ClickException(
                f"there is no live operator {operator}: see quietswap operators list"
            )
        return operator_id

    revoked = context.change("operator_revoked", work, operator=operator[:100])
    context.result({"id": revoked, "revokedAt": now}, f"Operator {revoked} is revoked.")


def _row(operator: Operator) -> dict[str, Any]:
    names = ("id", "name", "created_at_ms", "revoked_at_ms", "last_login_at_ms")
    return members(operator, *names)
