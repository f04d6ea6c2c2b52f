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

    Tokens are WETH, USDC, USDT, DAI, WBTC or addresses: quietswap quote 1 WETH USDC
    """
    from quietswap.cli.output.quote import summary
    from quietswap.cli.output.tokens import find, parse_amount
    from quietswap.client import SwapRequest

    owner = own_wallet(wallet)
    with context.client() as client:
        has_node = context.rpc_url is not None
        selling, buying = (find(t, client, has_node=has_node, raw=context.raw) for t in (sell, buy))
        units = parse_amount(amount, selling, raw=context.raw)
        request = SwapRequest(selling.address, buying.address, units, owner, slippage_bps)
        found = client.quote(request)
    context.result(found)
    if not context.as_json:
        context.screen.print(summary(found, selling, buying, raw=context.raw))
