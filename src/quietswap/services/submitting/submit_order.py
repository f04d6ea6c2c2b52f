"""The steps that the submission of a swap, a wrap and a cancel share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from quietswap.domain.errors.availability import ProviderUnavailable
from quietswap.domain.errors.base import Details
from quietswap.domain.errors.order import InvalidSignature, InvalidTransaction
from quietswap.domain.errors.request import ValidationError
from quietswap.domain.order.order import Order, OrderKind
from quietswap.domain.order.relay_response import SentTransaction, delivery_error
from quietswap.domain.order.submission import (
    OrderTimeouts,
    PlannedOrder,
    matching_quote,
    new_pending_order,
    planned_order,
)
from quietswap.domain.quote.issued_quote import IssuedQuote, QuoteKind
from quietswap.domain.transaction.signed import (
    BadSignature,
    SignedTransaction,
    TransactionDecodeError,
    TransactionRuleViolation,
    decode,
)
from quietswap.ports.chain import ChainReader
from quietswap.ports.clients import ApiKey
from quietswap.ports.clock import Clock
from quietswap.ports.relay import Relay
from quietswap.ports.stores import OrderStore, QuoteStore
from quietswap.services.submitting.deliver import DeliveryResult, OrderDelivery
from quietswap.services.submitting.preflight import PreflightResult

NEAREST = 20
"""Latest quotes of the wallet with which a transaction that no quote issued is compared."""


def decode_signed(raw_hex: str, kind: OrderKind) -> SignedTransaction:
    """Return the transaction of 0x-prefixed hex.

    Raises InvalidSignature. A broken rule is InvalidTransaction for a wrap and ValidationError
    otherwise, as the interface's error table says.
    """
    try:
        return decode(raw_hex)
    except (TransactionDecodeError, BadSignature) as error:
        raise InvalidSignature(reason=str(error)) from error
    except TransactionRuleViolation as broken:
        if kind is OrderKind.WRAP:
            raise InvalidTransaction(reason=str(broken), field=broken.name) from broken
        field = {
            "field": f"transaction.{broken.name}",
            "expected": broken.expected,
            "provided": broken.provided,
        }
        raise ValidationError(f"the transaction is not valid: {broken}", [field]) from broken


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitOrder:
    """`relays` by tier; `new_id` returns a fresh unguessable order id."""

    quotes: QuoteStore
    orders: OrderStore
    chain: ChainReader
    relays: Mapping[int, Relay]
    delivery: OrderDelivery
    clock: Clock
    new_id: Callable[[OrderKind], str]
    limits: OrderTimeouts

    def relay(self, tier: int) -> Relay:
        """Return the relay of a tier. Raises ProviderUnavailable."""
        relay = self.relays.get(tier)
        if relay is None:
            raise ProviderUnavailable("this service no longer uses the relay of the quote")
        return relay

    async def issued(
        self, key: ApiKey, kind: QuoteKind, signed: SignedTransaction
    ) -> Sequence[IssuedQuote]:
        """Return the quotes with this transaction; without one, the wallet's latest quotes.

        The latter only serve to name the differences.
        """
        wallet, fingerprint = signed.sender, signed.params.fingerprint()
        exact = await self.quotes.by_fingerprint(key.client_id, wallet, kind, fingerprint)
        return exact or await self.quotes.nearest(key.client_id, wallet, kind, NEAREST)

    def match(
        self, issued: Iterable[IssuedQuote], differences: Callable[[IssuedQuote], Sequence[Details]]
    ) -> IssuedQuote:
        """Return the quote without differences. Raises ValidationError, ProviderUnavailable."""
        compared = [(quote, differences(quote)) for quote in issued]
        quote = matching_quote(compared, self.clock.now_ms())
        self.relay(quote.tier)
        return quote

    async def stored_meanwhile(
        self, signed: SignedTransaction, known: Order | None
    ) -> Order | None:
        """Return the order that another post of the same bytes has stored since `known` was read.

        A preflight that fails proves nothing if these bytes were delivered in the meantime: their
        own transaction may already be mined, and has then used the nonce and the balance.
        """
        return await self.orders.by_hash(signed.hash) if known is None else None

    def new_order(
        self, signed: SignedTransaction, quote: IssuedQuote, ready: PreflightResult
    ) -> Order:
        """Return the pending order of a quote, not stored yet."""
        return self.new_planned(signed, planned_order(quote), ready)

    def new_planned(
        self, signed: SignedTransaction, plan: PlannedOrder, ready: PreflightResult
    ) -> Order:
        """Return the pending order, not stored yet."""
        return new_pending_order(
            self.new_id(plan.kind),
            signed,
            plan,
            now_ms=self.clock.now_ms(),
            head=ready.head,
            limits=self.limits,
        )

    async def deliver(
        self, fresh: Order, ready: PreflightResult, known: Order | None
    ) -> DeliveryResult:
        """Store and send `fresh`; if `known` has the same bytes, send that order once more.

        Raises StoreUnavailable when it is not certain that the order was stored: it was not sent
        then.
        """
        checked = ready.run.words if ready.run else ""
        if known is None:
            return await self.delivery.new(fresh, checked)
        return await self.delivery.redeliver(known, fresh, checked)


def accepted(delivered: DeliveryResult, signed: SignedTransaction, ready: PreflightResult) -> Order:
    """Return the order of a delivery; raises the error of one that failed."""
    sent = SentTransaction(signed, ready.eth, ready.nonce)
    error = delivery_error(delivered.order, delivered.outcome, sent)
    if error is not None:
        raise error
    return delivered.order
