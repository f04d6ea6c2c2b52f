"""`quietswap wrap` and `quietswap unwrap`: ETH into WETH and back, one to one."""

import dataclasses
from decimal import Decimal
from typing import TYPE_CHECKING

import click

from quietswap.cli.context import CommandContext
from quietswap.cli.options.connection import max_loss_option, with_context, yes_option
from quietswap.cli.options.signing import WalletSigner, signing_options

if TYPE_CHECKING:
    from quietswap.rules.wire import WrapOperation


_HELP = """Turn AMOUNT {} into {}, one to one: quietswap {} 0.5

AMOUNT is a number, all, or a share such as 50% of the balance at --rpc-url; of ETH enough stays for
gas.

Asks, signs on this machine, submits privately and waits for the receipt. Exit code 0 means
confirmed, or submitted if there is no --rpc-url to check it; 4 that it may still be mined.
"""


def _command(operation: "WrapOperation", give: str, get: str) -> click.Command:
    @click.command(operation, help=_HELP.format(give, get, operation))
    @click.argument("amount")
    @click.option(
        "--nonce", type=click.IntRange(min=0),
        help="The wallet's next nonce, if no --rpc-url is given.",
    )  # fmt: skip
    @click.option(
        "--replace", is_flag=True,
        help="With --yes: sign even while an order of yours is open; this may cancel that order.",
    )  # fmt: skip
    @max_loss_option
    @yes_option
    @signing_options
    @with_context
    def command(
        *, context: CommandContext, signer: WalletSigner, amount: str, nonce: int | None,
        yes: bool, replace: bool, max_loss: float | None,
    ) -> None:  # fmt: skip
        from quietswap.cli.flows.wrap import WrapRun
        from quietswap.cli.options.trade import units_of
        from quietswap.cli.output.tokens import ETHER, WETH
        from quietswap.client import PollingPolicy, WrapRequest
        from quietswap.rules.amounts import format_units

        if context.rpc_url is None and nonce is None:
            raise click.UsageError("the nonce is unknown: give --rpc-url or --nonce")
        token = dataclasses.replace(ETHER if operation == "wrap" else WETH, raw=context.raw)
        most = None if max_loss is None else Decimal(str(max_loss))
        with context.client(PollingPolicy(node_interval_s=1.0)) as client:
            units = units_of(amount, token, client, context, signer.wallet)
            request = WrapRequest(
                operation, format_units(units, 18), signer.wallet, nonce,
                replace=replace, max_loss_percent=most,
            )  # fmt: skip
            WrapRun(context, client, signer, yes=yes)(request)

    return command


wrap = _command("wrap", "ETH", "WETH")
unwrap = _command("unwrap", "WETH", "ETH")
