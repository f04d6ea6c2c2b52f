"""One wrap or unwrap at a terminal."""

from dataclasses import replace
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from quietswap.cli.connection import REFUSED, Link, confirm
from quietswap.cli.follow import Progress
from quietswap.cli.render_quote import facts, to_sign
from quietswap.cli.signing_options import Hand, Watched
from quietswap.cli.tokens import ETHER, WETH
from quietswap.client import (
    ClientError,
    Declined,
    QuietswapClient,
    StillOpen,
    Unreachable,
    WrapRequest,
    WrapResult,
)
from quietswap.client.resources import TERMINAL
from quietswap.client.wrap_resources import Balances, WrapOrder, WrapQuote
from quietswap.client.wraps import Event


class WrapRun:
    """Runs the client's wrap flow and is asked and told by it."""

    def __init__(
        self,
        link: Link,
        client: QuietswapClient,
        hand: Hand,
        request: WrapRequest,
        *,
        yes: bool,
        may_replace: bool,
    ) -> None:
        self._link = link
        self._client = client
        client.polling = replace(client.polling, on_trouble=self._troubled)
        self._hand = hand
        self._signer = Watched(hand)
        self._request = replace(request, accept=self._accept)
        self._yes, self._may_replace = yes, may_replace
        self._progress = Progress(link.screen)
        self._tx_hash: str | None = None

    def __call__(self) -> None:
        """Convert; exit code 1 unless it is mined (or submitted, where there is no node)."""
        try:
            result = self._client.convert(self._request, self._signer, self._told)
        except KeyboardInterrupt:
            self._interrupted()
            raise click.exceptions.Exit(REFUSED) from None
        except ClientError as error:
            undecided = isinstance(error, StillOpen | Unreachable)
            if undecided and self._tx_hash is not None:
                self._leave("Not decided yet")
            raise
        finally:
            self._progress.stop()
        self._report(result)

    def _accept(self, quote: WrapQuote) -> bool:
        screen, raw = self._link.screen, self._link.raw
        before, after = (ETHER, WETH) if quote.operation == "wrap" else (WETH, ETHER)
        give, get = before.show(quote.amount_wei, raw=raw), after.show(quote.amount_wei, raw=raw)
        screen.print(Text(f"{quote.operation} {give} into {get}", "bold"))
        self._check_funds(quote)
        screen.print(Text(f"\nTo sign for {self._hand.wallet}, {self._hand.how}", "bold"))
        self._warn_of_open_orders()
        params = quote.mev_protection.transaction_params
        screen.print(to_sign(params, "WETH", Text(str(params.nonce))))
        screen.print()
        agreed = confirm("Sign and submit?", skip=self._yes)
        if agreed:
            self._hand.ready()
            self._progress = Progress(screen, "submitting")  # the clock starts at the agreement
            if self._hand.is_quiet:
                self._progress.start()
        return agreed

    def _check_funds(self, quote: WrapQuote) -> None:
        """Say so before anybody is asked; the fee is for the service to check. Raises Declined."""
        found = self._client.wrap_info(self._hand.wallet).balances
        token, held = (ETHER, found.eth) if quote.operation == "wrap" else (WETH, found.weth)
        if held.wei < quote.amount_wei:
            has, needs = (token.show(n, raw=self._link.raw) for n in (held.wei, quote.amount_wei))
            raise Declined(f"the wallet holds {has}, the {quote.operation} needs {needs}")

    def _warn_of_open_orders(self) -> None:
        """Open orders are private: the node's count does not know the nonces they hold.

        Raises Declined where nobody would read the warning.
        """
        page = self._client.order_history(self._hand.wallet)
        is_open = [item.order_id for item in page.orders if item.status not in TERMINAL]
        if not is_open or self._request.nonce is not None:
            return
        if self._yes and not self._may_replace:
            text = f"order {is_open[0]} is open, and this may take its nonce and cancel it"
            raise Declined(f"{text}: wait until it is decided, or give --replace")
        text = f"order {is_open[0]} is open: this may take its nonce and cancel it"
        self._link.screen.print(facts(("careful", Text(text, "yellow"))))

    def _told(self, event: Event) -> None:
        if isinstance(event, WrapOrder):
            self._tx_hash = event.tx_hash
            self._progress.say(f"tx {event.tx_hash}")
            self._progress.name(event.status)
            self._progress.start()
        elif not isinstance(event, WrapQuote):
            self._progress.name("confirmed")

    def _troubled(self, error: ClientError, seconds: float) -> None:
        self._progress.trouble(error, seconds)

    def _interrupted(self) -> None:
        if self._signer.called:
            self._leave("Interrupted")
            self._link.result({"ok": False, "error": "LEFT_OPEN", "txHash": self._tx_hash})
            return
        self._progress.stop()
        self._link.say(Text("Interrupted: nothing was signed.", "yellow"))
        body = {"ok": False, "error": "ABORTED", "message": "stopped; nothing was signed"}
        self._link.result(body)

    def _leave(self, why: str) -> None:
        self._progress.stop()
        say = self._link.say
        if self._tx_hash is not None:
            say(Text(f"{why}: the transaction goes on without us: {self._tx_hash}", "yellow"))
        else:
            say(Text(f"{why}: no answer came, but it may have been submitted.", "yellow"))
        say(Text("The balances show when it is done:"))
        self._link.again("balances", "--wallet", self._hand.wallet)

    def _report(self, result: WrapResult) -> None:
        """Show the balances; that they cannot be had does not undo what was done."""
        raw, rows = self._link.raw, list[tuple[str, RenderableType]]()
        if result.receipt is None:
            rows.append(("note", "submitted; without --rpc-url it is not followed"))
        balances = None
        try:
            balances = self._client.wrap_info(self._hand.wallet).balances
        except ClientError as error:
            rows.append(("note", Text(f"the balances cannot be shown: {error}", "yellow")))
        else:
            rows.append(("ETH", ETHER.number(balances.eth.wei, raw=raw)))
            rows.append(("WETH", WETH.number(balances.weth.wei, raw=raw)))
        self._link.result(_machine(result, balances))
        self._link.screen.print()
        self._link.screen.print(facts(*rows))


def _machine(result: WrapResult, balances: Balances | None) -> dict[str, Any]:
    return {
        "ok": True,
        "order": result.order,
        "receipt": result.receipt,
        "balances": balances,
        "quote": result.quote,
    }
