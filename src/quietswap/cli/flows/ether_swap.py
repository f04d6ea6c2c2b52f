"""`quietswap swap` with ETH at a terminal: one prompt, each step, and what is left if it stops."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from quietswap.cli.flows.swap import AGAIN, SwapRun
from quietswap.cli.options.connection import confirm, typed_options
from quietswap.cli.options.signing import SIGNING
from quietswap.cli.output import swap_result
from quietswap.cli.output.exit_codes import REFUSED, SHORT, UNDECIDED
from quietswap.cli.output.lost_output import is_written
from quietswap.cli.output.quote import facts
from quietswap.cli.output.tokens import ETHER, WETH, DisplayToken
from quietswap.cli.signed_orders import SignedOrdersFile
from quietswap.client import SubmittedTransaction, SwapRequest, TradeStep
from quietswap.client.errors import ClientError, NonceMismatch, QuoteDeclined, UnfinishedTrade
from quietswap.client.flows import ether_swap
from quietswap.client.flows.effects import Flow
from quietswap.client.flows.ether_swap import TradeResult
from quietswap.client.flows.swap import Event
from quietswap.client.flows.trade import Step, Terms, Trade, progress, trade_of

_DONE: dict[Step, str] = {
    "wrap": "wrapped",
    "swap": "swapped",
    "unwrap": "unwrapped",
    "batch": "swapped",
}
_AGAIN = {
    "open": "is open: it is waited for, and not signed again",
    "unshown": "was signed before, and neither the service nor your node shows it: it is signed"
    " again with the same nonce, so at most one of the two can be mined",
    "reverted": "was mined before and reverted: it is signed again",
    "replaced": "was replaced before by another transaction with its nonce: it is signed again",
}
_RESUMED = tuple(name for name in AGAIN if name not in ("raw", "at-least", "receive", "max-sell"))
"""Options of `swap` that the command to go on repeats: the terms themselves are recorded."""


class EtherSwapRun(SwapRun):
    """Runs the client's swap with ETH; prints its steps, its result, and how to go on."""

    _trade: str | None = None
    _terms: Terms | None = None
    _is_resumed = False
    """An earlier run may have signed approvals whose receipts are not recorded."""
    _wraps = 0
    """Wraps that were signed in this run; they call the token, as an approval does."""
    _open: SubmittedTransaction | None = None
    """The signed transaction of a step that no block is known to have."""

    def __call__(
        self,
        request: SwapRequest,
        sell: DisplayToken,
        buy: DisplayToken,
        tx_hash: str | None = None,
    ) -> None:
        """Run all steps, or go on with the recorded trade of a transaction.

        An unfinished trade of the same pair is gone on with if the person wants it.
        """
        orders = self._client.orders
        assert isinstance(orders, SignedOrdersFile)
        with orders.swap_with_ether(request.wallet, trade=tx_hash, is_new=request.new_trade):
            self._begin(request, sell, buy, tx_hash)

    def _begin(
        self, request: SwapRequest, sell: DisplayToken, buy: DisplayToken, tx_hash: str | None
    ) -> None:
        self._take(request, sell, buy)
        self._mined: dict[Step, int] = {}
        self._is_resumed = tx_hash is not None
        run = partial(self._flow, ether_swap.swap)
        if tx_hash is not None:
            trade = trade_of(self._client.orders, tx_hash)
            if trade.terms.wallet.lower() == request.wallet.lower():
                self._trade, self._terms = trade.tx_hash, trade.terms
            run = partial(self._resumed, trade)
        try:
            self._end(self._follow(run))
        except UnfinishedTrade as error:
            self._choose(error.trade)

    def _flow(
        self, make: Callable[..., Flow[TradeResult]], *first: Any, **more: Any
    ) -> TradeResult:
        client, has_node = self._client, self._context.rpc_url is not None
        at = self._signer, client.polling, self._print_event, client.orders
        return client.run(make(*first or (self._request,), *at, has_node=has_node, **more))

    def _resumed(self, trade: Trade) -> TradeResult:
        """Ask for an unwrap that is all that is left; a swap is asked for with its plan."""
        polling, orders = self._client.polling, self._client.orders
        now = self._client.run(progress(trade.terms, trade, orders, polling))
        if now.next is not None and now.next.step == "unwrap" and now.next.state != "open":
            received = now.received(trade.terms) or 0
            self._context.screen.print(Text(f"unwrap {self._weth.show(received)} into ETH", "bold"))
            self._print_signer()
            if not self._confirm():
                raise QuoteDeclined("the unwrap was not accepted")
        return self._flow(ether_swap.resumed, trade.tx_hash, limits=self._request)

    def _choose(self, trade: str) -> None:
        """Go on with an unfinished trade or begin another one, as the person says."""
        words = self._words()
        if self._yes:
            self._context.say("To go on with it:")
            self._print_resume(trade)
            self._context.say("To begin another one:")
            self._context.again("swap", *words, "--new", *typed_options(*AGAIN, *SIGNING))
            raise UnfinishedTrade(trade)
        terms = trade_of(self._client.orders, trade).terms
        sold, least = self._sell.show(terms.sell_amount), self._buy.show(terms.at_least)
        text = f"A swap of {sold} for at least {least} was not followed to its end ({trade})."
        self._context.say(text, "yellow")
        if confirm("Go on with it? With no another one is planned", skip=False):
            limits = replace(self._request, sell_amount=terms.sell_amount, max_sell=None)
            self._begin(limits, self._sell, self._buy, trade)
        else:
            self._begin(replace(self._request, new_trade=True), self._sell, self._buy, None)

    def _follow(self, call: Callable[[], TradeResult]) -> TradeResult:
        try:
            return self._run(call)
        except NonceMismatch:
            if not (self._request.batch and self._queues()):
                raise
            return self._run(call)
        except (click.ClickException, click.Abort):
            self._leave("Not signed")
            raise

    def _end(self, result: TradeResult) -> None:
        swap, body = result.swap, swap_result.trade_machine(result)
        mined = [each for step, each in result.mined.items() if step in ("wrap", "unwrap")]
        others = None if self._is_resumed else mined
        self._context.result((swap_result.machine(swap, others) if swap else {}) | body)
        self._context.screen.print()
        if swap is not None:
            inside = int(swap.quote.min_buy_amount) if _leaves_weth(result.terms) else None
            accepted = result.terms.at_least
            text = swap_result.report(
                swap, self._buy, unwrapped=inside, accepted=accepted, others=others
            )
            self._context.screen.print(text)
        elif result.received is not None:
            least = self._buy.show(result.terms.at_least)
            rows: list[tuple[str, RenderableType]] = [
                ("received", self._buy.show(result.received)),
                ("minimum", least),
            ]
            if _leaves_weth(result.terms):
                rows.insert(1, ("of it", f"at least {least}, and the rest WETH"))
            self._context.screen.print(facts(*rows))
        if is_written():  # whoever did not see it would begin again
            ether_swap.remember_end(result, self._client.orders)
        if result.succeeded:
            return
        self._leave("Not finished")
        if swap is not None and swap.may_be_mined:
            raise click.exceptions.Exit(UNDECIDED)
        raise click.exceptions.Exit(SHORT if result.fell_short else REFUSED)

    def _explain(self, error: ClientError) -> None:
        if self._signer.called or self._trade is not None:
            self._leave("Stopped", declined=isinstance(error, QuoteDeclined))

    @property
    def _may_be_submitted(self) -> bool:
        return bool(self._signer.called)

    @property
    def _has_open_approval(self) -> bool:
        """Whether an approval was signed that no block has: it calls the token that is sold."""
        if self._sell == ETHER and "wrap" not in self._mined:
            return False  # it is signed after the wrap
        token = (self._weth if self._sell == ETHER else self._sell).address.lower()
        called = [target.lower() for target in self._signer.called]
        wraps = self._wraps if self._sell == ETHER else 0
        is_last = called[-1:] == [token]
        return is_last and called.count(token) - wraps > self._approved and self._open is None

    def _interrupted(self) -> int:
        self._leave("Interrupted")
        state, is_open = self._standing(), self._open is not None or self._has_open_approval
        name = "LEFT_OPEN" if is_open else "ABORTED"
        body = {"ok": False, "error": name, "message": f"stopped; {state}"}
        self._context.result(body | self._context.approval)
        return UNDECIDED if is_open else REFUSED

    def _standing(self) -> str:
        """Return what is done, and what may still be mined."""
        done = [f"{self._done(step)} {_DONE[step]}" for step in self._mined]
        if self._open is not None:
            sent = self._open
            text = f"{sent.what} was signed and may still be mined: nonce {sent.nonce}"
            done.append(f"{text}, tx {sent.tx_hash}")
        elif self._has_open_approval:
            done.append("an approval was signed and may still be mined")
        elif self._approved:
            done.append("the router is approved")
        did = "submitted" if self._signer.called else "signed"
        return ", and ".join(done) or f"nothing was {did}"

    def _leave(self, why: str, known: str | None = None, *, declined: bool = False) -> None:
        """Print what is done, and the commands that go on."""
        self._progress.stop()
        say = self._context.say
        say(f"{why}: {self._standing()}.", "yellow")
        if self._trade is None:
            return
        self._context.approval["trade"] = self._trade
        holds = self._mined.keys() == {"wrap"} and self._open is None
        say("To go on with it, at the accepted terms:" if holds else "To go on with it:")
        self._print_resume(self._trade)
        if holds and declined and self._terms is not None:
            amount = self._number(self._terms.sell_amount)
            say(f"The wallet holds {self._done('wrap')} as WETH. To swap it at the price of now:")
            words = "swap", amount, WETH.word, self._buy.word
            self._context.again(*words, *typed_options(*_RESUMED, "raw", *SIGNING))
            say("To have ETH again:")
            self._context.again("unwrap", amount, *typed_options("raw", *SIGNING))

    def _print_resume(self, trade: str) -> None:
        names = [each for each in _RESUMED if not (self._request.batch and each == "approve")]
        self._context.again("swap", "--resume", trade, *typed_options(*names, *SIGNING))

    def _number(self, wei: int) -> str:
        return self._weth.number(wei).replace(",", "")

    @property
    def _weth(self) -> DisplayToken:
        return replace(WETH, raw=self._context.raw)

    def _done(self, step: Step) -> str:
        """Return the amount of a mined step with its token."""
        amount = self._mined[step]
        token = {"wrap": replace(ETHER, raw=self._context.raw), "unwrap": self._weth}
        return token.get(step, self._bought).show(amount)

    @property
    def _bought(self) -> DisplayToken:
        """The token that the swap itself buys."""
        return self._weth if self._buy == ETHER else self._buy

    def _print_event(self, event: Event) -> None:
        if isinstance(event, TradeStep):
            self._print_step(event)
        else:
            super()._print_event(event)

    def _print_step(self, event: TradeStep) -> None:
        self._trade = event.trade
        self._terms = trade_of(self._client.orders, event.trade).terms
        if event.state == "mined" and event.receipt is not None:
            self._open = None
            self._mined[event.step] = event.amount
            block = f"in block {event.receipt.block_number:,}"
            self._progress.say(f"{_DONE[event.step]:<10} {self._done(event.step)} {block}")
        elif event.state == "signed":
            self._open = event.sent
            self._wraps += event.step == "wrap"
            self._progress.say(f"{event.step:<10} signed with nonce {event.sent.nonce}")
            self._progress.say(f"tx {event.sent.tx_hash}")
            self._progress.start()
        else:
            self._open = event.sent if event.state in ("open", "unshown") else None
            self._progress.say(f"{event.step:<10} {_AGAIN[event.state]}", "yellow")


def _leaves_weth(terms: Terms) -> bool:
    """Whether only the minimum of what is bought is ETH: a batch unwraps no more."""
    return terms.is_batched and terms.conversion == "unwrap"
