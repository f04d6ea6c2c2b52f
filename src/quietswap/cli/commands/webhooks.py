"""`quietswap webhooks`: URLs that receive the events of your orders."""

import click

from quietswap.cli.context import CommandContext
from quietswap.cli.options.connection import paging_options, with_context
from quietswap.cli.output.exit_codes import REFUSED
from quietswap.rules.webhooks.webhook import EVENT_TYPES


@click.group()
def webhooks() -> None:
    """Have the events of your orders sent to a URL of yours, signed."""


@webhooks.command()
@click.argument("receiver", metavar="URL")
@click.option(
    "--event", "events", multiple=True, metavar="TYPE",
    type=click.Choice(EVENT_TYPES),
    help="Only this event type, such as order.confirmed; may be given several times.",
)  # fmt: skip
@click.option("--description", metavar="TEXT", help="Your own note.")
@with_context
def create(
    *, context: CommandContext, receiver: str, events: tuple[str, ...], description: str | None
) -> None:
    """Send events to URL, and show the secret that verifies them. It is shown only once."""
    with context.client() as client:
        made = client.create_webhook(receiver, events=events or None, description=description)
    if context.result(made):
        click.echo(f"{made.secret}\n")
        click.echo(f"Webhook {made.id}. Keep the secret now: it cannot be shown again.", err=True)
        context.say("To send a test event:")
        context.again("webhooks", "test", made.id)


@webhooks.command("list")
@with_context
def list_webhooks(*, context: CommandContext) -> None:
    """List your webhooks, oldest first."""
    from quietswap.cli.output.webhooks import webhook_lines

    with context.client() as client:
        own_webhooks = client.webhooks()
    if context.result(own_webhooks):
        for line in webhook_lines(own_webhooks):
            context.say(line)


@webhooks.command()
@click.argument("webhook_id")
@with_context
def delete(*, context: CommandContext, webhook_id: str) -> None:
    """Delete the webhook WEBHOOK_ID and the record of its deliveries."""
    with context.client() as client:
        gone = client.delete_webhook(webhook_id)
    if context.result(gone):
        click.echo(f"Webhook {gone.id} is deleted.")


@webhooks.command()
@click.argument("webhook_id")
@with_context
def test(*, context: CommandContext, webhook_id: str) -> None:
    """Send a test event to WEBHOOK_ID now. A success enables a disabled webhook.

    Exit code 1 means that the receiver did not confirm it.
    """
    from quietswap.cli.output.webhooks import delivery_line

    with context.client() as client:
        delivery = client.test_webhook(webhook_id)
    if context.result(delivery):
        context.say(delivery_line(delivery))
    if not delivery.delivered:
        raise click.exceptions.Exit(REFUSED)


@webhooks.command()
@click.argument("webhook_id")
@paging_options("Tries")
@with_context
def deliveries(*, context: CommandContext, webhook_id: str, limit: int, offset: int) -> None:
    """List the tries to deliver events to WEBHOOK_ID, newest first."""
    from quietswap.cli.output.webhooks import delivery_line

    with context.client() as client:
        page = client.webhook_deliveries(webhook_id, limit=limit, offset=offset)
    if context.result(page):
        for line in map(delivery_line, page.deliveries):
            context.say(line)
        if not page.deliveries:
            context.say("No deliveries.")
