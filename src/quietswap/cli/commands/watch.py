"""`quietswap watch`: wait until a price is reached, then show one quote. Nothing is signed."""

import click

from quietswap.cli.context import CommandContext
from quietswap.cli.interrupts import signals_as_ctrl_c
from quietswap.cli.options.connection import (
    FiniteRange,
    slippage_option,
    typed_options,
    with_context,
)
from quietswap.cli.options.signing import own_wallet, wallet_option


@click.command()
@click.argument("sell")
@click.argument("buy")
@click.option("--above", metavar="PRICE", help="Wait for at least so much of BUY for one SELL.")
@click.option("--below", metavar="PRICE", help="Wait for at most so much of BUY for one SELL.")
@click.option(
    "--amount", metavar="AMOUNT",
    help="How much of SELL the price and the quote are for (default: one whole token).",
)  # fmt: skip
@click.option(
    "--poll", type=FiniteRange(0.2, 3600), default=12.0, show_default=True, metavar="SECONDS",
    help="Time between two prices; a block takes 12 s.",
)  # fmt: skip
@slippage_option
@wallet_option
@with_context
def watch(
    *, context: CommandContext, sell: str, buy: str, above: str | None, below: str | None,
    amount: str | None, poll: float, slippage_bps: int, wallet: str | None,
) -> None:  # fmt: skip
    """Wait until one SELL is worth PRICE of BUY, then show a quote: quietswap watch WETH USDC
    --above 3200

    The price is what the service's own source promises for AMOUNT, so that no vendor is asked in
    vain. It is not verified; the quote is. Nothing is signed. The command waits until Ctrl-C, also
    while the service does not answer. ETH has the price of its WETH.
    """
    from quietswap.cli.flows.watch import PriceWatch
    from quietswap.cli.options.trade import token_of, token_pair
    from quietswap.cli.output.order_progress import OrderProgress
    from quietswap.cli.output.quote import steps, whole_quote
    from quietswap.cli.output.tokens import ETHER, parse_amount
    from quietswap.client import PollingPolicy
    from quietswap.client.flows.quote_checks import SwapRequest
    from quietswap.client.flows.quoting import judge_quote

    text, option = (above, "--above") if below is None else (below, "--below")
    if text is None or None not in (above, below):
        raise click.UsageError("give --above PRICE or --below PRICE, one of the two")
    owner, progress = own_wallet(wallet), OrderProgress(context.screen)
    polling = PollingPolicy(interval_s=poll, on_trouble=progress.trouble)
    with context.client(polling) as client, signals_as_ctrl_c():
        selling, buying = token_pair(sell, buy, client, context, signs=False)
        if selling.raw and not selling.decimals and context.rpc_url is None:
            raise click.UsageError(f"how much one {selling.symbol} is, your node says: --rpc-url")
        limit, units = parse_amount(text, buying, option), 10**selling.decimals
        if amount is not None:
            units = parse_amount(amount, selling, "--amount")
        request = SwapRequest(
            token_of(selling), token_of(buying), units, owner, slippage_bps=slippage_bps
        )
        watched = PriceWatch(sell=selling, buy=buying, limit=limit, is_least=below is None)
        try:
            progress.start()
            swap_quote = client.run(watched.quote(request, polling, progress))
        finally:
            progress.stop()
    if context.result(swap_quote):
        loss = judge_quote(swap_quote, slippage_bps)
        context.screen.print(whole_quote(swap_quote, selling, buying, loss, limit))
        if ETHER in (selling, buying):
            context.screen.print(steps(swap_quote, selling))
        context.say("Nothing was signed. To swap, by a fresh quote that delivers as much:")
        least = buying.number(swap_quote.min_buy_amount).replace(",", "")
        limits = *typed_options("slippage-bps", "raw"), "--at-least", least
        sold = selling.number(units).replace(",", "")
        context.again("swap", sold, selling.word, buying.word, *limits)
