"""A swap with ETH one transaction at a time, for a signer elsewhere, by the rules of a run."""

from dataclasses import dataclass, replace

from quietswap.client.errors import QuoteDeclined
from quietswap.client.flows import approvals, ether_swap, wrap
from quietswap.client.flows.effects import Flow
from quietswap.client.flows.ether_swap import TradeResult
from quietswap.client.flows.finality import SignedOrders, SubmittedTransaction
from quietswap.client.flows.plan import swap_plan
from quietswap.client.flows.polling import PollingPolicy, require_trade_scope
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.flows.swap_plan import Step, SwapPlan
from quietswap.client.flows.trade import (
    NextStep,
    Terms,
    progress,
    record_step,
    require_none_unfinished,
    terms_of,
    trade_of,
)
from quietswap.client.signing import Transaction, to_sign
from quietswap.rules.contract.wraps import WrapQuoteResponse
from quietswap.rules.wire import WrapOperation

_NO_NODE = "a swap with ETH needs your own node (--rpc-url): nothing was signed"


@dataclass(frozen=True, slots=True)
class ReadyStep:
    """The next transaction of a trade, checked. `trade` is None while nothing of it is recorded.

    `plan` is that of what is left, None before the unwrap. `conversion` is the wrap or unwrap, if
    it is one, and `approval` an approval that is signed before the `next` recorded step.
    """

    terms: Terms
    limits: SwapRequest
    next: NextStep
    trade: str | None
    plan: SwapPlan | None = None
    conversion: tuple[wrap.WrapRequest, WrapQuoteResponse] | None = None
    approval: Transaction | None = None

    @property
    def transaction(self) -> Transaction:
        """What is signed."""
        if self.approval is not None:
            return self.approval
        if self.conversion is not None:
            return to_sign(self.conversion[1].mev_protection.transaction_params)
        assert self.plan is not None  # it is the swap
        return to_sign(self.plan.params)

    @property
    def steps(self) -> tuple[Step, ...]:
        """What is left to sign, in order, with this one."""
        if self.plan is None:
            return ("unwrap",)
        is_last = self.plan.conversion is None and not self.plan.is_batched
        unwraps = self.terms.conversion == "unwrap" and is_last
        return *self.plan.steps, *(("unwrap",) if unwraps else ())


def first_step(
    request: SwapRequest, polling: PollingPolicy, orders: SignedOrders, *, has_node: bool
) -> Flow[ReadyStep]:
    """Plan a swap with ETH; return its first transaction.

    Raises UnfinishedTrade, the plan's refusal and the errors of a plan.
    """
    if not has_node:
        raise QuoteDeclined(_NO_NODE)
    if not request.new_trade:
        yield from require_none_unfinished(request, orders, polling)
    plan = yield from swap_plan(request, polling, lambda _: None, orders, has_node=True)
    plan.require()
    terms = terms_of(plan, request)
    following = NextStep(terms.steps[0], "unsigned")
    return (yield from ready_step(terms, following, request, polling, orders, plan=plan))


def next_step(
    tx_hash: str,
    limits: SwapRequest,
    polling: PollingPolicy,
    orders: SignedOrders,
    *,
    has_node: bool,
) -> Flow[ReadyStep | TradeResult]:
    """Return the next transaction of a recorded trade, or its end, once nothing of it is open.

    The end is not told yet: see `ether_swap.remember_end`.
    Raises OrderStillOpen, what `trade_of` raises, and the errors of a plan.
    """
    trade = trade_of(orders, tx_hash)
    if not has_node:
        raise QuoteDeclined(_NO_NODE)
    yield from require_trade_scope(polling)
    while True:
        now = yield from progress(trade.terms, trade, orders, polling)
        if now.next is None:
            received = now.received(trade.terms)
            return TradeResult(trade.tx_hash, trade.terms, now.mined, received)
        if now.next.state != "open":
            return (
                yield from ready_step(
                    trade.terms, now.next, limits, polling, orders, trade=trade.tx_hash
                )
            )
        yield from ether_swap.awaited(now.next, polling, lambda _: None, must_be_mined=False)


def ready_step(
    terms: Terms,
    following: NextStep,
    limits: SwapRequest,
    polling: PollingPolicy,
    orders: SignedOrders,
    *,
    trade: str | None = None,
    plan: SwapPlan | None = None,
) -> Flow[ReadyStep]:
    """Return the transaction of a step within the terms, by the `plan` or a fresh one.

    Raises the plan's refusal, and what the flow of each step raises before it signs.
    """
    ready = ReadyStep(terms, limits, following, trade, plan)
    if following.step == "unwrap":
        wei = yield from ether_swap.brought(trade_of(orders, trade or ""), polling)
        return (yield from _converting(ready, "unwrap", wei, polling))
    if plan is None:
        request = terms.plan_request(limits)
        if following.step in ("swap", "batch"):
            request = terms.swap_request(limits, following.nonce)
        plan = yield from swap_plan(request, polling, lambda _: None, orders, has_node=True)
        plan.require()
        ready = replace(ready, plan=plan)
    if following.step == "wrap":
        return (yield from _converting(ready, "wrap", terms.sell_amount, polling))
    if plan.approvals:
        return replace(ready, approval=(yield from first_approval(plan, polling)))
    return ready


def _converting(
    ready: ReadyStep, operation: WrapOperation, wei: int, polling: PollingPolicy
) -> Flow[ReadyStep]:
    nonce = ready.next.nonce
    request = ether_swap.conversion(ready.terms, operation, wei, ready.limits, nonce)
    quote = yield from wrap.checked_wrap(request, polling, lambda _: None, has_node=True)
    return replace(ready, conversion=(request, quote))


def first_approval(plan: SwapPlan, polling: PollingPolicy) -> Flow[Transaction]:
    """Return the transaction of the first approval of a plan, which has one."""
    first = plan.approvals[0]
    return (
        yield from approvals.next_approval(
            token=first.token,
            router=first.router,
            amount=first.amount,
            wallet=plan.request.wallet,
            polling=polling,
            max_fee_wei=plan.request.max_fee_wei,
        )
    )


def record_ready(
    ready: ReadyStep, sent: SubmittedTransaction, polling: PollingPolicy, orders: SignedOrders
) -> Flow[SubmittedTransaction]:
    """Record what was signed for a step before it is submitted; return it as it is recorded.

    The same bytes may come again. Others are refused once the step is no longer the next one:
    raises QuoteDeclined, or UnfinishedTrade for the first one.
    """
    if sent.tx_hash in orders:
        return orders[sent.tx_hash]
    if ready.trade is not None:
        trade = trade_of(orders, ready.trade)
        now = yield from progress(trade.terms, trade, orders, polling)
        if now.next != ready.next:
            raise QuoteDeclined(
                f"the swap with ETH of transaction {ready.trade} has gone on since: nothing was"
                " submitted; prepare its next step"
            )
    elif not ready.limits.new_trade:
        yield from require_none_unfinished(ready.limits, orders, polling)
    return record_step(orders, ready.terms, ready.next.step, sent, ready.trade)
