"""`quietswap swap`: quote, approve, sign, submit, follow, and what was received."""

import click

from quietswap.cli.connection import Link, linked, slippage_option
from quietswap.cli.signing_options import Hand, signing_options


@click.command()
@click.argument("amount")
@click.argument("sell")
@click.argument("buy")
@slippage_option
@click.option(
    "--approve", type=click.Choice(["exact", "max", "never"]), default="exact", show_default=True,
    help="What the router may move when its allowance is short; needs --rpc-url.",
)  # fmt: skip
@click.option(
    "--at-least", metavar="AMOUNT",
    help="Sign nothing that could deliver less of BUY than this.",
)  # fmt: skip
@click.option(
    "--router", "routers", multiple=True, metavar="ADDRESS",
    help="A further contract that may be approved and called, beside the aggregators' own known"
    " here; may be repeated.",
)  # fmt: skip
@click.option("--yes", is_flag=True, help="Do not ask before signing.")
@click.option(
    "--poll", type=click.FloatRange(0.2, 60), default=5.0, show_default=True, metavar="SECONDS",
    help="Time between two looks at the order.",
)  # fmt: skip
@signing_options
@linked
def swap(
    *, link: Link, hand: Hand, amount: str, sell: str, buy: str, slippage_bps: int, approve: str,
    at_least: str | None, routers: tuple[str, ...], yes: bool, poll: float,
) -> None:  # fmt: skip
    """Swap AMOUNT of token SELL into token BUY, privately: quietswap swap 1 WETH USDC

    Tokens are WETH, USDC, USDT, DAI, WBTC or addresses.

    Shows what every source promised and what the simulation said, asks, approves the router where
    needed, signs on this machine, submits and follows the order. Exit code 0 means confirmed.
    """
    from quietswap.cli.swap_run import SwapRun
    from quietswap.cli.tokens import find, parse_amount, router_address
    from quietswap.client import Polling, SwapRequest

    with link.client(Polling(interval_s=poll)) as client:
        has_node = link.rpc_url is not None
        selling, buying = (find(t, client, has_node=has_node, raw=link.raw) for t in (sell, buy))
        request = SwapRequest(
            selling.address,
            buying.address,
            parse_amount(amount, selling, raw=link.raw),
            hand.wallet,
            slippage_bps,
            approve if has_node else "never",  # type: ignore[arg-type]
            None if at_least is None else parse_amount(at_least, buying, raw=link.raw),
            routers=frozenset(map(router_address, routers)),
        )
        SwapRun(link, client, hand, request, (selling, buying), yes=yes)()
