"""One wrap or unwrap at a terminal."""

from dataclasses import replace
from typing import Any

import click
from rich.text import Text

from quietswap.cli.connection import REFUSED, Link, confirm
from quietswap.cli.follow import Progress
from quietswap.cli.render_quote import facts, to_sign
from quietswap.cli.signing_options import Hand
from quietswap.cli.tokens import ETHER, WETH
from quietswap.client import QuietswapClient, StillOpen, WrapRequest, WrapResult
from quietswap.client.resources import TERMINAL
from quietswap.client.wrap_resources import WrapInfo, WrapOrder, WrapQuote
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
    ) -> None:
        self._link = link
        self._client = client
        self._hand = hand
        self._request = replace(request, accept=self._accept)
        self._yes = yes
        self._progress = Progress(link.screen)
        self._tx_hash: str | None = None

    def __call__(self) -> None:
        """Convert; exit code 1 unless it is mined (or submitted, where there is no node)."""
        try:
            result = self._client.convert(self._request, self._hand.signer, self._told)
        except KeyboardInterrupt:
            self._leave("Interrupted")
            self._link.result({"ok": False, "error": "LEFT_OPEN", "txHash": self._tx_hash})
            raise click.exceptions.Exit(REFUSED) from None
        except StillOpen:
            self._leave("Not decided yet")
            raise
        finally:
            self._progress.stop()
        balances = self._client.wrap_info(self._hand.wallet)
        self._report(result, balances)

    def _accept(self, quote: WrapQuote) -> bool:
        screen, raw = self._link.screen, self._link.raw
        before, after = (ETHER, WETH) if quote.operation == "wrap" else (WETH, ETHER)
        give, get = before.show(quote.amount_wei, raw=raw), after.show(quote.amount_wei, raw=raw)
        screen.print(Text(f"{quote.operation} {give} into {get}", "bold"))
        screen.print(Text(f"To sign for {self._hand.wallet}, {self._hand.how}"))
        self._warn_of_open_orders()
        params = quote.mev_protection.transaction_params
        screen.print(to_sign(params, self._request.nonce, "WETH"))
        agreed = confirm("Sign and submit?", skip=self._yes)
        self._progress = Progress(screen)  # the clock starts when the person has agreed
        return agreed

    def _warn_of_open_orders(self) -> None:
        """Open orders are private: the node's count does not know the nonces they hold."""
        page = self._client.order_history(self._hand.wallet)
        is_open = [item.order_id for item in page.orders if item.status not in TERMINAL]
        if is_open and self._request.nonce is None:
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

    def _leave(self, why: str) -> None:
        self._progress.stop()
        if self._tx_hash is None:
            text = f"{why}: no answer to a submission came; quietswap balances shows what is."
            self._link.screen.print(Text(text, "yellow"))
            return
        text = f"{why}: the transaction goes on without us: {self._tx_hash}"
        self._link.screen.print(Text(text, "yellow"), soft_wrap=True)
        self._link.screen.print("  quietswap balances shows when it is done")

    def _report(self, result: WrapResult, info: WrapInfo) -> None:
        self._link.result(_machine(result, info))
        raw, balances = self._link.raw, info.balances
        rows: list[tuple[str, Any]] = []
        if result.receipt is None:
            rows.append(("note", "submitted; without --rpc-url it is not followed"))
        rows.append(("ETH", ETHER.number(balances.eth.wei, raw=raw)))
        rows.append(("WETH", WETH.number(balances.weth.wei, raw=raw)))
        self._link.screen.print(facts(*rows))


def _machine(result: WrapResult, info: WrapInfo) -> dict[str, Any]:
    return {
        "ok": True,
        "order": result.order,
        "receipt": result.receipt,
        "balances": info.balances,
        "quote": result.quote,
    }
