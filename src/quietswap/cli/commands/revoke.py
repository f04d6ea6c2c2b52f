"""`quietswap revoke`: take allowances of routers back."""

import click

from quietswap.cli.context import CommandContext
from quietswap.cli.options.connection import with_context, yes_option
from quietswap.cli.options.signing import WalletSigner, signing_options


@click.command()
@click.argument("token")
@click.option(
    "--router", "routers", multiple=True, metavar="ADDRESS",
    help="Only what this contract may move; repeatable. Without it: every router that a swap may"
    " have approved.",
)  # fmt: skip
@click.option(
    "--max-fee", metavar="ETH", default="0.05", show_default=True,
    help="Do not sign if the gas of one transaction can cost more ETH than this.",
)  # fmt: skip
@click.option(
    "--replace", is_flag=True,
    help="Sign even while an order of yours is open; this may cancel that order.",
)  # fmt: skip
@yes_option
@signing_options
@with_context
def revoke(
    *, context: CommandContext, signer: WalletSigner, token: str, routers: tuple[str, ...],
    max_fee: str, replace: bool, yes: bool,
) -> None:  # fmt: skip
    """Set what routers may move of TOKEN to zero: quietswap revoke USDC

    Reads the allowances at --rpc-url, asks, signs on this machine, and sends one public transaction
    for each router there. The service is asked for open orders alone.

    Exit code 0 means that no router may move any, 1 that nothing was signed, 4 that a revocation
    may still be mined.
    """
    from quietswap.cli.flows.revoke import RevokeRun
    from quietswap.cli.options.trade import token_address
    from quietswap.cli.output import tokens
    from quietswap.cli.output.tokens import ETHER, parse_amount, wallet_address
    from quietswap.client import PollingPolicy

    if context.rpc_url is None:
        raise click.UsageError("allowances are read and revoked at your own node: give --rpc-url")
    most_fee = parse_amount(max_fee, ETHER, "--max-fee")
    named = tuple(wallet_address(each, "router's address") for each in routers)
    with context.client(PollingPolicy(node_interval_s=1.0)) as client:
        address = token_address(token, client, context, signs=True, yes=yes)
        tokens.refuse_ether(address)
        shown = tokens.by_address(address, client, context)
        RevokeRun(context, client, signer, yes=yes)(shown, named, most_fee, replace=replace)
