"""POST /api/v1/mev/orders/:orderId/cancel: issue the transaction to sign, then submit it.

A cancel is an order of its own. The tracker decides between the two by the chain, and the order to
be cancelled keeps its status until then.
"""

from collections.abc import Callable

from quietswap.rules.chain.records import CallReverts, signed_swap
from quietswap.rules.clients import ApiKey
from quietswap.rules.errors.base import RequestError
from quietswap.rules.errors.requests import (
    InvalidSignature,
    NonceTooLow,
    OrderNotFound,
    SignatureReplay,
    ValidationError,
)
from quietswap.rules.orders.cancel_transaction import (
    CancelOrderRequest,
    CancelQuote,
    SubmittedCancel,
    cancel_gas,
    cancel_params,
    empty_transfer,
    fee_cap,
    require_cancellable,
)
from quietswap.rules.orders.checks import CANCEL_ORDER, CANCEL_QUOTE, would_revert
from quietswap.rules.orders.comparison import cancel_differences
from quietswap.rules.orders.order import Order, OrderKind
from quietswap.rules.orders.preflight import RequiredSpend, preflight
from quietswap.rules.quotes.issued_quote import CancelOrderTerms, IssuedQuote, QuoteKind
from quietswap.rules.relays import EndpointType, ShareMode
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import SignedTransaction
from quietswap.service.clients.failures import service_unavailable
from quietswap.service.orders.submit import (
    NEAREST,
    SubmitOrder,
    accepted,
    decode_signed,
    plan_by_quote,
)
from quietswap.service.relays.choice import relay_settings

VALIDITY_MS = 300_000
"""Equal to a wrap quote: time to fetch and confirm on a hardware wallet."""


_NO_WRAPS = "this order is a wrap or an unwrap, which is not cancelled at this path"
_INSTEAD = (
    "Send an empty transfer to the wallet itself, with the"
    " wrap's nonce, through a wallet's RPC URL."
)


class CancelOrder:
    """Issue and submit cancels; `new_quote_id` returns a fresh unguessable id."""

    def __init__(self, core: SubmitOrder, *, new_quote_id: Callable[[], str]) -> None:
        self._core = core
        self._new_quote_id = new_quote_id

    async def issue(self, key: ApiKey, order_id: str) -> CancelQuote:
        """Return the empty self-transfer that takes the order's nonce, valid for five minutes.

        Raises OrderNotFound, ValidationError for an order that has ended, NonceTooLow when the
        nonce is used already, ValidationError when the wallet's code reverts or needs too much gas,
        ProviderUnavailable, ServiceUnavailable.
        """
        with service_unavailable():
            order = await self._target(key, order_id)
            require_cancellable(order)
            quote = await self._quote(order)
            await self._core.quotes.save(quote.issued(key.client_id))
        return quote

    async def submit(self, key: ApiKey, submission: CancelOrderRequest) -> SubmittedCancel:
        """Return the accepted cancel, or the earlier one with the same bytes.

        Raises the codes of a swap's submission, and StoreUnavailable when the database is
        unavailable: the same bytes may then be posted again.
        """
        core = self._core
        target = await self._target(key, submission.order_id)
        signed = decode_signed(submission.raw_hex, OrderKind.CANCEL)
        if signed.sender != target.wallet:
            raise InvalidSignature.other_signer(signed.sender, "the order's wallet")
        stored = await core.orders.by_hash(signed.hash)
        if stored is not None:
            _require_own(stored, key)
            _require_rival(stored, target)
        if stored is not None and not stored.may_resubmit:
            return self._answer(await core.delivery.wait_for(stored), target)
        terms = CancelOrderTerms(submission.order_id)
        latest = await core.quotes.nearest(key.client_id, signed.sender, QuoteKind.CANCEL, NEAREST)
        issued = [quote for quote in latest if quote.terms == terms]
        try:
            require_cancellable(target)
            quote = core.match(
                issued,
                lambda quote: cancel_differences(signed, submission.metadata, quote),
                signed.sender,
            )
            order = await self._deliver(signed, quote, target, stored)
        except (NonceTooLow, ValidationError) as refusal:
            if stored is not None:
                raise
            order = await core.adopt(signed, plan_by_quote(issued, signed), refusal)
        _require_own(order, key)
        return self._answer(order, await core.orders.find(target.order_id) or target)

    async def _target(self, key: ApiKey, order_id: str) -> Order:
        """Return this client's swap or cancel; a wrap has no id in the interface."""
        order = await self._core.orders.find(order_id)
        if order is None or order.client_id != key.client_id:
            raise OrderNotFound
        if order.kind is OrderKind.WRAP:
            raise OrderNotFound(_NO_WRAPS, _INSTEAD)
        return order

    async def _quote(self, order: Order) -> CancelQuote:
        core, relay = self._core, self._core.relay(order.tier)
        call = empty_transfer(order.wallet)
        head, facts, gas = await core.chain.wallet_and_gas(order.wallet, WETH, call)
        if order.nonce < facts.nonce:
            raise _too_late(order.nonce, facts.nonce)
        if facts.code and gas is None:
            gas = await self._gas(order.wallet)
        gas_limit = cancel_gas(gas if facts.code else None)
        rivals = await self._core.orders.at_nonce(order.wallet, order.nonce)
        caps = [fee_cap(one) for one in (order, *rivals)]
        now = core.clock.now_ms()
        return CancelQuote(
            quote_id=self._new_quote_id(),
            order_id=order.order_id,
            wallet=order.wallet,
            protection=relay_settings(
                order.tier, relay, EndpointType(order.endpoint_type), ShareMode(order.share_mode)
            ),
            params=cancel_params(order, caps, head.next_base_fee, gas_limit),
            issued_at_ms=now,
            valid_until_ms=now + VALIDITY_MS,
        )

    async def _gas(self, wallet: Address) -> int | None:
        """Return what an empty transfer to a wallet with code uses. Raises ValidationError."""
        try:
            return await self._core.chain.estimate_gas(wallet, empty_transfer(wallet))
        except CallReverts as error:
            raise would_revert(CANCEL_QUOTE, str(error)) from error

    async def _deliver(
        self, signed: SignedTransaction, quote: IssuedQuote, target: Order, known: Order | None
    ) -> Order:
        core = self._core
        try:
            ready = await preflight(
                core.chain, signed, RequiredSpend(WETH, 0, spender=None), CANCEL_ORDER,
                signed_swap(signed, WETH, 0),
            )  # fmt: skip
        except RequestError as error:
            stored = await core.stored_meanwhile(signed, known)
            if stored is not None:
                return await core.delivery.wait_for(stored)
            if isinstance(error, NonceTooLow):
                raise _too_late(signed.nonce, (error.details or {})["expected"]) from error
            raise
        fresh = core.new_order(signed, quote, ready)
        return accepted(await core.deliver(fresh, ready, known), signed, ready)

    def _answer(self, order: Order, target: Order) -> SubmittedCancel:
        relay = self._core.relays[order.tier]
        return SubmittedCancel(order, target, relay.name, relay.tracking_url(order.tx_hash))


def _too_late(nonce: int, following: int) -> NonceTooLow:
    error = NonceTooLow(provided=nonce, expected=following)
    error.suggestion = (
        "A transaction with this nonce is in a block already: the order's status record says which"
        " as soon as the block is deep enough."
    )
    return error


def _require_rival(known: Order, target: Order) -> None:
    """Raise SignatureReplay for a cancel that cannot end `target`: its nonce differs."""
    if target.kind is OrderKind.CANCEL or known.nonce != target.nonce:
        raise SignatureReplay(order_id=known.order_id)


def _require_own(known: Order, key: ApiKey) -> None:
    """Raise SignatureReplay for bytes that are no cancel of this client."""
    is_own = known.client_id == key.client_id
    if not is_own or known.kind is not OrderKind.CANCEL:
        raise SignatureReplay(order_id=known.order_id if is_own else None)
