"""`quietswap webhooks`: URLs that receive the events of your orders."""

import click

from quietswap.cli.context import CommandContext
from quietswap.cli.options.connection import with_context
from quietswap.cli.output.exit_codes import REFUSED
from quietswap.orders.order import OrderChange


@click.group()
def webhooks() -> None:
    """Have the events of your orders sent to a URL of yours, signed."""


@webhooks.command()
@click.argument("receiver", metavar="URL")
@click.option(
    "--event",
    "events",
    multiple=True,
    type=click.Choice([change.value for change in OrderChange]),
    metavar="TYPE",
    help="Only this event type, such as order.confirmed; may be given several times.",
)
@click.option("--description", metavar="TEXT", help="Your own note.")
@with_context
def create(
    *, context: CommandContext, receiver: str, events: tuple[str, ...], description: str | None
) -> None:
    """Send events to URL, and show the secret that verifies them. It is shown only once."""
    from rich.text import Text

    with context.client() as client:
        made = client.create_webhook(receiver, events=events or None, description=description)
    context.result(made)
    if context.as_json:
        return
    click.echo(f"{made.secret}\n")
    click.echo(f"Webhook {made.id}. Keep the secret now: it cannot be shown again.", err=True)
    context.say(Text("To send a test event:"))
    context.again("webhooks", "test", made.id)


@webhooks.command("list")
@with_context
def list_webhooks(*, context: CommandContext) -> None:
    """List your webhooks, oldest first."""
    from quietswap.cli.output.orders import webhook_lines

    with context.client() as client:
        found = client.webhooks()
    context.result(found)
    if not context.as_json:
        for line in webhook_lines(found):
            context.say(line)


@webhooks.command()
@click.argument("webhook_id")
@with_context
def delete(*, context: CommandContext, webhook_id: str) -> None:
    """Delete the webhook WEBHOOK_ID and the record of its deliveries."""
    with context.client() as client:
        gone = client.delete_webhook(webhook_id)
    context.result(gone)
    if not context.as_json:
        click.echo(f"Webhook {gone.id} is deleted.")


@webhooks.command()
@click.argument("webhook_id")
@with_context
def test(*, context: CommandContext, webhook_id: str) -> None:
    """Send a test event to WEBHOOK_ID now. A success enables a disabled webhook.

    Exit code 1 means that the receiver did not confirm it.
    """
    from quietswap.cli.output.orders import delivery_line

    with context.client() as client:
        delivery = client.test_webhook(webhook_id)
    context.result(delivery)
    if not context.as_json:
        context.say(delivery_line(delivery))
    if not delivery.delivered:
        raise click.exceptions.Exit(REFUSED)


@webhooks.command()
@click.argument("webhook_id")
@click.option(
    "--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="Tries to list."
)
@click.option(
    "--offset", type=click.IntRange(min=0), default=0, show_default=True, help="Tries to skip."
)
@with_context
def deliveries(*, context: CommandContext, webhook_id: str, limit: int, offset: int) -> None:
    """List the tries to deliver events to WEBHOOK_ID, newest first."""
    from rich.text import Text

    from quietswap.cli.output.orders import delivery_line

    with context.client() as client:
        found = client.webhook_deliveries(webhook_id, limit=limit, offset=offset)
    context.result(found)
    if context.as_json:
        return
    for delivery in found.deliveries:
        context.say(delivery_line(delivery))
    if not found.deliveries:
        context.say(Text("No deliveries."))
