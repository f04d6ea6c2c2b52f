"""`quietswap tokens` and `quietswap balances`: tokens, and what a wallet has of them."""

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from quietswap.cli.context import CommandContext
from quietswap.cli.options.connection import with_context
from quietswap.cli.options.signing import own_wallet, wallet_option

if TYPE_CHECKING:
    from quietswap.client import QuietswapClient


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
    from quietswap.cli.output.balances import token_table

    with context.client() as client:
        page = client.tokens(search, limit=limit, offset=offset)
    if context.result(page):
        context.screen.print(token_table(page))


@click.command()
@click.argument("tokens", nargs=-1)
@click.option("--allowances", is_flag=True, help="Show what each router may move, too.")
@wallet_option
@with_context
def balances(
    *, context: CommandContext, tokens: tuple[str, ...], allowances: bool, wallet: str | None
) -> None:
    """Show a wallet's ETH and tokens: those known by name, or TOKENS (symbols or addresses).

    With --rpc-url and no TOKENS, your own node tells the balances of tokens except WETH. Otherwise
    the service reads all of them at one block.
    """
    from quietswap.cli.options.trade import token_address
    from quietswap.cli.output.balances import as_json, summary
    from quietswap.cli.output.tokens import KNOWN

    owner = own_wallet(wallet)
    with context.client() as client:
        if context.rpc_url and not tokens and not allowances:
            _by_own_node(context, client, owner)
            return
        addresses = [token_address(text, client, context, signs=False) for text in tokens]
        wallet_balances = client.balances(
            owner, addresses or [token.address for token in KNOWN.values()]
        )
    if context.result(as_json(wallet_balances)):
        context.screen.print(summary(wallet_balances, raw=context.raw, allowances=allowances))


def _by_own_node(context: CommandContext, client: "QuietswapClient", owner: str) -> None:
    from rich.text import Text

    from quietswap.cli.output.quote import facts
    from quietswap.cli.output.tokens import ETHER, KNOWN, WETH
    from quietswap.client import node_calls
    from quietswap.client.flows.approvals import require_mainnet

    service_balances = client.wrap_info(owner).balances
    client.run(require_mainnet())
    amounts = [(ETHER, int(service_balances.eth.wei)), (WETH, int(service_balances.weth.wei))]
    others = [t for t in KNOWN.values() if t is not WETH]
    amounts += [(t, client.node(node_calls.token_balance(t.address, owner))) for t in others]
    by_symbol = {token.symbol: str(amount) for token, amount in amounts}
    if context.result({"wallet": owner, "balances": by_symbol}):
        context.screen.print(Text(owner, "bold"))
        rows = [(t.symbol, replace(t, raw=context.raw).number(amount)) for t, amount in amounts]
        context.screen.print(facts(*rows))
