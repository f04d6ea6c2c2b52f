"""A swap that sells or buys ETH: wrap, approve and swap, or approve, swap and unwrap, as one trade.

A delegated wallet does all of it in one transaction, a batch, which is a trade of one step.
The caller accepts one plan. Each step is signed within its terms, after the block of the step
before, and recorded before it is submitted: `resume` goes on after any interruption.
"""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal

from quietswap.client import node_calls
from quietswap.client.api_calls import in_weth
from quietswap.client.errors import (
    OrderStillOpen,
    QuoteDeclined,
    TransactionFailed,
    TransactionReplaced,
)
from quietswap.client.flows import finality, wrap
from quietswap.client.flows import submission_outcome as outcome
from quietswap.client.flows import swap as swap_flow
from quietswap.client.flows.approvals import Approved
from quietswap.client.flows.effects import BUSY_PAUSES_S, Flow, Sleep, read_clock
from quietswap.client.flows.plan import accepted_plan, approved_plan
from quietswap.client.flows.polling import PollingPolicy, require_trade_scope
from quietswap.client.flows.quote_checks import MAX_FEE_WEI, SwapRequest
from quietswap.client.flows.swap import SwapResult
from quietswap.client.flows.swap_plan import SwapPlan
from quietswap.client.flows.trade import (
    NextStep,
    Progress,
    Step,
    Terms,
    Trade,
    TradeStep,
    progress,
    record_step,
    require_none_unfinished,
    terms_of,
    trade_of,
)
from quietswap.client.signing import Signer
from quietswap.rules.amounts import format_units
from quietswap.rules.wire import WrapOperation

_ACCEPTED = Decimal(100)
"""What the gas of a wrap or unwrap may be of its amount: the plan's loss was accepted with it."""


@dataclass(frozen=True, slots=True)
class TradeResult:
    """How far a swap with ETH is. `swap` is None if an earlier run has swapped, or none has.

    `received` is what the wallet gained of the bought token (of ETH after its unwrap), in smallest
    units, from the own node's receipt; `mined` has the receipts of the recorded steps.
    """

    trade: str
    terms: Terms
    mined: dict[Step, node_calls.NodeReceipt]
    received: int | None
    swap: SwapResult | None = None

    @property
    def fell_short(self) -> bool:
        """Whether the swap was mined and delivered less than the accepted minimum."""
        return self.received is not None and self.received < self.terms.at_least

    @property
    def is_over(self) -> bool:
        """Whether all steps are mined."""
        return set(self.mined) == set(self.terms.steps)

    @property
    def succeeded(self) -> bool:
        """Whether all steps are mined, and the minimum arrived."""
        return self.is_over and not self.fell_short


def swap(
    request: SwapRequest,
    signer: Signer,
    polling: PollingPolicy,
    watch: swap_flow.Watch,
    orders: finality.SignedOrders,
    *,
    has_node: bool,
) -> Flow[TradeResult]:
    """Plan a swap with ETH, have it accepted, and run all its steps.

    Its end counts as told once the caller has shown it: see `remember_end`. A swap that is reverted
    or cancelled is a result. Raises UnfinishedTrade, the errors of a plan and of each step; what
    was signed before them is recorded, and `resume` goes on.
    """
    yield from require_trade_scope(polling)
    if has_node and not request.new_trade:
        yield from require_none_unfinished(request, orders, polling)
    plan = yield from accepted_plan(request, polling, watch, orders, has_node=has_node)
    if request.max_fee_wei is None:
        request = replace(request, max_fee_wei=2 * plan.max_gas_cost)
    run = _Run(terms_of(plan, request), request, signer, polling, watch, orders)
    return (yield from run.to_end(plan))


def swap_only(
    request: SwapRequest,
    signer: Signer,
    polling: PollingPolicy,
    watch: swap_flow.Watch,
    orders: finality.SignedOrders,
    *,
    has_node: bool,
) -> Flow[SwapResult]:
    """Do `swap`; return the result of its swap, with the receipt of its wrap or unwrap.

    The caller of a library has the result when this returns: its end is told.
    """
    result = yield from swap(request, signer, polling, watch, orders, has_node=has_node)
    remember_end(result, orders)
    assert result.swap is not None  # this run has signed it, or raised
    conversion = result.mined.get(result.terms.conversion)
    return replace(result.swap, trade=result.trade, conversion=conversion)


def resume(
    tx_hash: str,
    signer: Signer,
    polling: PollingPolicy,
    watch: swap_flow.Watch,
    orders: finality.SignedOrders,
    *,
    limits: SwapRequest | None,
    has_node: bool,
) -> Flow[TradeResult]:
    """Do `resumed`; as of `swap_only` its end is told when this returns."""
    at = signer, polling, watch, orders
    result = yield from resumed(tx_hash, *at, limits=limits, has_node=has_node)
    remember_end(result, orders)
    return result


def resumed(
    tx_hash: str,
    signer: Signer,
    polling: PollingPolicy,
    watch: swap_flow.Watch,
    orders: finality.SignedOrders,
    *,
    limits: SwapRequest | None,
    has_node: bool,
) -> Flow[TradeResult]:
    """Go on with the recorded trade of a transaction: what is done is never done again.

    `limits` are those of a request; its tokens and amounts are the recorded terms. Raises
    QuoteDeclined, and what `swap` raises.
    """
    trade = trade_of(orders, tx_hash)
    if not has_node:
        raise QuoteDeclined("what is done shows your own node only (--rpc-url): nothing was signed")
    terms = trade.terms
    if limits is None:
        limits = SwapRequest(terms.sell_token, terms.buy_token, terms.sell_amount, terms.wallet)
    if limits.wallet.lower() != terms.wallet.lower():
        raise QuoteDeclined(
            f"the trade is one of {terms.wallet}, sign with its key: nothing is signed"
        )
    yield from require_trade_scope(polling)
    run = _Run(terms, limits, signer, polling, watch, orders, trade.tx_hash)
    return (yield from run.to_end(None))


@dataclass(slots=True)
class _Run:
    """One run over the steps of a trade; each is signed at most once in it."""

    terms: Terms
    limits: SwapRequest
    signer: Signer
    polling: PollingPolicy
    watch: swap_flow.Watch
    orders: finality.SignedOrders
    trade: str | None = None
    swapped: SwapResult | None = None
    signed: set[Step] = field(default_factory=set)
    seen: set[Step] = field(default_factory=set)

    def to_end(self, plan: SwapPlan | None) -> Flow[TradeResult]:
        """Do what is left. `plan` is accepted and not signed."""
        while True:
            now = yield from progress(self.terms, self._recorded(), self.orders, self.polling)
            self._tell(now)
            step = now.next
            if step is None or (self.swapped is not None and not self.swapped.succeeded):
                return self._result(now)
            if step.state == "open" or step.step in self.signed:
                was_signed_here = step.step in self.signed
                yield from awaited(step, self.polling, self.watch, must_be_mined=was_signed_here)
                continue
            self.signed.add(step.step)
            if step.step in ("swap", "batch"):
                yield from self._swap(step, plan)
            elif step.step == "unwrap":
                yield from self._unwrap(step)
            else:
                yield from self._wrap(step, plan)

    def _recorded(self) -> Trade | None:
        return None if self.trade is None else trade_of(self.orders, self.trade)

    def _result(self, now: Progress) -> TradeResult:
        received = now.received(self.terms)
        return TradeResult(self.trade or "", self.terms, now.mined, received, self.swapped)

    def _tell(self, now: Progress) -> None:
        """Tell each mined step once, and what an earlier run left open or without effect."""
        trade = self._recorded()
        if trade is None:
            return
        for step, receipt in now.mined.items():
            if step not in self.seen:
                self.seen.add(step)
                hashes = {each.tx_hash: each for each in trade.signed(step)}
                sent = hashes[receipt.transaction_hash.lower()]
                amount = self.terms.sell_amount if step == "wrap" else now.received(self.terms)
                self.watch(TradeStep(trade.tx_hash, step, "mined", sent, receipt, amount or 0))
        step_again = now.next
        if step_again is None or step_again.sent is None or step_again.state == "unsigned":
            return
        self.watch(TradeStep(trade.tx_hash, step_again.step, step_again.state, step_again.sent))

    def _record(self, step: Step) -> finality.Record:
        """Return what records a signed step with the terms, before it is submitted."""

        def record(sent: finality.SubmittedTransaction) -> finality.SubmittedTransaction:
            sent = record_step(self.orders, self.terms, step, sent, self.trade)
            self.trade = sent.trade or ""
            self.watch(TradeStep(self.trade, step, "signed", sent))
            return sent

        return record

    def _wrap(self, step: NextStep, plan: SwapPlan | None) -> Flow[None]:
        """Wrap exactly what the plan sells. One that is signed again is planned again first."""
        if plan is None:
            request = self.terms.plan_request(self.limits)
            yield from accepted_plan(request, self.polling, self.watch, self.orders, has_node=True)
        yield from self._converted("wrap", self.terms.sell_amount, step)

    def _unwrap(self, step: NextStep) -> Flow[None]:
        """Unwrap exactly what the swap brought, by a receipt that a new block cannot take back."""
        trade = self._recorded()
        assert trade is not None  # its swap is mined
        yield from self._converted("unwrap", (yield from brought(trade, self.polling)), step)

    def _converted(self, operation: WrapOperation, wei: int, step: NextStep) -> Flow[None]:
        yield from wrap.convert(
            conversion(self.terms, operation, wei, self.limits, step.nonce),
            self.signer,
            self.polling,
            self._watch_wrap,
            has_node=True,
            record=self._record(operation),
        )

    def _watch_wrap(self, event: wrap.Event) -> None:
        if isinstance(event, finality.OutcomeWatch):
            self.watch(event)

    def _swap(self, step: NextStep, plan: SwapPlan | None) -> Flow[None]:
        """Swap within the terms: the accepted plan if nothing came between, else a fresh quote."""
        approvals: tuple[Approved, ...] = ()
        if plan is None or plan.conversion == "wrap" or plan.approvals:
            plan, approvals = yield from approved_plan(
                self.terms.swap_request(self.limits, step.nonce),
                self.signer,
                self.polling,
                self.watch,
                self.orders,
                has_node=True,
            )
        self.swapped = yield from swap_flow.sign_plan(
            plan,
            self.signer,
            self.polling,
            self.watch,
            self.orders,
            approvals=approvals,
            has_node=True,
            record=self._record(step.step),
        )


def conversion(
    terms: Terms, operation: WrapOperation, wei: int, limits: SwapRequest, nonce: int | None
) -> wrap.WrapRequest:
    """Return the wrap or unwrap of a trade. Its loss was accepted with the plan."""
    limit = MAX_FEE_WEI if limits.max_fee_wei is None else limits.max_fee_wei
    return wrap.WrapRequest(
        operation,
        format_units(wei, 18),
        terms.wallet,
        nonce,
        max_loss_percent=_ACCEPTED,
        max_fee_wei=limit,
    )


def awaited(
    step: NextStep, polling: PollingPolicy, watch: swap_flow.Watch, *, must_be_mined: bool
) -> Flow[None]:
    """Wait for what is open. Raises what ended it, or only that it is still open."""
    assert step.sent is not None
    if step.order_id is not None and step.step in ("swap", "batch"):
        end = yield from outcome.end_of_order(
            step.order_id, step.sent, polling, watch, has_node=True
        )
        end.require_certainty(step.sent)
    else:
        try:
            yield from outcome.mined(step.sent, polling)
        except (TransactionFailed, TransactionReplaced):
            if must_be_mined:
                raise
    yield Sleep(polling.node_interval_s)  # another backend of the node may be behind


def remember_end(result: TradeResult, orders: finality.SignedOrders) -> None:
    """Record that the end of a trade was told, after whoever waits for it has it.

    Whoever was interrupted before does not know of it. Where it cannot be recorded, or is not the
    end, the next trade of the pair is refused.
    """
    if not result.is_over:
        return
    trade = trade_of(orders, result.trade)
    if not trade.told:
        with suppress(OSError):
            orders[trade.sent[-1].tx_hash] = replace(trade.sent[-1], told=True)


def brought(trade: Trade, polling: PollingPolicy) -> Flow[int]:
    """Return what the swap brought, in wei, by a receipt that a new block cannot take back.

    Raises OrderStillOpen, and QuoteDeclined if it brought nothing.
    """
    receipt = yield from _at_safe_depth(trade.signed("swap"), polling)
    wei = node_calls.received(receipt, in_weth(trade.terms.buy_token), trade.terms.wallet)
    if not wei:
        raise QuoteDeclined("the swap brought no WETH by your own node: nothing to unwrap")
    return wei


def _at_safe_depth(
    swaps: list[finality.SubmittedTransaction], polling: PollingPolicy
) -> Flow[node_calls.NodeReceipt]:
    """Return the mined swap's receipt once `SAFE_DEPTH` blocks have it. Raises OrderStillOpen."""
    started = (yield from read_clock()).seconds
    while True:
        for sent in swaps:
            sighting = yield from finality.look(sent.tx_hash, sent.wallet, BUSY_PAUSES_S)
            receipt = sighting.receipt
            if receipt is not None and receipt.succeeded and sighting.depth >= finality.SAFE_DEPTH:
                return receipt
        waited = (yield from read_clock()).seconds - started
        if waited > polling.until():
            raise OrderStillOpen(swaps[0].tx_hash, "not deep enough in the chain", waited)
        yield Sleep(polling.node_interval_s)
