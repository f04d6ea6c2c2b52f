"""POST /api/v1/mev/orders: check a signed swap, store it, and send it to its relay."""

import asyncio

from quietswap.domain.errors.base import RequestError
from quietswap.domain.errors.order import DeadlineExpired, InvalidSignature, SignatureReplay
from quietswap.domain.order.checks import SWAP_ORDER
from quietswap.domain.order.dry_run import signed_swap
from quietswap.domain.order.order import FailureCode, Order, OrderKind
from quietswap.domain.order.submission import swap_differences
from quietswap.domain.quote.issued_quote import IssuedQuote, QuoteKind
from quietswap.domain.requests import SubmittedSwap, SwapOrderRequest
from quietswap.domain.transaction.signed import SignedTransaction
from quietswap.ports.clients import ApiKey
from quietswap.services.submitting.preflight import RequiredSpend, preflight
from quietswap.services.submitting.submit_order import SubmitOrder, accepted, decode_signed

ESTIMATED_EXECUTION = "15-45 seconds"
"""From the relay to a block: one to three slots of twelve seconds."""


class SubmitSwap:
    """Check the signature, replay, deadline and quote, then the chain, in this order.

    Replay comes before the chain: a mined swap is SIGNATURE_REPLAY, not NONCE_TOO_LOW. Bytes that
    were certainly not sent are no replay and go to the same order: on a quiet chain a fresh quote
    leads to the same bytes.
    """

    def __init__(self, core: SubmitOrder) -> None:
        self._core = core

    async def __call__(self, key: ApiKey, submission: SwapOrderRequest) -> SubmittedSwap:
        """Return the accepted order; `pending` while the relay's response is unknown.

        Raises the codes of the interface's table, and StoreUnavailable when the database is
        unavailable: the same bytes may then be posted again.
        """
        core = self._core
        signed = decode_signed(submission.raw_hex, OrderKind.SWAP)
        if signed.sender.lower() != submission.terms["userAddress"].lower():
            raise InvalidSignature(reason=f"it was signed by {signed.sender}, not by userAddress")
        known, issued = await asyncio.gather(
            core.orders.by_hash(signed.hash), core.issued(key, QuoteKind.SWAP, signed)
        )
        if known is not None and not _is_unsent(key, known):
            raise _replay(key, known)
        self._check_deadline(submission.terms["deadline"])
        quote = core.match(
            issued,
            lambda quote: swap_differences(signed, submission.terms, submission.metadata, quote),
        )
        order = await self._deliver(key, signed, quote, known)
        relay = core.relay(quote.tier)
        return SubmittedSwap(
            order=order,
            relay_name=relay.name,
            tracking_url=relay.tracking_url(order.tx_hash),
            provider_order_id=order.tx_hash,
            estimated_execution=ESTIMATED_EXECUTION,
        )

    def _check_deadline(self, deadline: float) -> None:
        now = self._core.clock.now_ms() // 1000
        if deadline < now:
            raise DeadlineExpired(deadline=int(max(deadline, 0)), now=now)

    async def _deliver(
        self, key: ApiKey, signed: SignedTransaction, quote: IssuedQuote, unsent: Order | None
    ) -> Order:
        core, trade = self._core, quote.terms.trade
        spend = RequiredSpend(trade.sell_token, trade.sell_amount, spender=quote.params.to)
        swap = signed_swap(signed, trade.buy_token, trade.min_buy_amount)
        try:
            ready = await preflight(core.chain, signed, spend, SWAP_ORDER, swap)
        except RequestError as error:
            stored = await core.stored_meanwhile(signed, unsent)
            if stored is not None:
                raise _replay(key, stored) from error
            raise
        fresh = core.new_order(signed, quote, ready)
        delivered = await core.deliver(fresh, ready, unsent)
        order = delivered.order
        if unsent is None:
            is_replay = order.order_id != fresh.order_id
        else:
            is_replay = delivered.outcome is None and order.status.is_terminal
        if is_replay:
            raise _replay(key, order)
        return accepted(delivered, signed, ready)


def _is_unsent(key: ApiKey, known: Order) -> bool:
    """Return whether these bytes are an order of this client that no relay ever had."""
    is_unsent = known.failure is not None and known.failure.code is FailureCode.NOT_SENT
    return is_unsent and known.may_resubmit and _is_own(key, known)


def _is_own(key: ApiKey, known: Order) -> bool:
    return known.client_id == key.client_id and known.kind is OrderKind.SWAP


def _replay(key: ApiKey, known: Order) -> SignatureReplay:
    return SignatureReplay(order_id=known.order_id if _is_own(key, known) else None)
