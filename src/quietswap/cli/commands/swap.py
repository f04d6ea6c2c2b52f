"""`quietswap swap`: quote, approve, sign, submit, follow, and report the amount received."""

from decimal import Decimal
from typing import TYPE_CHECKING, cast

import click

from quietswap.cli.context import CommandContext
from quietswap.cli.options import connection
from quietswap.cli.options.connection import FiniteRange, is_typed, with_context
from quietswap.cli.options.signing import WalletSigner, signing_options

if TYPE_CHECKING:
    from quietswap.client.flows.quote_checks import Approval


def _removed(_context: click.Context, option: click.Parameter, value: object) -> None:
    """Refuse an option that signed for calldata without a proof. Raises click.UsageError."""
    if value:
        raise click.UsageError(
            f"{option.opts[0]} was removed: only calldata whose router is proven to enforce the"
            " minimum is signed. Nothing was signed. Leave the option out."
        )


_HELP = """Swap AMOUNT of token SELL into token BUY, privately: quietswap swap 1 WETH USDC

AMOUNT is a number, all, or a share such as 50% of the balance at --rpc-url. Tokens are ETH,
WETH, USDC, USDT, DAI, WBTC, addresses, or listed symbols, whose address must be confirmed.

ETH is wrapped first, or unwrapped at the end, in the same command: quietswap swap 1 ETH USDC.
All signatures are shown before the first one. If it is interrupted, it prints the command that
goes on, with --resume: what was done is never done again. A delegated wallet signs once, with
--approve batch; of the ETH that it buys the minimum arrives as ETH, and the rest as WETH.

The least of SELL for an amount of BUY: quietswap swap WETH --receive 1000 USDC --max-sell 0.4

Shows the promised and simulated output of each source, asks, approves the router if needed,
simulates the swap on your own node, signs on this machine, submits and follows the order.
Exit code 0 means confirmed with at least the minimum received, 1 that nothing was swapped, 4
that the swap or its approval may still be mined (check before you swap again), 5 that less than
the minimum was received. This holds after Ctrl-C, too.

A loss of 3 % or more is asked for in words, of 15 % or more it has to be typed. It is the worst
of price impact, distance below Chainlink's prices, slippage, and gas above a tenth of the
value.

--yes compares the quote with a price that is not from the service: --at-least, or Chainlink's,
which includes the gas used in the simulation. It accepts no loss that would be asked for,
unless --max-loss names it.
"""


@click.command(help=_HELP)
@connection.pair_with_receive
@click.option(
    "--max-sell", metavar="AMOUNT",
    help="Needed with --receive: do not sign if more of SELL than this would be sold for it.",
)  # fmt: skip
@connection.slippage_option
@click.option(
    "--approve", type=click.Choice(["exact", "max", "never", "batch"]), default="exact",
    show_default=True,
    help="Amount to approve if the router's allowance is too low; needs --rpc-url. batch: exactly,"
    " in the swap's own transaction, from a wallet that is delegated (EIP-7702); so is the wrap or"
    " unwrap of a swap with ETH.",
)  # fmt: skip
@click.option(
    "--at-least", metavar="AMOUNT",
    help="Do not sign if the swap can deliver less of BUY than this.",
)  # fmt: skip
@click.option(
    "--max-impact", type=FiniteRange(0, 100), default=3.0, show_default=True,
    metavar="PERCENT",
    help="With --yes, or if given: do not sign if the quote is further below Chainlink's prices,"
    " read from --rpc-url. If given, 3 or more also accepts such a loss, as --max-loss.",
)  # fmt: skip
@connection.max_loss_option
@click.option(
    "--max-fee", metavar="ETH", default="0.05", show_default=True,
    help="With --yes, or if given: do not sign if the gas can cost more ETH than this.",
)  # fmt: skip
@click.option("--router", hidden=True, expose_value=False, callback=_removed)
@click.option("--accept-unbound", is_flag=True, hidden=True, expose_value=False, callback=_removed)
@click.option(
    "--nonce", type=click.IntRange(min=0),
    help="Sign only this nonce. To replace an order that may still be mined, give its nonce: then"
    " at most one of the two can be mined.",
)  # fmt: skip
@click.option(
    "--any-nonce", is_flag=True,
    help="Sign the nonce that the service names, even if it is not the next one at --rpc-url.",
)  # fmt: skip
@click.option(
    "--replace", is_flag=True,
    help="Approve even while an order of yours is open; the approval may cancel that order.",
)  # fmt: skip
@click.option(
    "--resume", metavar="HASH",
    help="Go on with a swap with ETH that was interrupted, named by the hash of one of its"
    " transactions: what is done is not done again. Give it without AMOUNT, SELL and BUY.",
)  # fmt: skip
@click.option(
    "--new", is_flag=True,
    help="With ETH: begin another swap, though one of the same pair is unfinished.",
)  # fmt: skip
@connection.yes_option
@connection.poll_option
@signing_options
@with_context
def swap(
    *, context: CommandContext, signer: WalletSigner, amount: str | None, sell: str, buy: str,
    receive: str | None, max_sell: str | None, slippage_bps: int, approve: str,
    at_least: str | None, max_impact: float, max_loss: float | None, max_fee: str,
    nonce: int | None, any_nonce: bool,
    replace: bool, resume: str | None, new: bool, yes: bool, poll: float,
) -> None:  # fmt: skip
    from quietswap.cli.flows.ether_swap import EtherSwapRun
    from quietswap.cli.flows.swap import SwapRun
    from quietswap.cli.options.trade import amounts_of, recorded_terms, token_of, token_pair
    from quietswap.cli.output.tokens import ETHER, parse_amount
    from quietswap.client import PollingPolicy, SwapRequest

    has_floor = resume is not None or _has_floor(receive, max_sell, at_least)
    compares = is_typed("max_impact") or (yes and not has_floor)
    if context.rpc_url is None:
        _check_without_node(approve, unpriced=yes and not has_floor)
    if resume is not None and approve == "batch":
        raise click.UsageError("--resume goes on step by step: leave --approve batch out")
    limits = is_typed("max_fee") or yes
    most_fee = parse_amount(max_fee, ETHER, "--max-fee") if limits else None
    with context.client(PollingPolicy(interval_s=poll, patience_s=None)) as client:
        owner = signer.wallet
        if resume is None:
            pair = token_pair(sell, buy, client, context, signs=True, yes=yes, amount=amount)
            texts = amount, receive, max_sell, at_least
            amounts = amounts_of(texts, pair, client, context, owner)
        else:
            pair, amounts = recorded_terms(resume, client, context)
        if ETHER not in pair:
            if new:
                raise click.UsageError("--new is for a swap with ETH")
        elif approve != "batch":
            _check_ether(context)
        request = SwapRequest(
            token_of(pair[0]),
            token_of(pair[1]),
            wallet=owner,
            slippage_bps=slippage_bps,
            approval=_approval(approve, context),
            max_impact_percent=Decimal(str(max_impact)) if compares else None,
            nonce=nonce,
            any_nonce=any_nonce,
            replace=replace,
            max_fee_wei=most_fee,
            max_loss_percent=_most_loss(max_loss),
            batch=approve == "batch",
            new_trade=new,
            **amounts,
        )
        if request.has_ether:
            EtherSwapRun(context, client, signer, yes=yes)(request, *pair, resume)
        else:
            SwapRun(context, client, signer, yes=yes)(request, *pair)


def _check_ether(context: CommandContext) -> None:
    """Refuse what a swap of several transactions does not take. Raises click.UsageError."""
    if context.rpc_url is None:
        raise click.UsageError("a swap with ETH is several transactions: it needs --rpc-url")
    for name in ("nonce", "any_nonce"):
        if is_typed(name):
            option = name.replace("_", "-")
            raise click.UsageError(f"--{option}: a swap with ETH is several transactions")


def _approval(approve: str, context: CommandContext) -> "Approval":
    """Return what may be approved: of a batch exactly the amount, without a node nothing."""
    return cast("Approval", approve.replace("batch", "exact")) if context.rpc_url else "never"


def _has_floor(receive: str | None, max_sell: str | None, at_least: str | None) -> bool:
    """Return whether the caller names a minimum. Raises click.UsageError.

    --receive needs the bound of what is sold for it: only the two together are a price.
    """
    if receive is None:
        if max_sell is not None:
            raise click.UsageError("--max-sell is for --receive: AMOUNT is sold exactly")
        return at_least is not None
    if at_least is not None:
        raise click.UsageError("--receive is the least that must arrive: leave --at-least out")
    if max_sell is None:
        raise click.UsageError(
            "--receive needs --max-sell AMOUNT, the most to sell for it: quietswap quote SELL"
            " --receive AMOUNT BUY shows how much it takes"
        )
    return True


def _check_without_node(approve: str, *, unpriced: bool) -> None:
    """Refuse what needs a node of the caller's own. Raises click.UsageError."""
    if unpriced:
        raise click.UsageError(
            "--yes needs a price that is not the service's own: give --at-least AMOUNT,"
            " or --rpc-url for Chainlink's"
        )
    if is_typed("approve") and approve != "never":
        raise click.UsageError(f"--approve {approve} needs --rpc-url: approvals are sent there")


def _most_loss(typed: float | None) -> Decimal | None:
    """Return the loss to accept; the default of --max-impact accepts none that is asked for."""
    from quietswap.rules.safety.loss import CONFIRM_BPS

    if typed is not None:
        return Decimal(str(typed))
    return None if is_typed("max_impact") else Decimal(CONFIRM_BPS - 1) / 100
