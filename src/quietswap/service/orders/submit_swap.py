"""POST /api/v1/mev/orders: check a signed swap, store it, and send it to its relay."""

import asyncio
from collections.abc import Sequence

from quietswap.rules.chain.records import signed_swap
from quietswap.rules.clients import ApiKey
from quietswap.rules.errors.base import RequestError
from quietswap.rules.errors.requests import (
    DeadlineExpired,
    InvalidSignature,
    NonceTooLow,
    SignatureReplay,
    ValidationError,
)
from quietswap.rules.orders.checks import SWAP_ORDER
from quietswap.rules.orders.comparison import swap_differences
from quietswap.rules.orders.order import FailureCode, Order, OrderKind
from quietswap.rules.orders.preflight import preflight, swap_spend
from quietswap.rules.orders.request import (
    SubmittedSwap,
    SwapOrderRequest,
)
from quietswap.rules.orders.wallet_transaction import other_form_open, same_call
from quietswap.rules.quotes.issued_quote import IssuedQuote, QuoteKind
from quietswap.rules.relays import FIRST_TIER
from quietswap.rules.routers.batch import plain_swap
from quietswap.rules.trial.next_block import SLOT_S
from quietswap.rules.tx.signed import SignedTransaction, decode
from quietswap.service.orders.inclusion import GetInclusion
from quietswap.service.orders.submit import SubmitOrder, accepted, decode_signed, plan_by_quote


class SubmitSwap:
    """Check the signature, replay, deadline, quote and its other form, then the chain, in order.

    Replay comes before the chain: a mined swap is SIGNATURE_REPLAY, not NONCE_TOO_LOW. Bytes that
    were certainly not sent are no replay and go to the same order: on a quiet chain a fresh quote
    leads to the same bytes.
    """

    def __init__(self, core: SubmitOrder, inclusion: GetInclusion) -> None:
        self._core = core
        self._inclusion = inclusion

    async def __call__(self, key: ApiKey, submission: SwapOrderRequest) -> SubmittedSwap:
        """Return the accepted order; `pending` while the relay's response is unknown.

        Raises the codes of the interface's table, and StoreUnavailable when the database is
        unavailable: the same bytes may then be posted again.
        """
        core = self._core
        signed = decode_signed(submission.raw_hex, OrderKind.SWAP)
        if signed.sender.lower() != submission.terms["userAddress"].lower():
            raise InvalidSignature.other_signer(signed.sender, "userAddress")
        known, issued = await asyncio.gather(
            core.orders.by_hash(signed.hash), core.issued(key, QuoteKind.SWAP, signed)
        )
        if known is not None and not _is_unsent(key, known):
            raise _replay(key, known)
        try:
            order = await self._new(key, submission, signed, issued, known)
        except (DeadlineExpired, NonceTooLow, ValidationError) as refusal:
            if known is not None:
                raise
            order = await core.adopt(signed, plan_by_quote(issued, signed), refusal)
        relay = core.relays.get(order.tier, core.relays[FIRST_TIER])
        return SubmittedSwap(
            order=order,
            relay_name=relay.name,
            tracking_url=relay.tracking_url(order.tx_hash),
            provider_order_id=order.tx_hash,
            estimated_execution=self._inclusion.usual_wait,
        )

    async def _new(
        self,
        key: ApiKey,
        submission: SwapOrderRequest,
        signed: SignedTransaction,
        issued: Sequence[IssuedQuote],
        known: Order | None,
    ) -> Order:
        await self._check_deadline(submission.terms["deadline"])
        quote = self._core.match(
            issued,
            lambda quote: swap_differences(signed, submission.terms, submission.metadata, quote),
            signed.sender,
        )
        if quote.batched is not None:
            await self._check_other_form(quote, signed)
        return await self._deliver(key, signed, quote, known)

    async def _check_deadline(self, deadline: float) -> None:
        """Refuse a deadline that is past by the local clock and by the time of the next block."""
        now = self._core.clock.now_ms() // 1000
        if deadline >= now:
            return
        head = await self._core.chain.head()
        now = min(now, head.time + SLOT_S)
        if deadline < now:
            raise DeadlineExpired(deadline=int(max(deadline, 0)), now=now)

    async def _check_other_form(self, quote: IssuedQuote, signed: SignedTransaction) -> None:
        """Refuse one form of a swap while an order with the other one is open at its nonce.

        The storage refuses other nonces, and nothing that the chain says would be of use here.
        """
        contenders = await self._core.orders.contenders(quote.client_id, quote.wallet, signed.nonce)
        for order in contenders:
            if order.status.is_terminal or order.raw is None:
                continue
            call = decode("0x" + order.raw.hex()).params
            is_swap = same_call(plain_swap(call, order.wallet), quote.params)
            if is_swap and not same_call(call, signed.params):
                raise other_form_open(order)

    async def _deliver(
        self, key: ApiKey, signed: SignedTransaction, quote: IssuedQuote, unsent: Order | None
    ) -> Order:
        core, trade = self._core, quote.terms.trade
        spend = swap_spend(trade, signed)
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
