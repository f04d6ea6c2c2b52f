"""`quietswap price`: an indicative price. No wallet is needed and nothing is stored."""

import click

from quietswap.cli.context import CommandContext
from quietswap.cli.options.connection import with_context


@click.command()
@click.argument("amount")
@click.argument("sell")
@click.argument("buy")
@with_context
def price(*, context: CommandContext, amount: str, sell: str, buy: str) -> None:
    """Show what AMOUNT of token SELL is worth in token BUY, as the sources promise it.

    Nothing is verified, so the figure cannot be traded: quietswap price 1 WETH USDC
    """
    from quietswap.cli.options.trade import token_address
    from quietswap.cli.output.orders import price_table
    from quietswap.cli.output.quote import loss_notice
    from quietswap.cli.output.tokens import find_by_service, parse_amount
    from quietswap.client.flows.quoting import judge_quote

    with context.client() as client:
        selling, buying = (
            find_by_service(token_address(text, client, context, signs=False), client, context)
            for text in (sell, buy)
        )
        units = parse_amount(amount, selling)
        found = client.price(selling.address, buying.address, units)
    context.result(found)
    if not context.as_json:
        context.screen.print(price_table(found, selling, buying))
        if (notice := loss_notice(judge_quote(found, 0))) is not None:
            context.screen.print(notice)
