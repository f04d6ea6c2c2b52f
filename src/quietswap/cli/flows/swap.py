"""`quietswap swap` at a terminal: quote, prompt, progress and the amount received."""

import contextlib
from dataclasses import replace
from typing import Any

import click
from rich.text import Text

from quietswap.cli.flows.signing import SAME_NONCE, SigningFlow, is_open_mismatch
from quietswap.cli.options.connection import confirm
from quietswap.cli.output import quote as output
from quietswap.cli.output import swap_result
from quietswap.cli.output.exit_codes import REFUSED, SHORT, UNDECIDED
from quietswap.cli.output.order_end import shown_state
from quietswap.cli.output.order_progress import final_text
from quietswap.cli.output.tokens import ETHER, WETH, DisplayToken
from quietswap.client import OutcomeWatch, SwapPlan, SwapRequest, SwapSimulation, errors, node_calls
from quietswap.client.errors import ApiError, ClientError
from quietswap.client.flows.approvals import ApprovalSent, Approved
from quietswap.client.flows.plan import planned
from quietswap.client.flows.polling import find_open_order
from quietswap.client.flows.swap import Event, SwapResult
from quietswap.rules.amounts import UINT256_MAX
from quietswap.rules.contract.orders import OrderStatusResponse, SwapOrderResponse
from quietswap.rules.contract.quotes import SwapQuoteResponse
from quietswap.rules.contract.transactions import TransactionParams
from quietswap.rules.safety.loss import Loss

AGAIN = (
    "raw",
    "slippage-bps",
    "approve",
    "at-least",
    "receive",
    "max-sell",
    "max-impact",
    "max-loss",
    "max-fee",
)
"""Options of `swap` that the retry command repeats."""
_SAME_BPS = 50
"""A loss that is so little above the confirmed one is not asked for again."""


class SwapRun(SigningFlow):
    """Runs the client's swap flow; prints its events and the result."""

    _request: SwapRequest
    _sell: DisplayToken
    _buy: DisplayToken
    _plan: SwapPlan | None = None
    """The newest plan of the client's flow, which decides; here it is shown."""
    _agreed: SwapPlan | None = None
    """What was accepted; later plans are compared with it."""
    _asks = False
    """Whether the loss of the newest plan is to be asked for, instead of a plain question."""
    _order_id: str | None = None
    _no_order = "no response with an order"
    _has_ended = False
    _approved = 0
    """Approvals that a block has."""

    def __call__(self, request: SwapRequest, sell: DisplayToken, buy: DisplayToken) -> None:
        """Swap; the exit codes are those of `quietswap.cli.output.exit_codes`."""
        self._take(request, sell, buy)
        try:
            result = self._run(self._swapped)
        except errors.NonceMismatch:
            if not self._queues():
                raise
            result = self._run(self._swapped)
        self._context.result(swap_result.machine(result))
        self._context.screen.print()
        self._context.screen.print(swap_result.report(result, self._buy))
        if result.may_be_mined:
            self._leave("Not decided by any block")
            self._retry(_params(result.quote).nonce)
            raise click.exceptions.Exit(UNDECIDED)
        if not result.succeeded:
            raise click.exceptions.Exit(SHORT if result.fell_short else REFUSED)

    def _take(self, request: SwapRequest, sell: DisplayToken, buy: DisplayToken) -> None:
        """Take what to swap, and ask on the terminal what the flow asks."""
        confirm = None if self._yes else self._confirm_loss
        self._request = replace(request, accept=self._accept, confirm=confirm)
        self._sell, self._buy = sell, buy

    def _swapped(self) -> SwapResult:
        result = self._client.swap(self._request, self._signer, self._print_event)
        if (state := shown_state(result.fate)) is not None:
            self._progress.name(state)
        return result

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
        refusal = self._refused_behind(nonce)
        if refusal is not None:
            self._context.say(f"To swap behind it is not possible now: {refusal}")
        elif not self._yes:
            if confirm(f"Swap behind it, with nonce {nonce}?", skip=False):
                self._request = replace(self._request, nonce=nonce)
                return True
            return False
        else:
            self._context.say("To swap behind it, which then must be mined first:")
            self._print_again("swap", *self._words(), nonce=nonce, options=AGAIN)
        self._context.say("To wait for it:")
        self._context.again("history", "--order", order_id, "--follow")
        return False

    def _refused_behind(self, nonce: int) -> ClientError | None:
        """Return why a swap with this nonce would be refused; None if it may be signed."""
        request = replace(self._request, nonce=nonce)
        polling, orders = self._client.polling, self._client.orders
        plan = planned(request, polling, lambda _event: None, orders, has_node=True)
        try:
            return self._client.run(plan).refusal
        except ClientError as error:
            return error

    def _behind_open_order(self) -> tuple[str, int] | None:
        """Return an open order of the wallet and the nonce that the service has behind it."""
        if self._context.rpc_url is None or self._request.nonce is not None:
            return None
        wallet = self._request.wallet
        with contextlib.suppress(ClientError):
            search = find_open_order(wallet, self._client.polling, has_node=True)
            order_id = self._client.run(search)
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
        when = "and may still be mined" if is_open else "before this"
        text = f"The swap was not signed, but an approval was sent, {when}:"
        self._context.say(text, "yellow")
        self._print_signed()
        self._context.approval["approval"] = self._signer.signed()

    def _planned(self, plan: SwapPlan) -> None:
        """Keep a plan. Show one that the flow is about to refuse: it raises why."""
        self._plan = plan
        if plan.refusal is not None:
            self._progress.stop()
            if self._agreed is not None:
                self._print_change(self._changes(plan, self._agreed))
            self._show(plan)

    def _accept(self, _: SwapQuoteResponse) -> bool:
        """Show the plan and ask. Ask again only if a new one is worse than the accepted one.

        A loss that the request does not accept is asked for by the flow, in words.
        """
        plan, agreed = self._newest, self._agreed
        change = None if agreed is None else self._changes(plan, agreed)
        if agreed is not None and self._context.rpc_url is None:
            _require_submittable(plan.quote)
        if agreed is not None and change is None:
            return True
        self._progress.stop()
        self._print_change(change)
        self._show(plan)
        if change is not None and self._yes:
            return agreed is not None and plan.quote.buy_amount >= agreed.quote.min_buy_amount
        self._asks = plan.needs_consent
        if not self._asks and not self._confirm(self._doing):
            return False
        self._agreed = plan
        return True

    def _print_change(self, change: str | None) -> None:
        if change is not None:
            self._context.screen.print()
            self._context.screen.print(Text(change, "yellow"))

    def _confirm_loss(self, _: object, loss: Loss) -> bool:
        """Ask for a loss in words, unless one like it was confirmed and nothing became worse."""
        agreed = self._agreed
        if not self._asks and agreed is not None and loss.bps <= agreed.loss.bps + _SAME_BPS:
            return True
        self._progress.stop()
        self._asks = False
        if not self._confirm(self._doing, loss):
            return False
        self._agreed = replace(self._newest, loss=loss)
        return True

    @property
    def _newest(self) -> SwapPlan:
        assert self._plan is not None  # the flow tells a plan before it asks
        return self._plan

    @property
    def _doing(self) -> str:
        return "approving" if self._newest.approvals else "submitting"

    def _changes(self, plan: SwapPlan, agreed: SwapPlan) -> str | None:
        """Return what is worse in a new plan than in the accepted one, or None."""
        quote, before = plan.quote, agreed.quote
        if self._request.sell_amount is None:
            if quote.sell_amount > before.sell_amount:
                return "The market moved: more has to be sold."
        elif quote.min_buy_amount < before.min_buy_amount:
            return "The market moved: this quote is worse."
        if quote.dex_route.target != before.dex_route.target:
            return "Another source is best now: the swap would call another router."
        if not agreed.approvals and self._is_other_nonce(plan, agreed):
            return "The service names another nonce: it may be that of an open order."
        if plan.params.max_gas_cost > 2 * agreed.params.max_gas_cost:
            return "The maximum fee has more than doubled."
        return None

    def _is_other_nonce(self, plan: SwapPlan, agreed: SwapPlan) -> bool:
        """Return whether the nonce changed, and no node of the caller's own checks it."""
        if self._context.rpc_url is not None and not self._request.any_nonce:
            return False
        return plan.params.nonce != agreed.params.nonce

    def _show(self, plan: SwapPlan) -> None:
        screen, quote, facts = self._context.screen, plan.quote, plan.wallet
        approves = facts is not None and self._request.approval != "never"
        sell = self._sold(plan)
        screen.print(output.summary(quote, sell, self._buy, approves=approves))
        if facts is None:
            _require_submittable(quote)
        elif not plan.wraps:  # the flow counts the ETH for the wrap, with its gas
            self._require_funds(facts.sell_balance, quote.sell_amount, sell, "swap")
        floor = plan.request.at_least
        if floor is not None and quote.min_buy_amount < floor:
            least = self._buy.show(floor)
            signed = "not" if self._signer.called else "nothing was"
            raise errors.QuoteDeclined(f"it could deliver less than {least}: {signed} signed")
        if plan.reference is not None and (below := plan.below_percent) is not None:
            screen.print(swap_result.compared(plan.reference, below, self._buy))
        if (notice := output.loss_notice(plan.loss)) is not None:
            screen.print(notice)
        if plan.refusal is None:
            self._show_signatures(plan)

    def _sold(self, plan: SwapPlan) -> DisplayToken:
        """Return the token that a plan sells: WETH once the wrap is not a step of it."""
        return self._sell if plan.wraps else _in_weth(self._sell)

    def _show_signatures(self, plan: SwapPlan) -> None:
        """Show what is to be signed: for whom, the approvals, and the swap."""
        self._print_signer()
        params, facts = plan.params, plan.wallet
        nonce, target = Text(str(params.nonce)), f"router of {plan.quote.source}"
        if facts is None:
            self._print_warning(swap_result.UNCHECKED, "unchecked")
        elif plan.approvals:
            self._show_approvals(plan)
            count = len(plan.approvals)
            each = "the approval" if count == 1 else f"{count} approvals"
            nonce = Text(f"from {facts.next_nonce}: first for {each}, then for the swap")
            if self._request.replace:  # otherwise the client's flow refuses
                self._warn_of_open_orders()
        else:
            nonce = output.nonce_to_sign(params.nonce, facts.next_nonce)
        if plan.is_batched:
            target = self._show_batch(plan)
        if plan.conversion is not None and facts is not None:
            nonce = Text(f"from {facts.next_nonce}: one for each of them")
            self._context.screen.print(output.steps_to_sign(plan.steps))
        others = {
            "approve": plan.approval_gas_wei,
            str(plan.conversion): plan.conversion_gas_wei,
        }
        self._context.screen.print(output.to_sign(params, target, nonce, others=others))

    def _show_batch(self, plan: SwapPlan) -> str:
        """Show what a batched form does beside the swap. Return the name of what is called."""
        quote, inside = plan.quote, plan.request.batch_conversion
        router, amount = output.short(quote.dex_route.target), quote.sell_amount
        sold = _in_weth(self._sell).show(amount)
        steps = output.batch_steps(inside)
        if inside == "wrap":
            self._print_warning(f"in the same transaction: {self._sell.show(amount)}", "wrap")
        text = f"in the same transaction: {router} may move exactly {sold}"
        self._print_warning(text, "approve")
        if inside == "unwrap":
            text = f"in the same transaction: {_in_weth(self._buy).show(quote.min_buy_amount)}, the"
            text += " minimum, arrives as ETH; what is above it stays WETH"
            self._print_warning(text, "unwrap")
        if inside is not None:
            once = f"{steps}: 1 signature, of one transaction"
            self._context.screen.print(output.facts(("to sign", Text(once))))
        return f"the wallet itself: {steps} in one"

    def _show_approvals(self, plan: SwapPlan) -> None:
        router, count = output.short(plan.quote.dex_route.target), len(plan.approvals)
        sell = _in_weth(self._sell)
        amount = sell.show(plan.approvals[-1].amount)
        if self._request.approval == "max":
            amount = f"any amount of {sell.symbol}"
        steps = "" if count == 1 else f" in {count} transactions, as the token first resets it to 0"
        when = "after the wrap" if plan.conversion == "wrap" else "first"
        self._print_warning(f"{when}, publicly{steps}: {router} may move {amount}", "approve")

    def _print_event(self, event: Event) -> None:
        if isinstance(event, SwapPlan):
            self._planned(event)
        elif isinstance(event, ApprovalSent):
            self._progress.say(f"approval   sent with nonce {event.nonce}, in no block yet")
            self._progress.say(f"tx {event.tx_hash}")
        elif isinstance(event, Approved):
            self._approved += 1
            amount = "no limit"
            if event.amount < UINT256_MAX:
                amount = self._sold(self._newest).show(event.amount)
            block = f"in block {event.receipt.block_number:,}"
            self._progress.say(f"approved   {amount} for {output.short(event.router)} {block}")
        elif isinstance(event, SwapSimulation):
            self._progress.say(swap_result.tried(event, self._buy))
        elif isinstance(event, OutcomeWatch):
            self._no_order = event.why
            self._print_watch(event)
        elif isinstance(event, SwapOrderResponse):
            self._order_id = event.order.order_id
            for line in (f"order      {self._order_id}", f"tx {event.order.tx_hash}"):
                self._progress.say(line)
            self._progress.say(f"nonce {self._signer.nonce}")
            for line in f"in a block {event.order.estimated_execution_time}".split("; "):
                self._progress.say(line)
            self._progress.reported(event.order.status)
            self._progress.start()
        elif isinstance(event, OrderStatusResponse):
            self._order_id = event.order_id
            self._has_ended = event.is_terminal
            self._final = final_text(event)
            self._progress.state(event)

    @property
    def _may_be_submitted(self) -> bool:
        return self._order_id is not None or self._swap_is_signed

    @property
    def _has_open_approval(self) -> bool:
        return len(self._signer.called) > self._approved

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

    def _words(self) -> tuple[str, ...]:
        """Return AMOUNT, SELL and BUY of this swap: `all` may be another amount next time."""
        pair = self._sell.word, self._buy.word
        if self._request.sell_amount is None:
            return pair
        return self._sell.number(self._request.sell_amount).replace(",", ""), *pair


def _in_weth(token: DisplayToken) -> DisplayToken:
    """Return the token that the swap itself moves."""
    return replace(WETH, raw=token.raw) if token == ETHER else token


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
