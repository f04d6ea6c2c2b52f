"""Transactions for the caller's own signer: planned by the client, submitted when signed."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal

from quietswap.cli.mcp import trades
from quietswap.cli.mcp.answers import BadInput, Refused, marked, order_named
from quietswap.cli.mcp.quotes import Kept, KeptQuote, find_token, loss_members, summary
from quietswap.cli.options.signing import transaction_json
from quietswap.cli.output.quote import batch_steps
from quietswap.cli.output.swap_result import trade_machine
from quietswap.cli.output.tokens import DisplayToken
from quietswap.client import AsyncQuietswapClient, ClientError, SubmittedTransaction, SwapRequest
from quietswap.client.flows import cancel, finality, submission_outcome, swap, trade_steps
from quietswap.client.flows import wrap as wrap_flow
from quietswap.client.flows.approvals import publish
from quietswap.client.flows.effects import Flow
from quietswap.client.flows.ether_swap import remember_end
from quietswap.client.flows.quote_checks import MAX_FEE_WEI, Approval
from quietswap.client.flows.swap_plan import SwapPlan
from quietswap.client.flows.trade_steps import ReadyStep, first_approval
from quietswap.client.signing import Transaction, hash_of, sign, to_sign
from quietswap.rules.amounts import BPS, format_units
from quietswap.rules.contract.orders import CancelQuoteResponse
from quietswap.rules.contract.wraps import WrapQuoteResponse
from quietswap.rules.safety.loss import Loss, accepted_bps

Kind = Literal["swap", "approval", "cancel", "wrap", "unwrap"]
MAX_LOSS_PERCENT = Decimal(3)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checked transaction. `at` is its time in s of a monotonic clock.

    Of a swap and its approval `kept` is the quote and `loss` what it may lose, by the service's
    figures and by Chainlink's prices at the caller's own node; `approvals` are still to sign. Of a
    cancel and of a wrap there is their quote. `most_gas_wei` is what a signature may cost, and
    `most_gas_of_all` what it and the signatures after it may, of a quote each with fees twice as
    high: the person is asked for it, and the model is told it. `step` is that of a swap with ETH,
    which has the tokens `pair`.
    """

    kind: Kind
    transaction: Transaction
    wallet: str
    at: float
    most_gas_wei: int
    kept: KeptQuote | None = None
    loss: Loss | None = None
    approvals: int = 0
    cancel: CancelQuoteResponse | None = None
    wrap: tuple[wrap_flow.WrapRequest, WrapQuoteResponse] | None = None
    step: ReadyStep | None = None
    pair: trades.Pair | None = None
    plan: SwapPlan | None = None
    batch: str | None = None
    """What the one transaction of a delegated wallet does, in words."""

    @property
    def max_gas_cost(self) -> int:
        """The most that the gas of this transaction may cost, in wei."""
        return _gas_of(self.transaction)

    @property
    def most_gas_of_all(self) -> int:
        if self.plan is None or len(self.plan.steps) == 1:
            return self.most_gas_wei
        return max(self.most_gas_wei, sum(map(_with_room, self.plan.gas_costs)))


def _with_room(cost: int) -> int:
    """Return what a transaction may cost that is signed by a newer quote."""
    return max(cost, min(2 * cost, MAX_FEE_WEI))


def _inside(plan: SwapPlan | None) -> str | None:
    """Return in words what the transaction of a batched plan does."""
    if plan is None or not plan.is_batched:
        return None
    return batch_steps(plan.request.batch_conversion)


def _gas_of(transaction: Transaction) -> int:
    return int(transaction["gas"] * transaction["maxFeePerGas"])


@dataclass(slots=True)
class Preparer:
    """Prepares and submits. `has_node`: whether the caller gave a node of its own.

    No argument of a tool accepts a loss above `max_loss_percent`. With `quotes_again` a swap is
    signed with a newer quote if the person takes long, whose gas may be twice as high.
    """

    client: AsyncQuietswapClient
    has_node: bool
    monotonic: Callable[[], float] = time.monotonic
    max_loss_percent: Decimal = MAX_LOSS_PERCENT
    quotes_again: bool = False
    kept: Kept[Prepared] = field(
        default_factory=lambda: Kept(
            "prepared_id", "nothing prepared here has this id, or it is too old"
        )
    )

    answered: set[str] = field(default_factory=set)
    """Trades whose end was answered: that it arrived shows when it is asked for once more."""

    async def pair(self, sell: str, buy: str) -> tuple[DisplayToken, DisplayToken]:
        """Return the tokens of the arguments `sell` and `buy`, of which one may be ETH.

        Raises BadInput.
        """
        node = self.has_node
        selling = await find_token("sell", sell, self.client, has_node=node, takes_ether=True)
        buying = await find_token("buy", buy, self.client, has_node=node, takes_ether=True)
        if trades.in_weth(selling) == trades.in_weth(buying):
            one_to_one = "the same token as sell"
            if selling != buying:
                one_to_one = "ETH and WETH are one to one: prepare_wrap converts them"
            raise BadInput("buy", one_to_one)
        return selling, buying

    async def swap(
        self,
        request: SwapRequest,
        sell: DisplayToken,
        buy: DisplayToken,
        *,
        max_loss_percent: Decimal | None = None,
    ) -> Prepared:
        """Return the swap of a fresh quote, or the approval that it needs first.

        A loss above `max_loss_percent` (None: what needs no confirmation) is declined. Raises
        BadInput for one above the process's own, and what the client's plan refuses.
        """
        most = self._accepted(max_loss_percent)
        approval: Approval = "exact" if self.has_node or request.batch else "never"
        swap_request = replace(request, approval=approval, max_loss_percent=most)
        if request.has_ether:
            return await self._begun(swap_request, (sell, buy))
        plan = await self.client.plan(swap_request)
        plan.require()
        self._require_price(plan)
        kept_quote = KeptQuote(plan.quote, request, sell, buy, self.monotonic())
        if plan.approvals:
            transaction = await self.client.run(first_approval(plan, self.client.polling))
            most_gas, count = _gas_of(transaction), len(plan.approvals)
            return Prepared(
                "approval",
                transaction,
                request.wallet,
                kept_quote.at,
                most_gas,
                kept_quote,
                plan.loss,
                count,
                plan=plan,
            )
        transaction = to_sign(plan.params)
        most_gas = self._most_gas(transaction)
        return Prepared(
            "swap", transaction, request.wallet, kept_quote.at, most_gas, kept_quote, plan.loss,
            batch=_inside(plan),
        )  # fmt: skip

    def _most_gas(self, transaction: Transaction) -> int:
        cost = _gas_of(transaction)
        return _with_room(cost) if self.quotes_again else cost

    async def _begun(self, request: SwapRequest, pair: trades.Pair) -> Prepared:
        """Return the first transaction of a swap with ETH."""
        orders = self.client.orders
        with trades.alone(orders, request.wallet, is_new=request.new_trade):
            first = trade_steps.first_step(
                request, self.client.polling, orders, has_node=self.has_node
            )
            step = await self.client.run(first)
        assert step.plan is not None  # the first step has that of all
        self._require_price(step.plan)
        return self._of_step(step, pair)

    async def resume(
        self, tx_hash: str, slippage_bps: int, max_loss_percent: Decimal | None
    ) -> Prepared | dict[str, Any]:
        """Return the next transaction of a recorded swap with ETH, or its end.

        Waits for what is open. Raises BadInput for a loss above the process's own, and what the
        client raises.
        """
        most = self._accepted(max_loss_percent)
        terms = trades.recorded_terms(self.client.orders, tx_hash)
        limits = SwapRequest(
            terms.sell_token, terms.buy_token, terms.sell_amount, terms.wallet, slippage_bps,
            max_loss_percent=most,
        )  # fmt: skip
        with trades.alone(self.client.orders, terms.wallet, trade=tx_hash):
            following = trade_steps.next_step(
                tx_hash, limits, self.client.polling, self.client.orders, has_node=self.has_node
            )
            step = await self.client.run(following)
        if not isinstance(step, ReadyStep):
            if step.trade in self.answered:
                remember_end(step, self.client.orders)
            self.answered.add(step.trade)
            return {"final": True, **trade_machine(step)}
        return self._of_step(step, await self.pair(terms.sell_token, terms.buy_token))

    async def again(self, prepared: Prepared) -> Prepared:
        """Return a step of a swap with ETH by a fresh quote within the terms."""
        step, polling = prepared.step, self.client.polling
        assert step is not None
        assert prepared.pair is not None
        fresh = trade_steps.ready_step(
            step.terms, step.next, step.limits, polling, self.client.orders, trade=step.trade
        )
        return self._of_step(await self.client.run(fresh), prepared.pair)

    def _of_step(self, step: ReadyStep, pair: trades.Pair) -> Prepared:
        """Return what a step of a swap with ETH has to sign."""
        next_kind: Kind = "swap" if step.next.step == "batch" else step.next.step
        kind = "approval" if step.approval is not None else next_kind
        plan, at, transaction = step.plan, self.monotonic(), step.transaction
        is_renewed = kind in ("swap", "wrap")
        return Prepared(
            kind,
            transaction,
            step.terms.wallet,
            at,
            self._most_gas(transaction) if is_renewed else _gas_of(transaction),
            trades.quote_of(step, pair, at),
            plan.loss if plan is not None else None,
            len(plan.approvals) if plan is not None else 0,
            wrap=step.conversion,
            step=step,
            pair=pair,
            plan=plan,
            batch=_inside(plan),
        )

    def _accepted(self, max_loss_percent: Decimal | None) -> Decimal:
        """Return the loss that a tool may accept. Raises BadInput for more than the person does."""
        if max_loss_percent is not None and max_loss_percent > self.max_loss_percent:
            raise BadInput(
                "max_loss_percent",
                f"at most {self.max_loss_percent}: the person allows no more (quietswap mcp"
                " --max-loss)",
            )
        most = min(accepted_bps(max_loss_percent), accepted_bps(self.max_loss_percent))
        return Decimal(most) / 100

    def _require_price(self, plan: SwapPlan) -> None:
        """Refuse a swap without a price: `at_least` of a tool is no floor of the person's."""
        if not plan.loss.is_priced and accepted_bps(self.max_loss_percent) < BPS:
            raise Refused(
                "LOSS_UNKNOWN",
                "no price of this pair is known, so it may lose everything; at_least bounds it only"
                " if the person started quietswap mcp with --max-loss 100: nothing was prepared",
            )

    async def cancel(self, request: cancel.CancelRequest) -> Prepared:
        """Return the cancel of an open order. Raises the errors of the flow before it signs."""
        checked = await self.client.run(
            cancel.checked_cancel(
                request, lambda _: None, self.client.orders, has_node=self.has_node
            )
        )
        transaction, at = to_sign(checked.quote.transaction_params), self.monotonic()
        most = _gas_of(transaction)
        return Prepared("cancel", transaction, request.wallet, at, most, cancel=checked.quote)

    async def wrap(self, request: wrap_flow.WrapRequest) -> Prepared:
        """Return a wrap or an unwrap. Raises the errors of the flow before it signs."""
        polling, has_node = self.client.polling, self.has_node
        quote = await self.client.run(
            wrap_flow.checked_wrap(request, polling, lambda _: None, has_node=has_node)
        )
        transaction = to_sign(quote.mev_protection.transaction_params)
        most, at = _gas_of(transaction), self.monotonic()
        made = request, quote
        return Prepared(request.operation, transaction, request.wallet, at, most, wrap=made)

    async def submit(self, prepared: Prepared, signed: str) -> dict[str, Any]:
        """Submit what the wallet signed: exactly the prepared transaction, or nothing.

        Raises SignerMismatch before anything is sent; then the errors after a submission.
        """
        if prepared.step is None:
            return await self._submitted(prepared, signed)
        trade, is_new = prepared.step.trade, prepared.step.limits.new_trade
        with trades.alone(self.client.orders, prepared.wallet, trade=trade, is_new=is_new):
            return await self._submitted(prepared, signed)

    async def _submitted(self, prepared: Prepared, signed: str) -> dict[str, Any]:
        tx, wallet = prepared.transaction, prepared.wallet
        signed = sign(tx, lambda _: signed, wallet)
        sent = SubmittedTransaction(f"the {prepared.kind}", hash_of(signed), wallet, tx["nonce"])
        named = {"kind": prepared.kind, "txHash": sent.tx_hash, "nonce": sent.nonce}
        if prepared.kind == "approval":
            receipt = await self.client.run(publish(signed, sent, self.client.polling))
            trade = None if prepared.step is None else prepared.step.trade
            following = {"next": "prepare the swap again: it needs a new quote"}
            if trade is not None:
                following = {"trade": trade, "next": "resume_swap"}
            return named | {"blockNumber": receipt.block_number} | following
        if prepared.kind == "swap" and prepared.kept is not None:
            sold = prepared.kept.quote
            sent = replace(sent, sell_token=sold.sell_token, sell_amount=int(sold.sell_amount))
        if prepared.step is not None:
            step, orders = prepared.step, self.client.orders
            recorded = trade_steps.record_ready(step, sent, self.client.polling, orders)
            sent = await self.client.run(recorded)
            following = {"trade": str(sent.trade), "next": "resume_swap"}
            return named | await self._sent(prepared, signed, sent) | following
        return named | await self._sent(prepared, signed, sent)

    async def _sent(
        self, prepared: Prepared, signed: str, sent: SubmittedTransaction
    ) -> dict[str, Any]:
        if prepared.wrap is not None:
            return await self._wrapped(prepared.wrap[1], sent, signed)
        flow = self._cancelled if prepared.cancel is not None else self._swapped
        try:
            return await self.client.run(flow(prepared, signed, sent))
        except ClientError as error:
            if prepared.kind == "swap":
                orders = self.client.orders
                sent = submission_outcome.remember_refused(orders, sent, error)
            decides = submission_outcome.raise_outcome(
                error, sent, self.client.polling, lambda _: None, has_node=self.has_node
            )
            return await self.client.run(decides)

    def _swapped(
        self, prepared: Prepared, signed: str, sent: SubmittedTransaction
    ) -> Flow[dict[str, Any]]:
        assert prepared.kept is not None
        order_id, _, _ = yield from swap.submit(
            prepared.kept.quote, prepared.kept.request, signed, self.client.polling, lambda _: None
        )
        finality.remember(self.client.orders, replace(sent, order_id=order_id))
        return order_named(order_id) | {"next": "follow_order"}

    async def _wrapped(
        self, quote: WrapQuoteResponse, sent: SubmittedTransaction, signed: str
    ) -> dict[str, Any]:
        polling, has_node = self.client.polling, self.has_node
        result = await self.client.run(
            wrap_flow.submit(quote, sent, signed, polling, lambda _: None, has_node=has_node)
        )
        if result.receipt is None:
            return {"next": "list_orders with kind wrap: there is no node to read its receipt at"}
        return {"blockNumber": result.receipt.block_number, "next": "balances"}

    def _cancelled(
        self, prepared: Prepared, signed: str, sent: SubmittedTransaction
    ) -> Flow[dict[str, Any]]:
        assert prepared.cancel is not None
        answer = yield from cancel.submit(prepared.cancel, signed, self.client.polling)
        if answer is None:
            return {"submitted": False, "next": "follow_order: the service reports an end"}
        cancelled = replace(sent, order_id=answer.cancel.order_id)
        finality.remember(self.client.orders, cancelled)
        mine = marked(answer.cancel, "trackingUrl")
        return {"submitted": True, "cancel": mine, "next": "follow_order, of the order"}


def shown(prepared: Prepared, prepared_id: str) -> dict[str, Any]:
    """Return a prepared transaction with its hash to sign (EIP-1559, EIP-2718)."""
    from eth_account.typed_transactions.typed_transaction import TypedTransaction

    tx = prepared.transaction
    body: dict[str, Any] = {
        "preparedId": prepared_id,
        "kind": prepared.kind,
        "from": prepared.wallet,
        "transaction": transaction_json(tx),
        "hashToSign": "0x" + TypedTransaction.from_dict(tx).hash().hex(),
        "maxGasCostEth": format_units(prepared.most_gas_wei, 18),
    }
    if prepared.approvals:
        body["approvalsToSign"] = prepared.approvals
        if prepared.step is None:
            body["maxGasCostOfAllEth"] = format_units(prepared.most_gas_of_all, 18)
    if prepared.kept is not None and prepared.loss is not None:
        quote = summary(prepared.kept) | {"loss": loss_members(prepared.loss)}
        del quote["inWholeTokens"]["maxGasCostEth"]
        quote.pop("plan", None)
        body["quote"] = quote
    if prepared.batch is not None:
        body["inOneTransaction"] = prepared.batch
    if prepared.step is not None and prepared.pair is not None:
        of_all = {"maxGasCostEth": format_units(prepared.most_gas_of_all, 18)}
        body["swapWithEth"] = trades.members(prepared.step, prepared.pair) | of_all
    return body
