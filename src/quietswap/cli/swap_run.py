"""One swap at a terminal: shows, asks, and tells what happened to the money."""

from dataclasses import replace
from typing import Any

import click
from rich.text import Text

from quietswap.cli.connection import REFUSED, Link, confirm
from quietswap.cli.follow import Progress
from quietswap.cli.render_quote import facts, short, summary, to_sign
from quietswap.cli.signing_options import Hand
from quietswap.cli.tokens import ETHER, Token
from quietswap.client import (
    Approved,
    QuietswapClient,
    StillOpen,
    SwapRequest,
    SwapResult,
    chain,
)
from quietswap.client.resources import OrderStatus, Submission, SwapQuote
from quietswap.client.swaps import Event
from quietswap.domain.amounts import difference_bps

_GWEI = Token("", "gwei", 9)


class SwapRun:
    """Runs the client's swap flow and is asked and told by it."""

    def __init__(
        self,
        link: Link,
        client: QuietswapClient,
        hand: Hand,
        request: SwapRequest,
        pair: tuple[Token, Token],
        *,
        yes: bool,
    ) -> None:
        self._link = link
        self._client = client
        self._hand = hand
        self._request = replace(request, accept=self._accept)
        self._sell, self._buy = pair
        self._yes = yes
        self._agreed: SwapQuote | None = None
        self._progress = Progress(link.screen)
        self._order_id: str | None = None

    def __call__(self) -> None:
        """Swap; exit code 1 unless the order is confirmed."""
        try:
            result = self._client.swap(self._request, self._hand.signer, self._told)
        except KeyboardInterrupt:
            self._progress.stop()
            self._leave("Interrupted")
            self._link.result({"ok": False, "error": "LEFT_OPEN", "orderId": self._order_id})
            raise click.exceptions.Exit(REFUSED) from None
        except StillOpen:
            self._progress.stop()
            self._leave("Not decided yet")
            raise
        finally:
            self._progress.stop()
        self._report(result)
        if not result.succeeded:
            raise click.exceptions.Exit(REFUSED)

    def _accept(self, quote: SwapQuote) -> bool:
        agreed = self._agreed
        if agreed is not None and quote.min_buy_amount >= agreed.min_buy_amount:
            return True
        if agreed is not None:
            self._link.screen.print(Text("\nThe market moved: this quote is worse.", "yellow"))
        self._show(quote)
        if agreed is not None and self._yes:
            return False
        if not confirm("Sign and submit?", skip=self._yes):
            return False
        self._agreed = quote
        self._progress = Progress(self._link.screen)  # the clock starts when the person has agreed
        return True

    def _show(self, quote: SwapQuote) -> None:
        screen, raw = self._link.screen, self._link.raw
        screen.print(summary(quote, self._sell, self._buy, raw=raw))
        screen.print(Text(f"\nTo sign for {self._hand.wallet}, {self._hand.how}", "bold"))
        if self._link.rpc_url is None:
            note = "without --rpc-url the allowance is left to you"
            screen.print(facts(("approve", Text(note, "yellow"))))
        elif self._request.approval != "never":
            self._show_allowance(quote)
        params = quote.mev_protection.transaction_params
        screen.print(to_sign(params, None, f"router of {quote.source}"))
        screen.print()

    def _show_allowance(self, quote: SwapQuote) -> None:
        router, raw = quote.dex_route.target, self._link.raw
        current = self._client.node(chain.allowance(quote.sell_token, self._request.wallet, router))
        if current >= quote.sell_amount:
            return
        amount = self._sell.show(quote.sell_amount, raw=raw)
        if self._request.approval == "max":
            amount = f"any amount of {self._sell.symbol}"
        text = f"first, publicly: {short(router)} may move {amount}"
        self._link.screen.print(facts(("approve", Text(text, "yellow"))))

    def _told(self, event: Event) -> None:
        if isinstance(event, Approved):
            amount = "no limit"
            if event.amount < chain.UINT256_MAX:
                amount = self._sell.show(event.amount, raw=self._link.raw)
            block = f"in block {event.receipt.block_number:,}"
            self._progress.say(f"approved   {amount} for {short(event.router)} {block}")
        elif isinstance(event, Submission):
            self._order_id = event.order.order_id
            self._progress.say(f"order      {event.order.order_id}")
            self._progress.say(f"tx {event.order.tx_hash}")
            self._progress.name(event.order.status)
            self._progress.start()
        elif isinstance(event, OrderStatus):
            self._order_id = event.order_id
            self._progress.state(event)

    def _leave(self, why: str) -> None:
        screen = self._link.screen
        if self._order_id is None:
            # the answer to a submission may have been on its way: do not claim that none exists
            screen.print(Text(f"{why}: no order came back; quietswap history lists any.", "yellow"))
            return
        screen.print(Text(f"{why}: the order goes on without us. To look again:", "yellow"))
        screen.print(Text(f"  quietswap history --order {self._order_id} --follow"), soft_wrap=True)

    def _report(self, result: SwapResult) -> None:
        self._link.result(_machine(result))
        status, raw = result.status, self._link.raw
        rows: list[tuple[str, Any]] = []
        if result.received is not None:
            bps = difference_bps(result.received, result.quote.buy_amount)
            style = "bold green" if result.received >= result.quote.min_buy_amount else "bold red"
            rows.append(("received", Text(self._buy.show(result.received, raw=raw), style)))
            promised = self._buy.show(result.quote.buy_amount, raw=raw)
            rows.append(("promised", f"{promised} ({bps / 100:+.2f} %)"))
            rows.append(("minimum", self._buy.show(result.quote.min_buy_amount, raw=raw)))
        elif result.succeeded:
            rows.append(("received", "unknown without --rpc-url; at least the minimum"))
            rows.append(("minimum", self._buy.show(result.quote.min_buy_amount, raw=raw)))
        if status.error is not None:
            rows.append((status.status, Text(f"{status.error.code}: {status.error.message}")))
        if status.gas_used is not None and status.effective_gas_price is not None:
            cost = ETHER.show(status.gas_used * status.effective_gas_price)
            price = _GWEI.show(status.effective_gas_price)
            rows.append(("gas", f"{status.gas_used:,} at {price} = {cost}"))
        self._link.screen.print(facts(*rows))


def _machine(result: SwapResult) -> dict[str, Any]:
    return {
        "ok": result.succeeded,
        "order": result.status,
        "received": None if result.received is None else str(result.received),
        "promised": result.quote.buy_amount,
        "minimum": result.quote.min_buy_amount,
        "approvals": [
            {
                "token": each.token,
                "router": each.router,
                "amount": str(each.amount),
                "txHash": each.receipt.transaction_hash,
            }
            for each in result.approvals
        ],
        "quote": result.quote,
    }
