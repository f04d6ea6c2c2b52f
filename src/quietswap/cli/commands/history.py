"""`quietswap history`: the orders of a wallet, or one order."""

import contextlib
from typing import TYPE_CHECKING

import click

from quietswap.cli.context import CommandContext
from quietswap.cli.interrupts import signals_as_ctrl_c
from quietswap.cli.options.connection import paging_options, poll_option, with_context
from quietswap.cli.options.signing import own_wallet, wallet_option
from quietswap.cli.output.exit_codes import UNDECIDED

if TYPE_CHECKING:
    from quietswap.client import OrderEnd, QuietswapClient
    from quietswap.rules.contract.orders import OrderStatusResponse

_STATES = ("pending", "submitted", "mining", "confirmed", "failed", "cancelled")
_KINDS = ("swap", "wrap", "cancel", "approval", "transaction", "any")


@click.command()
@wallet_option
@paging_options("Orders")
@click.option(
    "--as-of",
    type=click.IntRange(min=0),
    metavar="TOTAL",
    help="With --offset: the total of your first page, so that each order comes once.",
)
@click.option("--status", type=click.Choice(_STATES), help="Only orders in this state.")
@click.option(
    "--kind", type=click.Choice(_KINDS),
    help="Orders of this kind, or of any kind, instead of swaps.",
)  # fmt: skip
@click.option("--order", "order_id", metavar="ID", help="One order instead of the list.")
@click.option("--follow", is_flag=True, help="With --order: wait until it is final.")
@poll_option
@with_context
def history(
    *, context: CommandContext, wallet: str | None, limit: int, offset: int, as_of: int | None,
    status: str | None, kind: str | None, order_id: str | None, follow: bool, poll: float,
) -> None:  # fmt: skip
    """List a wallet's orders, newest first; or show one order, and follow it.

    Lists orders submitted with this API key, in the states that the service reports. One order is
    compared with the receipt at --rpc-url, if this machine signed it. With --json, its members are
    what your own node shows, null where it shows nothing; `reportedByService` has the service's.

    --kind approval and --kind any also list the approvals that were signed on this machine, which
    your own node sent: the service does not know them.

    With --follow, exit code 0 means that the order is confirmed, 1 that it came to nothing, 4 that
    it may still be mined, or was mined although the service reports a failure. Without --follow,
    1 and 4 are given only where your own node contradicts the service.
    """
    if order_id is not None:
        _one(context, order_id, poll, follow=follow)
        return
    if follow:
        raise click.UsageError("--follow needs --order ID")
    import msgspec

    from quietswap.cli.output.approvals import approvals_table, signed_approvals
    from quietswap.cli.output.orders import history_table
    from quietswap.rules.wire import member_names

    with context.client() as client:
        page = client.order_history(
            own_wallet(wallet),
            limit=limit,
            offset=offset,
            status=status,  # type: ignore[arg-type]
            kind=kind,  # type: ignore[arg-type]
            as_of=as_of,
        )
        names = member_names(type(page))
        members = dict(zip(names, msgspec.structs.astuple(page), strict=True))
        members["reportedByService"] = True
        has_approvals = kind in ("approval", "any")
        signed = signed_approvals(own_wallet(wallet), client, context) if has_approvals else []
        members |= {"signedHere": signed} if has_approvals else {}
        if context.result(members):
            hashes, is_live = {each["txHash"].lower() for each in signed}, status is not None
            context.screen.print(history_table(page, client, context, hashes, is_live=is_live))
            if has_approvals:
                context.screen.print(approvals_table(signed, client, context))


def _one(context: CommandContext, order_id: str, poll: float, *, follow: bool) -> None:
    from quietswap.cli.output import order_end
    from quietswap.cli.output.order_progress import OrderProgress
    from quietswap.cli.output.orders import order_details
    from quietswap.cli.output.quote import facts, usual_wait
    from quietswap.client import OrderStillOpen, PollingPolicy, ServiceUnreachable

    progress, seen = OrderProgress(context.screen), list["OrderStatusResponse"]()

    def tell(record: "OrderStatusResponse") -> None:
        seen[:] = [record]
        progress.state(record)

    polling = PollingPolicy(interval_s=poll, patience_s=None, on_trouble=progress.trouble)
    with context.client(polling) as client, signals_as_ctrl_c():
        try:
            if follow:
                progress.start()
                end = client.end(order_id, tell)
            else:
                end = client.check_order(client.order_status(order_id))
        except (KeyboardInterrupt, OrderStillOpen, ServiceUnreachable) as error:
            progress.stop()
            shown = _last_look(client, seen)
            if shown is None or not shown.is_final:
                _left_open(context, order_id, error, follow=follow)
                raise
            end = shown
        finally:
            progress.stop()
        if context.result(order_end.members(end)):
            context.screen.print(order_details(end.record, client, context, end))
            if not end.is_final and (wait := usual_wait(client)) is not None:
                context.screen.print(facts(("in a block", wait)))
        if follow and end.may_be_mined:
            context.say("To check it again:", "yellow")
            context.again("history", "--order", order_id, "--follow")
    if (follow or end.is_contradicted) and (code := order_end.exit_code(end)):
        raise click.exceptions.Exit(code)


def _last_look(client: "QuietswapClient", seen: "list[OrderStatusResponse]") -> "OrderEnd | None":
    """Return what the caller's own node shows now, after the last record was `seen`."""
    from quietswap.client import ClientError

    with contextlib.suppress(ClientError, KeyboardInterrupt):
        return client.check_order(seen[-1]) if seen else None
    return None


def _left_open(
    context: CommandContext, order_id: str, error: BaseException, *, follow: bool
) -> None:
    if follow:
        context.say("The order may still be mined. To check it:", "yellow")
        context.again("history", "--order", order_id, "--follow")
    if isinstance(error, KeyboardInterrupt):
        text = "stopped; the order may still be mined"
        body = {"ok": False, "error": "LEFT_OPEN", "message": text, "orderId": order_id}
        context.result(body)
        raise click.exceptions.Exit(UNDECIDED) from None
