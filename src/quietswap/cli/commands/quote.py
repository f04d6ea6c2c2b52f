"""`quietswap quote`: the best verified route. Nothing is signed."""

import click

from quietswap.cli.context import CommandContext
from quietswap.cli.options.connection import slippage_option, with_context
from quietswap.cli.options.signing import own_wallet, wallet_option


@click.command()
@click.argument("amount")
@click.argument("sell")
@click.argument("buy")
@slippage_option
@wallet_option
@with_context
def quote(
    *,
    context: CommandContext,
    amount: str,
    sell: str,
    buy: str,
    slippage_bps: int,
    wallet: str | None,
) -> None:
    """Ask for the best verified route for AMOUNT of token SELL into token BUY.

    AMOUNT is a number, all, or a share such as 50% of the balance at --rpc-url. Tokens are WETH,
    USDC, USDT, DAI, WBTC, addresses, or symbols of the service's token list: quietswap quote 1 WETH
    USDC
    """
    from quietswap.cli.options.trade import token_pair, units_of
    from quietswap.cli.output.quote import loss_notice, summary
    from quietswap.client.flows.quote_checks import SwapRequest
    from quietswap.client.flows.quoting import judge_quote

    owner = own_wallet(wallet)
    with context.client() as client:
        selling, buying = token_pair(sell, buy, client, context, signs=False)
        units = units_of(amount, selling, client, context, owner)
        request = SwapRequest(selling.address, buying.address, units, owner, slippage_bps)
        found = client.quote(request)
    context.result(found)
    if not context.as_json:
        context.screen.print(summary(found, selling, buying))
        if (notice := loss_notice(judge_quote(found, slippage_bps))) is not None:
            context.screen.print(notice)
