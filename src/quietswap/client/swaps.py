"""The swap flow: quote, check, approve, sign, submit, follow, count what came."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quietswap.client import calls, chain
from quietswap.client.approvals import Approved, ensure_allowance, require_mainnet
from quietswap.client.errors import ClientError, Contradicted, Declined
from quietswap.client.flow import Flow, Pause, ask, now
from quietswap.client.outages import SignatureReplay
from quietswap.client.polling import SUGGESTED_S, Polling, follow
from quietswap.client.resources import OrderStatus, Submission, SwapQuote
from quietswap.client.safety import SwapRequest, check_quote, rehearse
from quietswap.client.signing import Signer, hash_of, require_same, sign, to_sign
from quietswap.domain.transaction import MAINNET

ORDER_LIFE_S = 30 * 60
FRESH_S = 20.0
"""A quote lives about 30 seconds: after 20 there may be too little left for signing."""
_MOST_QUOTES = 10
_MOST_ROUTERS = 5
"""Approvals in one swap at most: each fresh quote may come from another source's router."""
_SUBMISSIONS = 3
_RECEIPT_LOOKS = 10
_THREAT_SCORE = {"LOW": 20, "MEDIUM": 55, "HIGH": 90}

Event = SwapQuote | Approved | Submission | OrderStatus
Watch = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class SwapResult:
    """How a swap ended.

    `received` is what the wallet gained of the buy token according to the chain, in smallest
    units; None when the swap did not happen, or no node was at hand that knows the transaction.
    """

    quote: SwapQuote
    approvals: tuple[Approved, ...]
    status: OrderStatus
    received: int | None

    @property
    def succeeded(self) -> bool:
        """Whether the order is confirmed, which no receipt of the caller's own node contradicts."""
        return self.status.status == "confirmed"


def order_params(quote: SwapQuote, request: SwapRequest, unix_ms: int) -> dict[str, Any]:
    """Return the `orderParams` of a quote."""
    analysis = quote.mev_analysis
    return {
        "fromToken": quote.sell_token,
        "toToken": quote.buy_token,
        "amount": str(int(quote.sell_amount)),
        "minReturnAmount": str(int(quote.min_buy_amount)),
        "userAddress": request.wallet,
        "chainId": MAINNET,
        "deadline": unix_ms // 1000 + ORDER_LIFE_S,
        "slippageBps": request.slippage_bps,
        "selectedTier": quote.mev_protection.provider_metadata.get("tier", 2),
        "threatAnalysis": {
            "threatScore": _THREAT_SCORE.get(analysis.threat_level, 50),
            "threatLevel": analysis.threat_level,
            "confidence": 1 if quote.is_verified else 0.5,
            "riskFactors": [],
            "estimatedSavings": {
                "estimatedProtection": {
                    "amount": analysis.estimated_protection_usd,
                    "currency": "USD",
                }
            },
            "timestamp": unix_ms,
        },
        "transactionValueUsd": quote.scoring.net_value_usd,
        "dexRoute": {
            "source": quote.source,
            "target": quote.dex_route.target,
            "data": quote.dex_route.data,
            "estimatedGas": quote.estimated_gas,
        },
    }


def order_call(
    quote: SwapQuote, request: SwapRequest, signed: str, unix_ms: int
) -> calls.Call[Submission]:
    """Return the call that submits a signed quote."""
    return calls.submit_order(
        order_params=order_params(quote, request, unix_ms),
        signed_transaction=signed,
        provider_metadata=quote.mev_protection.provider_metadata,
    )


def place(quote: SwapQuote, request: SwapRequest, signed: str) -> Flow[Submission]:
    """Submit a signed quote once. Raises OtherTransaction."""
    call = order_call(quote, request, signed, (yield from now()).unix_ms)
    answer = yield from ask(call)
    require_same(hash_of(signed), answer.order.tx_hash)
    return answer


def fresh_quote(request: SwapRequest, watch: Watch) -> Flow[SwapQuote]:
    """Ask for a quote that is safe, acceptable and still fresh. Raises UnsafeQuote or Declined.

    A caller may think long about accepting (a person at a prompt): a quote that grew old meanwhile
    is asked for again, and `accept` is asked about the new one.
    """
    for _ in range(_MOST_QUOTES):
        quote = yield from ask(request.call())
        came = (yield from now()).seconds
        check_quote(quote, request)
        watch(quote)
        if request.at_least is not None and quote.min_buy_amount < request.at_least:
            raise Declined(f"the minimum {quote.min_buy_amount} is below {request.at_least}")
        if request.accept is not None and not request.accept(quote):
            raise Declined("the quote was not accepted")
        if (yield from now()).seconds - came <= FRESH_S:
            return quote
    raise Declined("each quote grew old before it was accepted")


def approved_quote(
    request: SwapRequest, signer: Signer, polling: Polling, watch: Watch
) -> Flow[tuple[SwapQuote, tuple[Approved, ...]]]:
    """Return a quote whose router may move the sell amount.

    An approval takes time and a nonce, so a fresh quote follows each; it may choose another router.
    Raises Declined when the wallet holds too little, and what `ensure_allowance` raises.
    """
    approvals: list[Approved] = []
    for _ in range(_MOST_ROUTERS):
        quote = yield from fresh_quote(request, watch)
        if request.approval == "never":
            return quote, ()
        if not approvals:
            yield from _can_pay(quote, request)
        sent = yield from ensure_allowance(
            token=quote.sell_token,
            router=quote.dex_route.target,
            amount=quote.sell_amount,
            wallet=request.wallet,
            signer=signer,
            approval=request.approval,
            polling=polling,
        )
        if not sent:
            return quote, tuple(approvals)
        approvals.extend(sent)
        for each in sent:
            watch(each)
    raise Declined("each fresh quote chose a router that was not approved yet")


def _can_pay(quote: SwapQuote, request: SwapRequest) -> Flow[None]:
    """Spare the fee of an approval for a swap that the wallet cannot pay. Raises Declined."""
    held = yield from ask(chain.token_balance(quote.sell_token, request.wallet))
    if held < quote.sell_amount:
        raise Declined(f"the wallet holds {held} smallest units of the sell token, too few")


def submit(
    quote: SwapQuote, request: SwapRequest, signed: str, polling: Polling, watch: Watch
) -> Flow[tuple[str, float]]:
    """Submit the signed quote; return the order's id and the seconds between polls.

    When no answer comes, the same bytes are posted again: they can only ever be one order, and
    SIGNATURE_REPLAY then says which. Raises OtherTransaction.
    """
    call = order_call(quote, request, signed, (yield from now()).unix_ms)
    for attempt in range(1, _SUBMISSIONS + 1):
        try:
            answer = yield from ask(call)
        except SignatureReplay as replay:
            if attempt == 1 or replay.details is None:
                raise
            return replay.details.order_id, SUGGESTED_S
        except ClientError as error:
            if not error.is_transient or attempt == _SUBMISSIONS:
                raise
            yield polling.wait(attempt, error)
        else:
            require_same(hash_of(signed), answer.order.tx_hash)
            watch(answer)
            return answer.order.order_id, answer.tracking.polling_interval
    raise AssertionError("the last attempt returns or raises")


def swap(
    request: SwapRequest, signer: Signer, polling: Polling, watch: Watch, *, has_node: bool
) -> Flow[SwapResult]:
    """Run the whole flow. A reverted or cancelled order is a result, not an exception.

    Raises Contradicted when the caller's own node knows better how the order ended.
    """
    if has_node:
        yield from require_mainnet()
    quote, approvals = yield from approved_quote(request, signer, polling, watch)
    yield from rehearse(quote, request, has_node=has_node)
    params = quote.mev_protection.transaction_params
    signed = sign(to_sign(params), signer, request.wallet)
    order_id, interval = yield from submit(quote, request, signed, polling, watch)
    tx_hash = hash_of(signed)
    status = yield from follow(order_id, polling, watch, interval, tx_hash)
    received = None
    if has_node:
        is_confirmed = status.status == "confirmed"
        receipt = yield from _own_receipt(tx_hash, polling, _RECEIPT_LOOKS if is_confirmed else 1)
        if receipt is not None and receipt.succeeded != is_confirmed:
            raise Contradicted(order_id, status.status, tx_hash)
        if receipt is not None and is_confirmed:
            received = chain.received(receipt, request.buy_token, request.wallet)
    return SwapResult(quote, approvals, status, received)


def _own_receipt(tx_hash: str, polling: Polling, looks: int) -> Flow[chain.Receipt | None]:
    """Return what the caller's own node knows of a transaction; None where it knows nothing.

    The node may be some blocks behind the service's: after the first look it is asked again. That
    it fails is no reason to lose the order's result.
    """
    for look in range(looks):
        if look:
            yield Pause(polling.node_interval_s)
        try:
            receipt = yield from ask(chain.receipt(tx_hash))
        except ClientError:
            return None
        if receipt is not None:
            return receipt
    return None
