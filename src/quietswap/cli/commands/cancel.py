"""`quietswap cancel`: replace an open order by an empty transfer with the same nonce."""

import click

from quietswap.cli.context import CommandContext
from quietswap.cli.options.connection import poll_option, with_context, yes_option
from quietswap.cli.options.signing import WalletSigner, signing_options


@click.command()
@click.argument("order")
@click.option(
    "--most-fee", metavar="ETH", default="0.02", show_default=True,
    help="Do not sign if the gas can cost more ETH than this.",
)  # fmt: skip
@click.option(
    "--nonce", type=click.IntRange(min=0),
    help="The nonce that the order was signed with: no other is signed. It is needed for an order"
    " that no `quietswap swap` on this machine submitted.",
)  # fmt: skip
@yes_option
@poll_option
@signing_options
@with_context
def cancel(
    *, context: CommandContext, signer: WalletSigner, order: str, most_fee: str,
    nonce: int | None, yes: bool, poll: float,
) -> None:  # fmt: skip
    """Cancel the open ORDER: quietswap cancel ord_0123

    Signs an empty transfer of the wallet to itself with the order's nonce, submits it privately and
    waits until one of the two is in a block. Exit code 0 means that the order is cancelled. This is
    checked at --rpc-url: it has a receipt of the cancel and none of the order. Without --rpc-url,
    only the service's status shows it. Exit code 1 means that the swap was mined first; the order's
    final state is shown. Exit code 4 means that either may still be mined.
    """
    from quietswap.cli.flows.cancel import CancelRun
    from quietswap.cli.output.tokens import ETHER, parse_amount
    from quietswap.client import CancelRequest, PollingPolicy

    most = parse_amount(most_fee, ETHER, "--most-fee")
    with context.client(PollingPolicy(interval_s=poll)) as client:
        request = CancelRequest(order, signer.wallet, most, nonce)
        CancelRun(context, client, signer, yes=yes)(request)
