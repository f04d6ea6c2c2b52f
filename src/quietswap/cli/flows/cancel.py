"""`quietswap cancel` at a terminal: prompt, progress, and which transaction was mined."""

from dataclasses import replace
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from quietswap.cli.flows.signing import SigningFlow
from quietswap.cli.interrupts import signals_as_ctrl_c
from quietswap.cli.output.exit_codes import REFUSED
from quietswap.cli.output.order_progress import final_text, reported_text
from quietswap.cli.output.orders import order_details
from quietswap.cli.output.quote import nonce_to_sign, to_sign
from quietswap.client import ClientError, OutcomeWatch, StatusContradiction, node_calls
from quietswap.client.flows.cancel import CancelRequest, CancelResult, Event
from quietswap.rules.contract.orders import CancelOrderResponse, CancelQuoteResponse


class CancelRun(SigningFlow):
    """Runs the client's cancel flow; prints its events and the result."""

    _request: CancelRequest

    def __call__(self, request: CancelRequest) -> None:
        """Cancel; exit code 1 unless the order is cancelled."""
        self._request, cancel = replace(request, accept=self._accept), self._client.cancel
        result = self._run(lambda: cancel(self._request, self._signer, self._print_event))
        self._report(result)
        if not result.cancelled:
            raise click.exceptions.Exit(REFUSED)

    def _explain(self, error: ClientError) -> None:
        if self._signer.called and not isinstance(error, StatusContradiction):
            self._leave("Not decided yet")

    def _accept(self, quote: CancelQuoteResponse) -> bool:
        screen, params = self._context.screen, quote.transaction_params
        screen.print(Text(f"cancel {quote.order_id}", "bold"))
        self._print_signer()
        counted = None
        if self._context.rpc_url is not None:
            counted = self._client.node(node_calls.nonce(self._request.wallet, "latest"))
        nonce = nonce_to_sign(params.nonce, counted)
        screen.print(to_sign(params, "the wallet itself: an empty transfer", nonce))
        screen.print()
        return self._confirm()

    def _print_event(self, event: Event) -> None:
        if isinstance(event, CancelQuoteResponse):
            return
        if isinstance(event, CancelOrderResponse):
            self._progress.say(f"cancel     {event.cancel.order_id}")
            self._progress.say(f"tx {event.cancel.tx_hash}")
            self._progress.start()
        elif isinstance(event, OutcomeWatch):
            text = f"{event.why}; asking your own node which of the two is in a block, for at most"
            self._progress.say(f"{text} {event.seconds:.0f} s")
        elif event.order_id == self._request.order_id:
            self._final = final_text(event)
            self._progress.say(f"order      {reported_text(event.status)}")
        else:
            self._progress.say(f"cancel     {reported_text(event.status)}")

    def _open_order(self) -> dict[str, Any]:
        return {"orderId": self._request.order_id}

    def _leave(self, why: str, known: str | None = None) -> None:
        self._progress.stop()
        say, known = self._context.say, known or "the order or its cancel may still be mined"
        say(f"{why}: {known}.", "yellow")
        self._print_signed()
        say("To check the order:")
        self._context.again("history", "--order", self._request.order_id, "--follow")

    def _report(self, result: CancelResult) -> None:
        wants_text, screen = self._context.result(_machine(result)), self._context.screen
        screen.print()
        screen.print(_verdict(result))
        if wants_text:
            screen.print(self._details(result))

    def _details(self, result: CancelResult) -> RenderableType:
        """Return the order's facts. A failure to read its tokens does not change the result."""
        try:
            with signals_as_ctrl_c():
                return order_details(result.status, self._client, self._context)
        except (ClientError, KeyboardInterrupt) as error:
            reason = str(error) or "interrupted"
            return Text(f"the order cannot be shown: {reason}", "yellow")


def _verdict(result: CancelResult) -> Text:
    nonce, status = result.quote.transaction_params.nonce, result.status.status
    if result.cancelled and result.checked:
        text = f"Cancelled: nonce {nonce} is used: nothing else with nonce {nonce} can be mined."
        return Text(text, "bold green")
    if result.cancelled:
        text = "The service says that it is cancelled; not checked."
    elif result.swap is not None and result.swap.succeeded:
        text = "The swap was faster: it took place, nothing was cancelled."
    elif status == "confirmed" and not result.checked:
        text = "The service says that the swap was faster: it took place; not checked."
    elif result.fate == "replaced" and result.swap is None:
        text = f"Another transaction used nonce {nonce}: neither this cancel nor anything else with"
        text += f" nonce {nonce} can be mined."
    else:
        text = f"Not cancelled by this transaction: the order is {reported_text(status)}."
    return Text(text, "bold yellow")


def _machine(result: CancelResult) -> dict[str, Any]:
    return {
        "ok": result.cancelled,
        "cancelled": result.cancelled,
        "checked": result.checked,
        "fate": result.fate,
        "nonce": result.quote.transaction_params.nonce,
        "order": result.status,
        "cancel": result.end,
        "submission": result.submission,
    }
