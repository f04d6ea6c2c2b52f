"""`quietswap wrap` and `quietswap unwrap`: ETH into WETH and back, one to one."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from quietswap.cli.connection import Link, linked
from quietswap.cli.signing_options import Hand, signing_options

if TYPE_CHECKING:
    from quietswap.client.wrap_resources import WrapOperation


def _options(function: Callable[..., None]) -> Callable[..., None]:
    function = click.option("--yes", is_flag=True, help="Do not ask before signing.")(function)
    function = click.option(
        "--replace",
        is_flag=True,
        help="With --yes: sign even while an order of yours is open, which this may cancel.",
    )(function)
    return click.option(
        "--nonce",
        type=click.IntRange(min=0),
        help="The wallet's next nonce, where no --rpc-url says it.",
    )(function)


@click.command()
@click.argument("amount")
@_options
@signing_options
@linked
def wrap(
    *, link: Link, hand: Hand, amount: str, nonce: int | None, yes: bool, replace: bool
) -> None:
    """Turn AMOUNT ETH into WETH, one to one: quietswap wrap 0.5

    Asks, signs on this machine, submits privately and waits for the receipt. Exit code 0 means
    confirmed, or submitted where no --rpc-url can say more.
    """
    _convert("wrap", link, hand, amount, nonce=nonce, yes=yes, replace=replace)


@click.command()
@click.argument("amount")
@_options
@signing_options
@linked
def unwrap(
    *, link: Link, hand: Hand, amount: str, nonce: int | None, yes: bool, replace: bool
) -> None:
    """Turn AMOUNT WETH into ETH, one to one: quietswap unwrap 0.5

    Asks, signs on this machine, submits privately and waits for the receipt. Exit code 0 means
    confirmed, or submitted where no --rpc-url can say more.
    """
    _convert("unwrap", link, hand, amount, nonce=nonce, yes=yes, replace=replace)


def _convert(
    operation: "WrapOperation",
    link: Link,
    hand: Hand,
    amount: str,
    *,
    nonce: int | None,
    yes: bool,
    replace: bool,
) -> None:
    from quietswap.cli.tokens import parse_ether
    from quietswap.cli.wrap_run import WrapRun
    from quietswap.client import Polling, WrapRequest

    if link.rpc_url is None and nonce is None:
        raise click.UsageError("the nonce is yours to set: give --rpc-url or --nonce")
    ether = parse_ether(amount, raw=link.raw)
    with link.client(Polling(node_interval_s=1.0)) as client:
        request = WrapRequest(operation, ether, hand.wallet, nonce)
        WrapRun(link, client, hand, request, yes=yes, may_replace=replace)()
