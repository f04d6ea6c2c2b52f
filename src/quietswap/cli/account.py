"""`quietswap balances` and `quietswap history`: what a wallet has, and what it did."""

import click

from quietswap.cli.connection import REFUSED, Link, linked
from quietswap.cli.signing_options import own_wallet, wallet_option

_STATES = ("pending", "submitted", "mining", "confirmed", "failed", "cancelled")


@click.command()
@wallet_option
@linked
def balances(*, link: Link, wallet: str | None) -> None:
    """Show a wallet's ETH and WETH, and with --rpc-url the other tokens known by name."""
    from rich.text import Text

    from quietswap.cli.render_quote import facts
    from quietswap.cli.tokens import ETHER, KNOWN, WETH
    from quietswap.client import chain
    from quietswap.client.approvals import require_mainnet

    owner = own_wallet(wallet)
    with link.client() as client:
        found = client.wrap_info(owner).balances
        if link.rpc_url:
            client.run(require_mainnet())
        amounts = [(ETHER, int(found.eth.wei)), (WETH, int(found.weth.wei))]
        others = [t for t in KNOWN.values() if t is not WETH] if link.rpc_url else []
        amounts += [(t, client.node(chain.token_balance(t.address, owner))) for t in others]
    link.result(
        {"wallet": owner, "balances": {token.symbol: str(amount) for token, amount in amounts}}
    )
    if link.as_json:
        return
    link.screen.print(Text(owner, "bold"))
    rows = [(token.symbol, token.number(amount, raw=link.raw)) for token, amount in amounts]
    link.screen.print(facts(*rows))


@click.command()
@wallet_option
@click.option(
    "--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="Orders to list."
)
@click.option(
    "--offset", type=click.IntRange(min=0), default=0, show_default=True, help="Orders to skip."
)
@click.option("--status", type=click.Choice(_STATES), help="Only orders in this state.")
@click.option("--order", "order_id", metavar="ID", help="One order instead of the list.")
@click.option("--follow", is_flag=True, help="With --order: wait until it is decided.")
@click.option(
    "--poll", type=click.FloatRange(0.2, 60), default=5.0, show_default=True, metavar="SECONDS",
    help="With --follow: time between two looks at the order.",
)  # fmt: skip
@linked
def history(
    *, link: Link, wallet: str | None, limit: int, offset: int, status: str | None,
    order_id: str | None, follow: bool, poll: float,
) -> None:  # fmt: skip
    """List a wallet's orders, newest first; or show one order, and follow it.

    Lists what was submitted with this API key. With --follow, exit code 0 means confirmed.
    """
    if order_id is not None:
        _one(link, order_id, poll, follow=follow)
        return
    if follow:
        raise click.UsageError("--follow needs --order ID")
    from quietswap.cli.render_orders import page

    with link.client() as client:
        found = client.order_history(
            own_wallet(wallet),
            limit=limit,
            offset=offset,
            status=status,  # type: ignore[arg-type]
        )
        link.result(found)
        if not link.as_json:
            link.screen.print(page(found, client, link))


def _one(link: Link, order_id: str, poll: float, *, follow: bool) -> None:
    from rich.text import Text

    from quietswap.cli.follow import Progress
    from quietswap.cli.render_orders import record
    from quietswap.client import Polling, StillOpen, Unreachable

    progress = Progress(link.screen)
    with link.client(Polling(interval_s=poll, on_trouble=progress.trouble)) as client:
        try:
            if follow:
                progress.start()
                found = client.follow(order_id, progress.state)
            else:
                found = client.order_status(order_id)
        except (KeyboardInterrupt, StillOpen, Unreachable) as error:
            progress.stop()
            if follow:
                link.say(Text("The order goes on without us. To look again:", "yellow"))
                link.again("history", "--order", order_id, "--follow")
            if not isinstance(error, KeyboardInterrupt):
                raise
            link.result({"ok": False, "error": "LEFT_OPEN", "orderId": order_id})
            raise click.exceptions.Exit(REFUSED) from None
        finally:
            progress.stop()
        link.result(found)
        if not link.as_json:
            link.screen.print(record(found, client, link))
    if follow and found.status != "confirmed":
        raise click.exceptions.Exit(REFUSED)
