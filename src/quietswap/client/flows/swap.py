"""The swap flow: quote, check, approve, sign, submit, poll, and read the amount received."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from quietswap.client import node_calls
from quietswap.client.api_calls import MEV, ApiCall
from quietswap.client.errors import ClientError, SignatureReplay
from quietswap.client.flows import finality
from quietswap.client.flows import submission_outcome as outcome
from quietswap.client.flows.approvals import ApprovalSent, Approved, newest_block
from quietswap.client.flows.effects import Flow, perform, read_clock
from quietswap.client.flows.plan import approved_plan, require_consent_again, tried
from quietswap.client.flows.polling import (
    SUGGESTED_S,
    PollingPolicy,
    follow_order,
    require_trade_scope,
)
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.flows.simulation import SwapSimulation
from quietswap.client.flows.swap_plan import SwapPlan
from quietswap.client.flows.trade import TradeStep
from quietswap.client.signing import Signer, hash_of, require_same, sign, to_sign
from quietswap.rules.contract import requests
from quietswap.rules.contract.orders import (
    OrderStatusResponse,
    SwapOrderEnvelope,
    SwapOrderResponse,
)
from quietswap.rules.contract.quotes import SwapQuoteResponse
from quietswap.rules.tx.signed import MAINNET, decode

ORDER_LIFE_S = 30 * 60
_SUBMISSIONS = 3
_THREAT_SCORE = {"LOW": 20, "MEDIUM": 55, "HIGH": 90}

Event = (
    SwapQuoteResponse
    | SwapPlan
    | ApprovalSent
    | Approved
    | SwapSimulation
    | SwapOrderResponse
    | OrderStatusResponse
    | finality.OutcomeWatch
    | TradeStep
)
Watch = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class SwapResult:
    """The result of a swap.

    `received` is the amount of the buy token that the wallet gained, in smallest units, from the
    transaction's receipt. It is None when the swap did not happen, or when the client has no node.

    `fate` is the outcome of the transaction at the caller's own node; None without a node.

    Of a swap with ETH `trade` names it for `resume`, and `conversion` is the receipt of its wrap or
    unwrap.
    """

    quote: SwapQuoteResponse
    approvals: tuple[Approved, ...]
    status: OrderStatusResponse
    received: int | None
    fate: finality.TransactionOutcome | None = None
    trade: str | None = None
    conversion: node_calls.NodeReceipt | None = None

    @property
    def succeeded(self) -> bool:
        """Whether the order is confirmed and did not deliver less than the minimum.

        Without a node of the caller's own, only the service reports this, and the amount is not
        checked.
        """
        return self.status.status == "confirmed" and not self.fell_short

    @property
    def fell_short(self) -> bool:
        """Whether it was mined and delivered less than the minimum."""
        return self.received is not None and self.received < self.quote.min_buy_amount

    @property
    def may_be_mined(self) -> bool:
        """Whether a failed or cancelled order may still be mined.

        True unless the caller's own node shows that the transaction reverted or was replaced.
        """
        is_off = self.status.status != "confirmed"
        return is_off and self.fate not in (
            finality.TransactionOutcome.REVERTED,
            finality.TransactionOutcome.REPLACED,
        )


def order_params(
    quote: SwapQuoteResponse, request: SwapRequest, unix_ms: int
) -> requests.SwapOrderParams:
    return requests.SwapOrderParams(
        from_token=quote.sell_token,
        to_token=quote.buy_token,
        amount=str(int(quote.sell_amount)),
        min_return_amount=str(int(quote.min_buy_amount)),
        user_address=request.wallet,
        chain_id=MAINNET,
        deadline=unix_ms // 1000 + ORDER_LIFE_S,
        slippage_bps=request.slippage_bps,
        selected_tier=quote.mev_protection.provider_metadata.get("tier", 2),
        threat_analysis=_threat_analysis(quote, unix_ms),
        transaction_value_usd=quote.scoring.net_value_usd,
        dex_route=requests.OrderedRoute(
            source=quote.source,
            target=quote.dex_route.target,
            data=quote.dex_route.data,
            estimated_gas=quote.estimated_gas,
        ),
    )


def _threat_analysis(quote: SwapQuoteResponse, unix_ms: int) -> requests.ThreatAnalysis:
    analysis = quote.mev_analysis
    protection = requests.EstimatedProtection(
        amount=analysis.estimated_protection_usd, currency="USD"
    )
    return requests.ThreatAnalysis(
        threat_score=_THREAT_SCORE.get(analysis.threat_level, 50),
        threat_level=analysis.threat_level,
        confidence=1 if quote.is_verified else 0.5,
        risk_factors=[],
        estimated_savings=requests.EstimatedSavings(estimated_protection=protection),
        timestamp=unix_ms,
    )


def order_call(
    quote: SwapQuoteResponse, request: SwapRequest, signed: str, unix_ms: int
) -> ApiCall[SwapOrderResponse]:
    body = requests.SwapOrderBody(
        order_params=order_params(quote, request, unix_ms),
        signed_transaction=signed,
        provider_metadata=quote.mev_protection.provider_metadata,
    )
    return ApiCall("POST", f"{MEV}/orders", SwapOrderEnvelope, body=body)


def place(
    quote: SwapQuoteResponse, request: SwapRequest, signed: str, orders: finality.SignedOrders
) -> Flow[SwapOrderResponse]:
    """Submit a signed quote once. Raises TransactionHashMismatch."""
    call = order_call(quote, request, signed, (yield from read_clock()).unix_ms)
    answer = yield from perform(call)
    require_same(hash_of(signed), answer.order.tx_hash)
    with suppress(ValueError):  # the service took what is no transaction: nothing to cancel
        made, order_id = decode(signed), answer.order.order_id
        sent = finality.SubmittedTransaction(
            "the swap",
            hash_of(signed),
            made.sender,
            made.nonce,
            order_id,
            request.sell_token,
            int(quote.sell_amount),
        )
        finality.remember(orders, sent)
    return answer


def submit(
    quote: SwapQuoteResponse,
    request: SwapRequest,
    signed: str,
    polling: PollingPolicy,
    watch: Watch,
) -> Flow[tuple[str, float, float | None]]:
    """Submit the signed quote; return order id, poll interval in s, and time until it expires in s.

    If no answer arrives, the same bytes are submitted again. They can create only one order, and
    the error SIGNATURE_REPLAY then names that order; its time until expiry is None. Raises
    TransactionHashMismatch.
    """
    call = order_call(quote, request, signed, (yield from read_clock()).unix_ms)
    for attempt in range(1, _SUBMISSIONS + 1):
        try:
            answer = yield from perform(call)
        except SignatureReplay as replay:
            if attempt == 1 or replay.details is None:
                raise
            return replay.details.order_id, SUGGESTED_S, None
        except ClientError as error:
            if not error.is_transient or attempt == _SUBMISSIONS:
                raise
            yield polling.wait(attempt, error)
        else:
            require_same(hash_of(signed), answer.order.tx_hash)
            watch(answer)
            ends_in_s = _until(answer.order.expires_at, (yield from read_clock()).unix_ms)
            return answer.order.order_id, answer.tracking.polling_interval, ends_in_s
    raise AssertionError("the last attempt returns or raises")


def _until(moment: datetime, unix_ms: int) -> float | None:
    """Return the seconds until a time that the service names; None if it is out of range."""
    try:
        return moment.timestamp() - unix_ms / 1000
    except (ValueError, OverflowError):
        return None


def swap(
    request: SwapRequest,
    signer: Signer,
    polling: PollingPolicy,
    watch: Watch,
    orders: finality.SignedOrders,
    *,
    has_node: bool,
) -> Flow[SwapResult]:
    """Run the whole flow. A reverted or cancelled order is a result, not an exception.

    Raises Forbidden before anything is signed if the key may not trade. Raises StatusContradiction
    when the caller's own node contradicts the final status of the order, and AfterSubmission when
    the service refuses or fails after it received the signed bytes.
    """
    yield from require_trade_scope(polling)
    plan, approvals = yield from approved_plan(
        request, signer, polling, watch, orders, has_node=has_node
    )
    return (
        yield from sign_plan(
            plan, signer, polling, watch, orders, approvals=approvals, has_node=has_node
        )
    )


def sign_plan(
    plan: SwapPlan,
    signer: Signer,
    polling: PollingPolicy,
    watch: Watch,
    orders: finality.SignedOrders,
    *,
    approvals: tuple[Approved, ...],
    has_node: bool,
    record: finality.Record = finality.unrecorded,
) -> Flow[SwapResult]:
    """Try an accepted plan at the own node, sign its swap, submit it, and follow it to its end.

    `record` is called with what was signed before it is submitted.
    """
    if has_node:
        trial = yield from tried(plan, newest_block(approvals))
        if trial.trial is not None:
            watch(trial.trial)
        require_consent_again(trial, plan.loss)
    quote, request = plan.quote, plan.request
    signed = sign(to_sign(plan.params), signer, request.wallet)
    sent = record(
        finality.SubmittedTransaction(
            "the swap",
            hash_of(signed),
            request.wallet,
            plan.params.nonce or 0,
            sell_token=request.sell_token,
            sell_amount=int(quote.sell_amount),
        )
    )
    try:
        order_id, interval, ends_in_s = yield from submit(quote, request, signed, polling, watch)
        sent = replace(sent, order_id=order_id)
        finality.remember(orders, sent)
        patient = replace(polling, patience_s=polling.until(ends_in_s))
        status = yield from follow_order(order_id, patient, watch, interval, sent.tx_hash)
    except ClientError as error:
        sent = outcome.remember_refused(orders, sent, error)
        yield from outcome.raise_outcome(error, sent, polling, watch, has_node=has_node)
    if has_node and status.status != "confirmed":
        watch(finality.OutcomeWatch(f"the service reports {status.status}", sent, polling.doubt_s))
    end = yield from finality.judge_record(status, sent, polling, has_node=has_node)
    end.require_agreement(sent)
    return _result(plan, approvals, end)


def _result(plan: SwapPlan, approvals: tuple[Approved, ...], end: finality.OrderEnd) -> SwapResult:
    """Return the result, whose record has what was signed."""
    quote, request, received = plan.quote, plan.request, None
    if end.receipt is not None and end.confirmed:
        received = node_calls.received(end.receipt, request.buy_token, request.wallet)
    signed_params = msgspec.structs.replace(
        end.record.order_params,
        from_token=quote.sell_token,
        to_token=quote.buy_token,
        amount=str(int(quote.sell_amount)),
        min_return_amount=str(int(quote.min_buy_amount)),
    )
    status = msgspec.structs.replace(end.own_record, order_params=signed_params)
    return SwapResult(quote, approvals, status, received, end.fate)
