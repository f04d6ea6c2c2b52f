"""One swap at a terminal: shows, asks, and tells what happened to the money."""

from dataclasses import replace

import click
from rich.text import Text

from quietswap.cli.connection import REFUSED, Link, confirm
from quietswap.cli.follow import Progress
from quietswap.cli.render_quote import facts, nonce_to_sign, short, summary, to_sign
from quietswap.cli.render_swap import machine, report
from quietswap.cli.signing_options import Hand, Watched
from quietswap.cli.tokens import Token
from quietswap.client import (
    Approved,
    ClientError,
    Contradicted,
    Declined,
    OtherTransaction,
    QuietswapClient,
    SwapRequest,
    chain,
)
from quietswap.client.resources import OrderStatus, Submission, SwapQuote
from quietswap.client.swaps import Event


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
        client.polling = replace(client.polling, on_trouble=self._troubled)
        self._hand = hand
        self._signer = Watched(hand)
        self._request = replace(request, accept=self._accept, at_least=None)
        self._floor = request.at_least or 0
        self._sell, self._buy = pair
        self._yes = yes
        self._agreed: SwapQuote | None = None
        self._progress = Progress(link.screen)
        self._order_id: str | None = None
        self._approves = False

    def __call__(self) -> None:
        """Swap; exit code 1 unless the order is confirmed."""
        try:
            result = self._client.swap(self._request, self._signer, self._told)
        except KeyboardInterrupt:
            self._interrupted()
            raise click.exceptions.Exit(REFUSED) from None
        except ClientError as error:
            # an order of another transaction is none to wait for, nor is one the chain has decided
            is_over = isinstance(error, OtherTransaction | Contradicted)
            if self._order_id is not None and not is_over:
                self._leave("Not decided yet")
            raise
        finally:
            self._progress.stop()
        self._link.result(machine(result))
        self._link.screen.print()
        self._link.screen.print(report(result, self._buy, raw=self._link.raw))
        if not result.succeeded:
            raise click.exceptions.Exit(REFUSED)

    def _accept(self, quote: SwapQuote) -> bool:
        """Show, and ask; a fresh quote is asked about again unless it keeps to what was agreed."""
        agreed, screen = self._agreed, self._link.screen
        news = None if agreed is None else self._news(quote, agreed)
        if agreed is not None and news is None:
            return True
        self._progress.stop()
        if news is not None:
            screen.print(Text(f"\n{news}", "yellow"))
        self._show(quote)
        if news is not None and self._yes:
            return agreed is not None and quote.buy_amount >= agreed.min_buy_amount
        if not confirm("Sign and submit?", skip=self._yes):
            return False
        self._agreed = quote
        self._hand.ready()
        # the clock starts when the person has agreed
        self._progress = Progress(screen, "approving" if self._approves else "submitting")
        if self._hand.is_quiet:
            self._progress.start()
        return True

    def _news(self, quote: SwapQuote, agreed: SwapQuote) -> str | None:
        """Return what is not as agreed in a fresh quote, or None."""
        if quote.min_buy_amount < agreed.min_buy_amount:
            return "The market moved: this quote is worse."
        if quote.dex_route.target != agreed.dex_route.target:
            return "Another source is best now: its router is another one."
        if _cap(quote) > 2 * _cap(agreed):
            return "The fee may now be more than twice as much."
        return None

    def _show(self, quote: SwapQuote) -> None:
        screen, raw = self._link.screen, self._link.raw
        screen.print(summary(quote, self._sell, self._buy, raw=raw))
        if self._link.rpc_url is not None:
            self._check_funds(quote)
        if quote.min_buy_amount < self._floor:
            floor = self._buy.show(self._floor, raw=raw)
            raise Declined(f"it could deliver less than {floor}: nothing was signed")
        screen.print(Text(f"\nTo sign for {self._hand.wallet}, {self._hand.how}", "bold"))
        params = quote.mev_protection.transaction_params
        nonce = Text(str(params.nonce))
        if self._link.rpc_url is None:
            note = "without --rpc-url the allowance is left to you"
            screen.print(facts(("approve", Text(note, "yellow"))))
        else:
            counted = self._client.node(chain.nonce(self._request.wallet))
            nonce = nonce_to_sign(params.nonce, counted)
            self._approves = self._request.approval != "never" and self._show_allowance(quote)
            if self._approves:
                nonce = Text(f"{params.nonce} for the approval, the next for the swap")
        screen.print(to_sign(params, f"router of {quote.source}", nonce))
        screen.print()

    def _check_funds(self, quote: SwapQuote) -> None:
        """Say so before anybody is asked. Raises Declined."""
        held = self._client.node(chain.token_balance(quote.sell_token, self._request.wallet))
        if held < quote.sell_amount:
            has, needs = (self._sell.show(n, raw=self._link.raw) for n in (held, quote.sell_amount))
            raise Declined(f"the wallet holds {has}, the swap needs {needs}")

    def _show_allowance(self, quote: SwapQuote) -> bool:
        """Show the approval that comes first, and return whether there is one."""
        router, raw = quote.dex_route.target, self._link.raw
        call = chain.allowance(quote.sell_token, self._request.wallet, router)
        if self._client.node(call) >= quote.sell_amount:
            return False
        amount = self._sell.show(quote.sell_amount, raw=raw)
        if self._request.approval == "max":
            amount = f"any amount of {self._sell.symbol}"
        text = f"first, publicly: {short(router)} may move {amount}"
        self._link.screen.print(facts(("approve", Text(text, "yellow"))))
        return True

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

    def _troubled(self, error: ClientError, seconds: float) -> None:
        self._progress.trouble(error, seconds)

    def _interrupted(self) -> None:
        """Say what is known to exist: an order, an approval, or nothing."""
        approved = bool(self._signer.called)
        if self._order_id is not None or self._swap_is_signed:
            self._leave("Interrupted")
            self._link.result({"ok": False, "error": "LEFT_OPEN", "orderId": self._order_id})
            return
        self._progress.stop()
        what = "the swap was not signed, but an approval was" if approved else "nothing was signed"
        self._link.say(Text(f"Interrupted: {what}.", "yellow"))
        self._link.result({"ok": False, "error": "ABORTED", "message": f"stopped; {what}"})

    @property
    def _swap_is_signed(self) -> bool:
        """An approval calls the token, only the swap another contract."""
        token = self._request.sell_token.lower()
        return any(called.lower() != token for called in self._signer.called)

    def _leave(self, why: str) -> None:
        self._progress.stop()
        say = self._link.say
        if self._order_id is not None:
            say(Text(f"{why}: the order goes on without us. To look again:", "yellow"))
            self._link.again("history", "--order", self._order_id, "--follow")
        else:
            # an answer may have been on its way: do not claim that none exists
            say(Text(f"{why}: no order came back. To see whether one exists:", "yellow"))
            self._link.again("history", "--wallet", self._hand.wallet)


def _cap(quote: SwapQuote) -> int:
    params = quote.mev_protection.transaction_params
    return params.gas_limit * params.max_fee_per_gas
