"""POST /api/v1/mev/wrap/order: check a signed wrap, store it, and send it to its relay.

A wrap has no order id in the interface: a repeated post of the same bytes gets the same answer
with the order's current state. Bytes that ended without a block (not sent, refused, expired) are
sent again: on a quiet chain a fresh quote leads to the same bytes.
"""

from collections.abc import Sequence

from quietswap.rules.chain.records import signed_swap
from quietswap.rules.clients import ApiKey
from quietswap.rules.errors.base import RequestError
from quietswap.rules.errors.requests import (
    InvalidSignature,
    InvalidTransaction,
    NonceTooLow,
    ValidationError,
)
from quietswap.rules.orders.checks import WRAP_ORDER
from quietswap.rules.orders.comparison import IF_LOST, wrap_differences
from quietswap.rules.orders.new_order import operation_of
from quietswap.rules.orders.order import Order, OrderKind
from quietswap.rules.orders.preflight import (
    PreflightResult,
    RequiredSpend,
    node_required,
    preflight,
)
from quietswap.rules.orders.request import (
    SubmittedWrap,
    WrapOrderRequest,
)
from quietswap.rules.quotes.issued_quote import IssuedQuote, QuoteKind
from quietswap.rules.relays import FIRST_TIER
from quietswap.rules.tokens.token import WETH, WrapOperation
from quietswap.rules.tx.signed import SignedTransaction
from quietswap.service.orders.submit import SubmitOrder, accepted, decode_signed, plan_by_quote


class SubmitWrap:
    """Check the signature, a repeated post and the quote, then the chain, in this order.

    `explorer_url` has no trailing slash. The order id is internal.
    """

    def __init__(self, core: SubmitOrder, *, explorer_url: str) -> None:
        self._core = core
        self._explorer_url = explorer_url

    async def __call__(self, key: ApiKey, submission: WrapOrderRequest) -> SubmittedWrap:
        """Return the accepted wrap, or the earlier one with the same bytes.

        Raises the codes of the interface's table, and StoreUnavailable when the database is
        unavailable: the same bytes may then be posted again.
        """
        core = self._core
        signed = decode_signed(submission.raw_hex, OrderKind.WRAP)
        stored = await core.orders.by_hash(signed.hash)
        if stored is not None and _is_repeated(stored, key, submission):
            return self._answer(await core.delivery.wait_for(stored))
        try:
            issued = await self._issued(key, signed, submission.quote_id)
        except ValidationError as refusal:
            return self._answer(await self._adopt(signed, (), stored, refusal))
        try:
            return self._answer(await self._new(key, submission, signed, issued, stored))
        except (NonceTooLow, ValidationError) as refusal:
            return self._answer(await self._adopt(signed, issued, stored, refusal))

    async def _adopt(
        self,
        signed: SignedTransaction,
        issued: Sequence[IssuedQuote],
        known: Order | None,
        refusal: RequestError,
    ) -> Order:
        if known is not None:
            raise refusal
        return await self._core.adopt(signed, plan_by_quote(issued, signed), refusal)

    async def _new(
        self,
        key: ApiKey,
        submission: WrapOrderRequest,
        signed: SignedTransaction,
        issued: Sequence[IssuedQuote],
        known: Order | None,
    ) -> Order:
        core, operation, amount = self._core, submission.operation, submission.amount
        quote = core.match(
            issued,
            lambda quote: wrap_differences(signed, operation, amount, submission.metadata, quote),
            signed.sender,
        )
        tokens = quote.terms.trade.sell_amount if operation is WrapOperation.UNWRAP else 0
        try:
            ready = await preflight(
                core.chain, signed, RequiredSpend(WETH, tokens, None), WRAP_ORDER,
                signed_swap(signed, WETH, 0),
            )  # fmt: skip
        except RequestError:
            stored = await core.stored_meanwhile(signed, known)
            if stored is not None and _is_repeated(stored, key, submission):
                return await core.delivery.wait_for(stored)
            raise
        await self._check_gap(key, signed, ready)
        fresh = core.new_order(signed, quote, ready)
        dead = known if known is not None and known.may_resubmit else None
        return accepted(await core.deliver(fresh, ready, dead), signed, ready)

    async def _check_gap(
        self, key: ApiKey, signed: SignedTransaction, ready: PreflightResult
    ) -> None:
        """Raise InvalidTransaction for a nonce that leaves a gap, as the interface's table says."""
        own = await self._core.orders.own_nonces(key.client_id, signed.sender)
        try:
            with node_required():
                await self._core.check_gap(signed, ready.nonce, own)
        except ValidationError as gap:
            raise InvalidTransaction(reason=gap.message, field="nonce") from gap

    async def _issued(
        self, key: ApiKey, signed: SignedTransaction, quote_id: str | None
    ) -> Sequence[IssuedQuote]:
        """Return the quotes to compare with: only the named one if there is a name."""
        if quote_id is None:
            return await self._core.issued(key, QuoteKind.WRAP, signed)
        named = await self._core.quotes.by_id(key.client_id, quote_id)
        if named is None or named.kind is not QuoteKind.WRAP:
            field = {"field": "quoteId", "expected": "an issued quote", "provided": quote_id}
            text = "the service knows no quote of this API key with this id"
            raise ValidationError(text, [field], suggestion=IF_LOST)
        if named.wallet != signed.sender:
            raise InvalidSignature.other_signer(signed.sender, "the wallet of the quote")
        return [named]

    def _answer(self, order: Order) -> SubmittedWrap:
        relays = self._core.relays
        relay = relays.get(order.tier, relays[FIRST_TIER])
        return SubmittedWrap(
            order=order,
            operation=operation_of(order),
            sender=order.wallet,
            amount=order.sell_amount,
            relay_name=relay.name,
            tracking_url=relay.tracking_url(order.tx_hash),
            explorer_url=f"{self._explorer_url}/tx/{order.tx_hash}",
        )


def _is_repeated(known: Order, key: ApiKey, submission: WrapOrderRequest) -> bool:
    """Return whether this repeats a post of the same key that needs no second delivery."""
    return (
        known.kind is OrderKind.WRAP
        and known.client_id == key.client_id
        and operation_of(known) is submission.operation
        and not known.may_resubmit
    )
