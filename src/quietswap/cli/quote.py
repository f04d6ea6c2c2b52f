"""`quietswap quote`: what the market would give, without signing anything."""

import click

from quietswap.cli.connection import Link, linked, slippage_option
from quietswap.cli.signing_options import own_wallet, wallet_option


@click.command()
@click.argument("amount")
@click.argument("sell")
@click.argument("buy")
@slippage_option
@wallet_option
@linked
def quote(
    *, link: Link, amount: str, sell: str, buy: str, slippage_bps: int, wallet: str | None
) -> None:
    """Ask for the best verified route for AMOUNT of token SELL into token BUY.

    Tokens are WETH, USDC, USDT, DAI, WBTC or addresses: quietswap quote 1 WETH USDC
    """
    from quietswap.cli.render_quote import summary
    from quietswap.cli.tokens import find, parse_amount
    from quietswap.client import SwapRequest

    owner = own_wallet(wallet)
    with link.client() as client:
        has_node = link.rpc_url is not None
        selling, buying = (find(t, client, has_node=has_node, raw=link.raw) for t in (sell, buy))
        units = parse_amount(amount, selling, raw=link.raw)
        request = SwapRequest(selling.address, buying.address, units, owner, slippage_bps)
        found = client.quote(request)
    link.result(found)
    if not link.as_json:
        link.screen.print(summary(found, selling, buying, raw=link.raw))
