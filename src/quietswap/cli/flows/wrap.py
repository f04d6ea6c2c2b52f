"""`quietswap wrap` and `unwrap` at a terminal: prompt, progress and balances."""

from dataclasses import replace

from rich.console import RenderableType
from rich.text import Text

from quietswap.cli.flows.signing import SAME_NONCE, SigningFlow, is_open_mismatch
from quietswap.cli.interrupts import signals_as_ctrl_c
from quietswap.cli.output.quote import facts, loss_notice, to_sign
from quietswap.cli.output.tokens import ETHER, WETH, DisplayToken
from quietswap.client import ClientError, MayBeMined, OutcomeWatch, errors
from quietswap.client.flows.wrap import Event, WrapPlan, WrapRequest, WrapResult
from quietswap.rules.contract.wraps import WrapOrderResponse, WrapQuoteResponse

_UNDECIDED = errors.OrderStillOpen, errors.ServiceUnreachable
"""Errors after which a submitted transaction may still be mined, besides `MayBeMined`."""


class WrapRun(SigningFlow):
    """Runs the client's wrap flow; prints its events and the result."""

    _request: WrapRequest
    _plan: WrapPlan
    _tx_hash: str | None = None

    def __call__(self, request: WrapRequest) -> None:
        """Convert; exit code 1 unless it is mined (or submitted, where there is no node)."""
        self._request = replace(
            request,
            accept=lambda _: self._accept(),
            confirm=None if self._yes else lambda _, loss: self._confirm(loss=loss),
            replace=request.replace or not self._yes,
        )
        convert = self._client.convert
        self._report(self._run(lambda: convert(self._request, self._signer, self._print_event)))

    def _explain(self, error: ClientError) -> None:
        is_open = isinstance(error, MayBeMined) or is_open_mismatch(error)
        if is_open or (self._tx_hash is not None and isinstance(error, _UNDECIDED)):
            self._leave("Not decided yet")
        if is_open and self._signer.nonce is not None:
            if order_id := self._find_order(self._signer.tx_hash):
                self._print_cancel_command(order_id)
            if not isinstance(getattr(error, "cause", None), errors.NonceTooLow):
                self._context.say(f"To try again, {SAME_NONCE}", "yellow")
                words = (self._request.operation, self._request.amount)
                self._print_again(*words, nonce=self._signer.nonce)

    def _accept(self) -> bool:
        """Show the plan and ask; a loss that is not accepted is asked for by the flow, in words."""
        self._show(self._plan)
        self._print_signer()
        if self._request.replace:  # otherwise the client's flow refuses
            self._warn_of_open_orders()
        params = self._plan.quote.mev_protection.transaction_params
        self._context.screen.print(to_sign(params, "WETH", Text(str(params.nonce))))
        self._context.screen.print()
        return self._plan.needs_consent or self._confirm()

    def _show(self, plan: WrapPlan) -> None:
        quote, screen, (ether, weth) = plan.quote, self._context.screen, self._pair()
        before, after = (ether, weth) if quote.operation == "wrap" else (weth, ether)
        give, get = before.show(quote.amount_wei), after.show(quote.amount_wei)
        screen.print(Text(f"{quote.operation} {give} into {get}", "bold"))
        self._check_funds(quote)
        if (notice := loss_notice(plan.loss)) is not None:
            screen.print(notice)
        for note in quote.notes:
            self._print_warning(note, "note")

    def _pair(self) -> tuple[DisplayToken, DisplayToken]:
        return replace(ETHER, raw=self._context.raw), replace(WETH, raw=self._context.raw)

    def _check_funds(self, quote: WrapQuoteResponse) -> None:
        """Check the converted amount. The service checks the fee. Raises QuoteDeclined."""
        balances = self._client.wrap_info(self._wallet_signer.wallet).balances
        ether, weth = self._pair()
        token, balance = (
            (ether, balances.eth) if quote.operation == "wrap" else (weth, balances.weth)
        )
        self._require_funds(balance.wei, quote.amount_wei, token, quote.operation)

    def _print_event(self, event: Event) -> None:
        if isinstance(event, WrapPlan):
            self._plan = event
            if event.refusal is not None:
                self._show(event)
        elif isinstance(event, WrapOrderResponse):
            self._tx_hash = event.tx_hash
            self._progress.say(f"tx {event.tx_hash}")
            self._progress.reported(event.status)
            self._progress.start()
        elif isinstance(event, OutcomeWatch):
            self._print_watch(event)
        elif not isinstance(event, WrapQuoteResponse):
            self._progress.name("confirmed")

    def _leave(self, why: str, known: str | None = None) -> None:
        self._progress.stop()
        say = self._context.say
        if self._tx_hash is not None:
            say(f"{why}: the transaction may still be mined: {self._tx_hash}", "yellow")
        else:
            say(f"{why}: no response, but it may have been submitted.", "yellow")
        self._print_signed()
        say("To check its order, and the balances:")
        wallet = self._wallet_signer.wallet
        self._context.again("history", "--wallet", wallet, "--kind", "wrap")
        self._context.again("balances", "--wallet", wallet)

    def _report(self, result: WrapResult) -> None:
        """Print the balances. A failure to read them does not change the result."""
        (ether, weth), rows = self._pair(), list[tuple[str, RenderableType]]()
        if result.receipt is None:
            rows.append(("note", "submitted; without --rpc-url it is not followed"))
        balances = None
        try:
            with signals_as_ctrl_c():
                balances = self._client.wrap_info(self._wallet_signer.wallet).balances
        except (ClientError, KeyboardInterrupt) as error:
            reason = str(error) or "interrupted"
            rows.append(("note", Text(f"the balances cannot be shown: {reason}", "yellow")))
        else:
            rows.append(("ETH", ether.number(balances.eth.wei)))
            rows.append(("WETH", weth.number(balances.weth.wei)))
        members = {"order": result.order, "receipt": result.receipt, "balances": balances}
        self._context.result({"ok": True, **members, "quote": result.quote})
        self._context.screen.print()
        self._context.screen.print(facts(*rows))
