"""`quietswap swap` at a terminal: quote, prompt, progress and the amount received."""

import contextlib
from dataclasses import replace
from decimal import Decimal
from typing import Any

import click
from rich.text import Text

from quietswap.cli.flows.signing import SAME_NONCE, SigningFlow, is_open_mismatch
from quietswap.cli.options.connection import confirm
from quietswap.cli.output import quote as output
from quietswap.cli.output.exit_codes import REFUSED, SHORT, UNDECIDED
from quietswap.cli.output.order_progress import final_text
from quietswap.cli.output.tokens import DisplayToken
from quietswap.client import OutcomeWatch, SwapRequest, SwapSimulation, errors, node_calls
from quietswap.client.errors import ApiError, ClientError
from quietswap.client.flows import quoting, reference_price
from quietswap.client.flows.approvals import ApprovalSent, Approved, approval_cost
from quietswap.client.flows.polling import find_open_order
from quietswap.client.flows.swap import Event, SwapResult
from quietswap.rules.contract.orders import OrderStatusResponse, SwapOrderResponse
from quietswap.rules.contract.quotes import SwapQuoteResponse
from quietswap.rules.contract.transactions import TransactionParams
from quietswap.rules.safety.loss import Loss

AGAIN = (
    "raw",
    "slippage-bps",
    "approve",
    "at-least",
    "max-impact",
    "max-loss",
    "max-fee",
    "router",
    "accept-unbound",
)
"""Options of `swap` that the retry command repeats."""


class SwapRun(SigningFlow):
    """Runs the client's swap flow; prints its events and the result."""

    _asked: SwapRequest
    """What is checked here, after the quote is shown; the client's flow accepts any loss."""
    _request: SwapRequest
    _sell: DisplayToken
    _buy: DisplayToken
    _loss: Loss | None = None
    """What must be confirmed of the latest quote."""
    _agreed: SwapQuoteResponse | None = None
    """What later quotes are compared with."""
    _latest: SwapQuoteResponse | None = None
    """What is signed if it is accepted."""
    _order_id: str | None = None
    _no_order = "no response with an order"
    _has_ended = False
    _approves = False

    def __call__(self, request: SwapRequest, sell: DisplayToken, buy: DisplayToken) -> None:
        """Swap; the exit codes are those of `quietswap.cli.output.exit_codes`."""
        self._asked = replace(request, confirm=None if self._yes else self._confirm_loss)
        self._request = replace(
            request,
            accept=self._accept,
            at_least=None,
            max_impact_percent=None,
            max_loss_percent=Decimal(100),
        )
        self._sell, self._buy = sell, buy
        try:
            result = self._run(self._swapped)
        except errors.NonceMismatch:
            if not self._queues():
                raise
            result = self._run(self._swapped)
        self._context.result(output.machine(result))
        self._context.screen.print()
        self._context.screen.print(output.report(result, self._buy))
        if result.may_be_mined:
            self._leave("Not decided by any block")
            self._retry(_params(result.quote).nonce)
            raise click.exceptions.Exit(UNDECIDED)
        if not result.succeeded:
            raise click.exceptions.Exit(SHORT if result.fell_short else REFUSED)

    def _swapped(self) -> SwapResult:
        return self._client.swap(self._request, self._signer, self._print_event)

    def _queues(self) -> bool:
        """Return whether a person wants the nonce behind an open order; else print how to do it.

        No node counts private orders: only the service says that one is open, and it may lie.
        """
        behind = None if self._signer.called else self._behind_open_order()
        if behind is None:
            return False
        order_id, nonce = behind
        text = f"order {order_id} is open; the service counts it, and its next nonce is {nonce}"
        self._print_warning(text, "open")
        if not self._yes:
            if confirm(f"Swap behind it, with nonce {nonce}?", skip=False):
                self._request = replace(self._request, nonce=nonce)
                return True
            return False
        self._context.say("To swap behind it, which then must be mined first:")
        self._print_again("swap", *self._words(), nonce=nonce, options=AGAIN)
        self._context.say("To wait for it:")
        self._context.again("history", "--order", order_id, "--follow")
        return False

    def _behind_open_order(self) -> tuple[str, int] | None:
        """Return an open order of the wallet and the nonce that the service has behind it."""
        if self._context.rpc_url is None or self._request.nonce is not None:
            return None
        wallet = self._request.wallet
        with contextlib.suppress(ClientError):
            found = find_open_order(wallet, self._client.polling, has_node=True)
            order_id = self._client.run(found)
            nonce = _params(self._client.quote(self._request)).nonce
            if order_id and nonce and nonce > self._client.node(node_calls.nonce(wallet)):
                return order_id, nonce
        return None

    def _explain(self, error: ClientError) -> None:
        if self._signer.called and not self._swap_is_signed:
            self._explain_approval(error)
            return
        if not isinstance(
            error, errors.OrderStillOpen | errors.MayBeMined | errors.TransactionHashMismatch
        ):
            return
        self._order_id = self._order_id or error.order_id
        if self._order_id is None and error.tx_hash is not None:
            self._order_id = self._find_order(error.tx_hash)
        elif self._order_id and _is_refusal(error):
            self._has_ended = False
            with contextlib.suppress(ClientError):  # an order that has ended takes no cancel
                self._has_ended = self._client.order_status(self._order_id).is_terminal
        if not isinstance(error, errors.TransactionHashMismatch) or is_open_mismatch(error):
            self._leave("Not decided yet")
            if not isinstance(error, errors.OrderStillOpen):
                self._retry(error.nonce)

    def _explain_approval(self, error: ClientError) -> None:
        """Print the approval that is sent, though no swap is signed."""
        self._progress.stop()
        is_open = isinstance(error, errors.MayBeMined | errors.OrderStillOpen)
        how = "and may still be mined" if is_open else "before this"
        text = f"The swap was not signed, but an approval was sent, {how}:"
        self._context.say(text, "yellow")
        self._print_signed()
        self._context.approval["approval"] = self._signer.signed()

    def _accept(self, quote: SwapQuoteResponse) -> bool:
        """Show the quote and ask. Ask again only if a new quote is worse than the accepted one."""
        agreed, screen, self._latest = self._agreed, self._context.screen, quote
        change = None if agreed is None else self._changes(quote, agreed)
        if agreed is not None and self._context.rpc_url is None:
            _require_submittable(quote)
        if agreed is not None and change is None:
            return True
        self._progress.stop()
        if change is not None:
            screen.print()
            screen.print(Text(change, "yellow"))
        self._show(quote)
        if change is not None and self._yes:
            return agreed is not None and quote.buy_amount >= agreed.min_buy_amount
        if not self._confirm("approving" if self._approves else "submitting", self._loss):
            return False
        self._agreed = quote
        return True

    def _changes(self, quote: SwapQuoteResponse, agreed: SwapQuoteResponse) -> str | None:
        """Return what is worse in a new quote than in the accepted one, or None."""
        if quote.min_buy_amount < agreed.min_buy_amount:
            return "The market moved: this quote is worse."
        if quote.dex_route.target != agreed.dex_route.target:
            return "Another source is best now: the swap would call another router."
        if not self._approves and self._is_other_nonce(quote, agreed):
            return "The service names another nonce: it may be that of an open order."
        if _params(quote).max_gas_cost > 2 * _params(agreed).max_gas_cost:
            return "The maximum fee has more than doubled."
        return None

    def _is_other_nonce(self, quote: SwapQuoteResponse, agreed: SwapQuoteResponse) -> bool:
        """Return whether the nonce changed, and no node of the caller's own checks it."""
        if self._context.rpc_url is not None and not self._request.any_nonce:
            return False
        return _params(quote).nonce != _params(agreed).nonce

    def _show(self, quote: SwapQuoteResponse) -> None:
        screen = self._context.screen
        approves = self._context.rpc_url is not None and self._request.approval != "never"
        screen.print(output.summary(quote, self._sell, self._buy, approves=approves))
        if self._context.rpc_url is not None:
            self._check_funds(quote)
        else:
            _require_submittable(quote)
        floor = self._asked.at_least
        if floor is not None and quote.min_buy_amount < floor:
            least = self._buy.show(floor)
            raise errors.QuoteDeclined(f"it could deliver less than {least}: nothing was signed")
        self._compare(quote)
        self._print_signer()
        params, router = _params(quote), f"router of {quote.source}"
        nonce, approval_wei = Text(str(params.nonce)), 0
        if self._context.rpc_url is None:
            self._print_warning(output.UNCHECKED, "unchecked")
        else:
            counted = self._client.node(node_calls.nonce(self._request.wallet))
            nonce = output.nonce_to_sign(params.nonce, counted)
            form = self._show_allowance(quote)
            self._approves = form is None
            if form is None:
                # Before the public approval: its gas would be paid for a swap that is declined.
                self._client.run(quoting.recheck_with_gas(quote, self._asked, quote.estimated_gas))
                approval_wei = self._approval_cost(quote)
                nonce = Text(f"from {counted}: first for the approval, then for the swap")
                if self._request.replace:  # otherwise the client's flow refuses
                    self._warn_of_open_orders()
            elif form is not quote:
                params, router = _params(form), "the wallet itself: approval and swap in one"
        screen.print(output.to_sign(params, router, nonce, approval_wei=approval_wei))

    def _compare(self, quote: SwapQuoteResponse) -> None:
        """Compare the quote with Chainlink prices at the caller's node, and judge its loss.

        Raises QuoteDeclined.
        """
        found, below, asked = None, None, self._asked
        if self._context.rpc_url is not None:
            found = self._client.run(reference_price.find(asked))
        if found is not None:
            below = found.below_percent(quote, asked.slippage_bps)
            self._context.screen.print(output.compared(found, below, self._buy))
        reference_price.require_fair(quote, asked, found)
        loss = quoting.judge_quote(quote, asked.slippage_bps, below)
        floor = asked.at_least is not None
        self._loss = self._unaccepted(loss, quoting.most_bps(asked), has_floor=floor)

    def _check_funds(self, quote: SwapQuoteResponse) -> None:
        held = self._client.node(node_calls.token_balance(quote.sell_token, self._request.wallet))
        self._require_funds(held, quote.sell_amount, self._sell, "swap")

    def _show_allowance(self, quote: SwapQuoteResponse) -> SwapQuoteResponse | None:
        """Show the approval, if one is needed. Return what is signed; None after an approval."""
        router = quote.dex_route.target
        call = node_calls.allowance(quote.sell_token, self._request.wallet, router)
        allowed = self._client.node(call)
        if allowed >= quote.sell_amount:
            return quote
        amount = self._sell.show(quote.sell_amount)
        if self._request.batch:
            form = self._client.run(quoting.batched_quote(quote, self._request, allowed))
            text = f"in the same transaction: {output.short(router)} may move exactly {amount}"
            self._print_warning(text, "approve")
            return form
        polling = self._client.polling
        self._client.run(quoting.require_approvable(self._request, router, allowed, polling))
        if self._request.approval == "max":
            amount = f"any amount of {self._sell.symbol}"
        self._print_warning(f"first, publicly: {output.short(router)} may move {amount}", "approve")
        return None

    def _approval_cost(self, quote: SwapQuoteResponse) -> int:
        wallet, approval = self._request.wallet, self._request.approval
        token, router, amount = quote.sell_token, quote.dex_route.target, quote.sell_amount
        return self._client.run(
            approval_cost(
                token=token, router=router, amount=amount, wallet=wallet, approval=approval
            )
        )

    def _print_event(self, event: Event) -> None:
        if isinstance(event, ApprovalSent):
            self._progress.say(f"approval   sent with nonce {event.nonce}, in no block yet")
            self._progress.say(f"tx {event.tx_hash}")
        elif isinstance(event, Approved):
            amount = "no limit"
            if event.amount < node_calls.UINT256_MAX:
                amount = self._sell.show(event.amount)
            block = f"in block {event.receipt.block_number:,}"
            self._progress.say(f"approved   {amount} for {output.short(event.router)} {block}")
        elif isinstance(event, SwapSimulation):
            self._progress.say(output.tried(event, self._buy))
            if (quote := self._latest) is not None:
                self._client.run(quoting.recheck_with_gas(quote, self._asked, event.gas_used))
        elif isinstance(event, OutcomeWatch):
            self._no_order = event.why
            self._print_watch(event)
        elif isinstance(event, SwapOrderResponse):
            self._order_id = event.order.order_id
            for line in (f"order      {self._order_id}", f"tx {event.order.tx_hash}"):
                self._progress.say(line)
            self._progress.say(f"nonce {self._signer.nonce}")
            self._progress.name(event.order.status)
            self._progress.start()
        elif isinstance(event, OrderStatusResponse):
            self._order_id = event.order_id
            self._has_ended = event.is_terminal
            self._final = final_text(event)
            self._progress.state(event)

    @property
    def _may_be_submitted(self) -> bool:
        return self._order_id is not None or self._swap_is_signed

    def _open_order(self) -> dict[str, Any]:
        return {"orderId": self._order_id}

    @property
    def _swap_is_signed(self) -> bool:
        """Whether the swap was signed: approvals call the token, the swap another contract."""
        token = self._request.sell_token.lower()
        return any(called.lower() != token for called in self._signer.called)

    def _leave(self, why: str, known: str | None = None) -> None:
        self._progress.stop()
        say = self._context.say
        if self._order_id is not None:
            known = known or "the order may still be mined"
            say(f"{why}: {known}. To check it:", "yellow")
            self._context.again("history", "--order", self._order_id, "--follow")
        else:
            # the response may have been lost: do not claim that no order exists
            say(f"{why}: {self._no_order}. To check whether an order exists:", "yellow")
            self._context.again("history", "--wallet", self._wallet_signer.wallet)
        if self._swap_is_signed:
            self._print_signed()
        if self._order_id is not None and not self._has_ended:
            self._print_cancel_command(self._order_id)

    def _retry(self, nonce: int | None) -> None:
        text = f"To swap again, {SAME_NONCE}"
        if self._order_id is not None and not self._has_ended:
            text += " While the order is live the service refuses this: cancel first, and leave"
            text += " --nonce out once it is cancelled."
        self._context.say(text, "yellow")
        self._print_again("swap", *self._words(), nonce=nonce, options=AGAIN)

    def _words(self) -> tuple[str, str, str]:
        """Return AMOUNT, SELL and BUY of this swap: `all` may be another amount next time."""
        number = self._sell.number(self._request.sell_amount)
        return number.replace(",", ""), self._sell.word, self._buy.word


def _is_refusal(error: ClientError) -> bool:
    return isinstance(error, errors.MayBeMined) and isinstance(error.cause, ApiError)


def _params(quote: SwapQuoteResponse) -> TransactionParams:
    return quote.mev_protection.transaction_params


def _require_submittable(quote: SwapQuoteResponse) -> None:
    """Check without a node that the wallet can pay, by the quote. Raises QuoteDeclined."""
    issues = quote.issues
    if issues.balance is not None:
        short = "the wallet holds less than is sold"
    elif issues.allowance is not None:
        short = f"approve {issues.allowance.spender} first, or give --rpc-url"
    elif issues.gas is not None:
        short = "the wallet holds too little ETH for the gas"
    else:
        return
    raise errors.QuoteDeclined(f"nothing was signed: {short}")
