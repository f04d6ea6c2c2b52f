"""`quietswap quote` and `quietswap price`: figures of a swap. Nothing is signed."""

import click

from quietswap.cli.context import CommandContext
from quietswap.cli.options.connection import (
    pair_arguments,
    pair_with_receive,
    slippage_option,
    typed_options,
    with_context,
)
from quietswap.cli.options.signing import own_wallet, wallet_option


@click.command()
@pair_with_receive
@slippage_option
@wallet_option
@with_context
def quote(
    *, context: CommandContext, amount: str | None, sell: str, buy: str, receive: str | None,
    slippage_bps: int, wallet: str | None,
) -> None:  # fmt: skip
    """Ask for the best verified route for AMOUNT of token SELL into token BUY.

    AMOUNT is a number, all, or a share such as 50% of the balance at --rpc-url. Tokens are WETH,
    USDC, USDT, DAI, WBTC, addresses, or symbols of the service's token list: quietswap quote 1 WETH
    USDC

    ETH is quoted as its WETH, with the command that signs all steps: quietswap quote 1 ETH USDC

    What to sell so that at least an amount arrives: quietswap quote WETH --receive 1000 USDC
    """
    from quietswap.cli.options.trade import amounts_of, token_of, token_pair
    from quietswap.cli.output.quote import (
        facts,
        in_one,
        missing_ether,
        steps,
        usual_wait,
        whole_quote,
    )
    from quietswap.cli.output.tokens import ETHER
    from quietswap.client.flows.quote_checks import SwapRequest
    from quietswap.client.flows.quoting import judge_quote

    owner = own_wallet(wallet)
    with context.client() as client:
        selling, buying = token_pair(sell, buy, client, context, signs=False, amount=amount)
        amounts = amounts_of(
            (amount, receive, None, None), (selling, buying), client, context, owner
        )
        request = SwapRequest(
            token_of(selling), token_of(buying), wallet=owner, slippage_bps=slippage_bps,
            batch=True, **amounts,
        ).in_weth  # fmt: skip
        swap_quote = client.quote(request)
        if not context.result(swap_quote):
            return
        ether = client.wrap_info(owner).balances.eth.wei if selling == ETHER else None
        loss = judge_quote(swap_quote, slippage_bps)
        context.screen.print(whole_quote(swap_quote, selling, buying, loss))
        if (wait := usual_wait(client)) is not None:
            context.screen.print(facts(("in a block", wait)))
        if (at_once := in_one(swap_quote, request.batch_conversion)) is not None:
            context.screen.print(at_once)
        if ETHER in (selling, buying):
            if ether is not None and ether < swap_quote.sell_amount:
                context.screen.print(missing_ether(ether, selling))
            context.screen.print(steps(swap_quote, selling))
            sold = selling.number(swap_quote.sell_amount).replace(",", "")
            floor = () if receive is None else ("--at-least", receive)
            typed = typed_options("slippage-bps", "wallet", "raw")
            context.again("swap", sold, selling.word, buying.word, *floor, *typed)


@click.command()
@pair_arguments
@with_context
def price(*, context: CommandContext, amount: str, sell: str, buy: str) -> None:
    """Show what AMOUNT of token SELL is worth in token BUY, as the sources promise it.

    Nothing is verified, so the figure cannot be traded: quietswap price 1 WETH USDC. ETH has the
    price of its WETH.
    """
    from quietswap.cli.options.trade import token_of, token_pair
    from quietswap.cli.output.balances import price_table
    from quietswap.cli.output.quote import loss_notice
    from quietswap.cli.output.tokens import parse_amount
    from quietswap.client.flows.quoting import judge_quote

    with context.client() as client:
        selling, buying = token_pair(
            sell, buy, client, context, signs=False, by_node=False, amount=amount
        )
        units = parse_amount(amount, selling)
        indicative = client.price(token_of(selling), token_of(buying), units)
    if context.result(indicative):
        context.screen.print(price_table(indicative, selling, buying))
        if (notice := loss_notice(judge_quote(indicative, 0))) is not None:
            context.screen.print(notice)
