"""A swap with ETH as one trade: what was signed for it, what is done, and what comes next.

Each of its transactions is recorded before it is submitted. So the record and the caller's own node
tell after any interruption what is left; no service has to be believed for it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from quietswap.client import node_calls
from quietswap.client.api_calls import in_weth
from quietswap.client.errors import QuoteDeclined, UnfinishedTrade
from quietswap.client.flows.effects import Flow, perform
from quietswap.client.flows.finality import (
    SignedOrders,
    SubmittedTransaction,
    TransactionOutcome,
    Watched,
    record,
    watch_transaction,
)
from quietswap.client.flows.polling import PollingPolicy, open_orders
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.flows.submission_outcome import error_for_outcome
from quietswap.client.flows.swap_plan import SwapPlan
from quietswap.rules.tokens.token import ETH, WETH
from quietswap.rules.wire import WrapOperation

Step = Literal["wrap", "swap", "unwrap", "batch"]
"""A recorded step. An approval is none: its allowance at the caller's own node tells it.

A batch does all of a trade in one transaction.
"""
StepState = Literal["unsigned", "open", "unshown", "reverted", "replaced"]


@dataclass(frozen=True, slots=True)
class Terms:
    """What was accepted: exactly `sell_amount` is sold for at least `at_least`, smallest units.

    One token is an address, the other "ETH". No transaction of the trade is signed beyond them.
    """

    wallet: str
    sell_token: str
    buy_token: str
    sell_amount: int
    at_least: int
    is_batched: bool = False

    @property
    def conversion(self) -> WrapOperation:
        return "wrap" if self.sell_token == ETH else "unwrap"

    @property
    def steps(self) -> tuple[Step, ...]:
        """The recorded steps, in order."""
        if self.is_batched:
            return ("batch",)
        return ("wrap", "swap") if self.conversion == "wrap" else ("swap", "unwrap")

    def swap_request(self, limits: SwapRequest, nonce: int | None = None) -> SwapRequest:
        """Return the swap of the trade within the terms; the other limits are those of `limits`.

        It has half of their slippage: the other half is for what the price lost since the terms
        were accepted. A fresh quote with all of it would be below their minimum after any loss.
        """
        sell, buy = self.sell_token, self.buy_token
        return replace(
            limits,
            sell_token=sell if self.is_batched else in_weth(sell),
            buy_token=buy if self.is_batched else in_weth(buy),
            sell_amount=self.sell_amount,
            max_sell=None,
            at_least=self.at_least,
            slippage_bps=max(1, limits.slippage_bps // 2),
            nonce=nonce,
            any_nonce=False,
            batch=self.is_batched,
            approval="exact" if self.is_batched else limits.approval,
        )

    def plan_request(self, limits: SwapRequest) -> SwapRequest:
        """Return the same for a plan of all steps."""
        request = self.swap_request(limits)
        return replace(request, sell_token=self.sell_token, buy_token=self.buy_token)


def terms_of(plan: SwapPlan, request: SwapRequest) -> Terms:
    """Return the terms of an accepted plan: its amount and its minimum."""
    return Terms(
        request.wallet,
        request.sell_token,
        request.buy_token,
        int(plan.quote.sell_amount),
        int(plan.quote.min_buy_amount),
        plan.is_batched,
    )


@dataclass(frozen=True, slots=True)
class Trade:
    """A recorded trade. `tx_hash` is that of its first transaction, which names it."""

    tx_hash: str
    terms: Terms
    sent: tuple[SubmittedTransaction, ...] = field(repr=False)
    """What was signed for it, the newest last; of one step several, if it was signed again."""

    @property
    def told(self) -> bool:
        """Whether a run has told its end."""
        return any(each.told for each in self.sent)

    def signed(self, step: Step) -> list[SubmittedTransaction]:
        """Return what was signed for a step, the newest first."""
        return [each for each in reversed(self.sent) if each.what == f"the {step}"]


def trade_of(orders: SignedOrders, tx_hash: str) -> Trade:
    """Return the recorded trade that a transaction belongs to. Raises QuoteDeclined."""
    named = next((each for each in _recorded(orders) if each.tx_hash == tx_hash.lower()), None)
    sent = [each for each in _recorded(orders) if named and each.trade == named.trade]
    first = next((each for each in sent if each.tx_hash == each.trade), None)
    if first is None:
        raise QuoteDeclined(
            f"transaction {tx_hash} of a swap with ETH is not on the record here: nothing is signed"
        )
    terms = Terms(
        first.wallet,
        first.sell_token or "",
        first.buy_token or "",
        first.sell_amount,
        first.at_least,
        first.what == "the batch",
    )
    return Trade(first.tx_hash, terms, tuple(sent))


def record_step(
    orders: SignedOrders, terms: Terms, step: Step, sent: SubmittedTransaction, trade: str | None
) -> SubmittedTransaction:
    """Record a signed step with the terms before it is submitted; return it as it is recorded.

    `trade` is None for the first one, which names the trade. Raises QuoteDeclined.
    """
    trade = trade or sent.tx_hash
    sent = replace(sent, trade=trade, buy_token=terms.buy_token, at_least=terms.at_least)
    if step == "batch":
        sent = replace(sent, what="the batch")
    if step in ("wrap", "batch"):
        sent = replace(sent, sell_token=terms.sell_token, sell_amount=terms.sell_amount)
    record(orders, sent)
    return sent


def _recorded(orders: SignedOrders) -> Iterable[SubmittedTransaction]:
    """Return each transaction of a trade once: as it was recorded before it was submitted."""
    return [each for key, each in orders.items() if each.trade and key == each.tx_hash]


@dataclass(frozen=True, slots=True)
class NextStep:
    """A step that is not mined. `sent` is what was signed for it last, if it was signed.

    `open`: the service, as `order_id`, or the caller's own node shows it: it is waited for.
    `unshown`: neither does, so it is signed again with the same nonce. `reverted` and `replaced`
    came to nothing: it is signed again.
    """

    step: Step
    state: StepState
    sent: SubmittedTransaction | None = None
    order_id: str | None = None

    @property
    def nonce(self) -> int | None:
        """The only nonce to sign it with, so that at most one of the two can be mined."""
        return self.sent.nonce if self.sent is not None and self.state == "unshown" else None


@dataclass(frozen=True, slots=True)
class Progress:
    """The mined steps with the own node's receipts, and what comes next; None: all is done."""

    mined: dict[Step, node_calls.NodeReceipt]
    next: NextStep | None

    def received(self, terms: Terms) -> int | None:
        """Return what the swap brought, in smallest units, by the own node; None before it."""
        receipt = self.mined.get("batch" if terms.is_batched else "swap")
        if receipt is None:
            return None
        return node_calls.received(receipt, in_weth(terms.buy_token), terms.wallet)


def progress(
    terms: Terms, trade: Trade | None, orders: SignedOrders, polling: PollingPolicy
) -> Flow[Progress]:
    """Return how far a trade is, by the caller's own node. Raises MayBeMined, and its errors."""
    mined: dict[Step, node_calls.NodeReceipt] = {}
    for step in terms.steps:
        standing = yield from _standing(step, trade.signed(step) if trade else [], polling)
        if isinstance(standing, NextStep):
            return Progress(mined, standing)
        mined[step] = standing
    return Progress(mined, None)


def _standing(
    step: Step, signed: list[SubmittedTransaction], polling: PollingPolicy
) -> Flow[NextStep | node_calls.NodeReceipt]:
    """Return the receipt of a mined step, or why it is none."""
    states: list[StepState] = []
    for sent in signed:
        seen = yield from _seen(sent, polling)
        if seen.outcome is TransactionOutcome.MINED and seen.receipt is not None:
            return seen.receipt
        states.append("open" if seen.outcome is TransactionOutcome.OPEN else _ended(seen))
    if not signed:
        return NextStep(step, "unsigned")
    if "open" not in states:
        return NextStep(step, states[0], signed[0])
    for sent in (each for each, state in zip(signed, states, strict=True) if state == "open"):
        for order in (yield from open_orders(sent.wallet, polling, has_node=True)):
            if (order.tx_hash or "").lower() == sent.tx_hash:
                return NextStep(step, "open", sent, order.order_id)
        if (yield from perform(node_calls.sender_and_nonce(sent.tx_hash))) is not None:
            return NextStep(step, "open", sent)
    return NextStep(step, "unshown", signed[states.index("open")])


def _ended(seen: Watched) -> StepState:
    return "reverted" if seen.outcome is TransactionOutcome.REVERTED else "replaced"


def _seen(sent: SubmittedTransaction, polling: PollingPolicy) -> Flow[Watched]:
    """Look at a transaction. One whose nonce is used is watched until a block decides it.

    Raises MayBeMined if none does, and the node's error.
    """
    seen = yield from watch_transaction(sent, polling, 0.0)
    if seen.outcome is TransactionOutcome.OPEN and seen.trouble is None:
        used = yield from perform(node_calls.nonce(sent.wallet, "latest"))
        if used <= sent.nonce:
            return seen
        seen = yield from watch_transaction(sent, polling, polling.doubt_s)
    if seen.trouble is not None:
        raise seen.trouble
    if seen.outcome is TransactionOutcome.OPEN:
        reason = f"your own node counts nonce {sent.nonce} as used, and shows no block with it"
        raise error_for_outcome(seen.outcome, reason, sent)
    return seen


def require_none_unfinished(
    request: SwapRequest, orders: SignedOrders, polling: PollingPolicy
) -> Flow[None]:
    """Refuse a second trade of the same pair while the newest one is unfinished.

    One that is done is over once a run has told its end: whoever was interrupted before does not
    know of it, and would swap twice. One of which nothing was mined, and nothing can be, is over.
    So is one whose WETH the wallet no longer has: it was swapped or unwrapped by another command.
    Raises UnfinishedTrade.
    """
    pair = request.wallet.lower(), request.sell_token.lower(), request.buy_token.lower()
    for sent in reversed(list(_recorded(orders))):
        trade = trade_of(orders, sent.tx_hash)
        terms = trade.terms
        if (terms.wallet.lower(), terms.sell_token.lower(), terms.buy_token.lower()) == pair:
            if (yield from _is_unfinished(trade, orders, polling)):
                raise UnfinishedTrade(trade.tx_hash)
            return


def _is_unfinished(trade: Trade, orders: SignedOrders, polling: PollingPolicy) -> Flow[bool]:
    now = yield from progress(trade.terms, trade, orders, polling)
    if now.next is None:
        return not trade.told
    if now.next.state in ("open", "unshown"):
        return True
    if not now.mined:
        return False
    received = now.received(trade.terms)
    needs = trade.terms.sell_amount if received is None else received
    return (yield from perform(node_calls.token_balance(WETH, trade.terms.wallet))) >= needs


@dataclass(frozen=True, slots=True)
class TradeStep:
    """Event: a transaction of a trade. `signed`: it is recorded, and submitted next.

    `mined` has the own node's receipt, and the `amount` that was wrapped, brought or unwrapped, in
    smallest units; `open` is waited for; `unshown`, `reverted` and `replaced`
    are signed again.
    """

    trade: str
    step: Step
    state: Literal["signed", "mined", "open", "unshown", "reverted", "replaced"]
    sent: SubmittedTransaction
    receipt: node_calls.NodeReceipt | None = None
    amount: int = 0
