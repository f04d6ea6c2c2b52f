"""`quietswap tokens`: listed tokens, and any token by its address."""

import click

from quietswap.cli.context import CommandContext
from quietswap.cli.options.connection import with_context


@click.command()
@click.argument("search", default="")
@click.option(
    "--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="Tokens per page."
)
@click.option("--offset", type=click.IntRange(0), default=0, help="Tokens to skip.")
@with_context
def tokens(*, context: CommandContext, search: str, limit: int, offset: int) -> None:
    """Show the tokens whose symbol or name contains SEARCH, with warnings.

    With a whole address, a token of no list is read from the chain, and its fee on transfer is
    measured by simulated transfers: quietswap tokens 0x6B17...1d0F
    """
    from quietswap.cli.output.orders import token_table

    with context.client() as client:
        found = client.tokens(search, limit=limit, offset=offset)
    context.result(found)
    if not context.as_json:
        context.screen.print(token_table(found))
