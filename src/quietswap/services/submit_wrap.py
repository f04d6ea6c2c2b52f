"""POST /api/v1/mev/wrap/order: a signed wrap runs through the same machinery as a swap.

It has no order id on the wire, so posting the same bytes again gives the same answer again, with
the order's state of now. Bytes that died without a block (never sent, refused, expired) are sent
anew: a quiet chain quotes, and a wallet signs, the same bytes again.
"""

from collections.abc import Callable, Mapping, Sequence

from quietswap.domain.errors import InvalidSignature, InvalidTransaction
from quietswap.domain.order import Order, OrderKind
from quietswap.domain.protection import FIRST_TIER
from quietswap.domain.quote import IssuedQuote, Operation, QuoteKind
from quietswap.domain.refusals import ProviderUnavailable, ValidationError
from quietswap.domain.requests import WrapSubmission, WrapSubmitted
from quietswap.domain.signed_transaction import (
    BadSignature,
    BrokenRule,
    SignedTransaction,
    Undecodable,
    decode,
)
from quietswap.domain.submission import (
    OrderLimits,
    matching_quote,
    operation_of,
    taken_order,
    wrap_differences,
    wrap_trade,
)
from quietswap.domain.token import WETH
from quietswap.ports.outside import Chain, Clock, Relay
from quietswap.ports.stores import ApiKey, OrderStore, QuoteStore
from quietswap.services.deliver_order import Delivery
from quietswap.services.issued_quotes import candidates
from quietswap.services.preflight import Spend, preflight
from quietswap.services.relay_refusal import refusal


class SubmitWrap:
    """The order of checks: the signature, replay, the quote, then the chain.

    `relays` by tier; `new_id` returns a fresh order id, which stays inside; `explorer_url` has no
    trailing slash.
    """

    def __init__(
        self,
        *,
        quotes: QuoteStore,
        orders: OrderStore,
        chain: Chain,
        relays: Mapping[int, Relay],
        delivery: Delivery,
        clock: Clock,
        new_id: Callable[[], str],
        limits: OrderLimits,
        explorer_url: str,
    ) -> None:
        self._quotes = quotes
        self._orders = orders
        self._chain = chain
        self._relays = relays
        self._delivery = delivery
        self._clock = clock
        self._new_id = new_id
        self._limits = limits
        self._explorer_url = explorer_url

    async def __call__(self, key: ApiKey, submission: WrapSubmission) -> WrapSubmitted:
        """Return the wrap that was taken, or was taken before.

        Raises the codes of the interface's table, and StoreDown when the database is away: the
        same bytes may then be posted again.
        """
        signed = _decoded(submission.raw_hex)
        known = await self._orders.by_hash(signed.hash)
        if known is not None and _is_repeated(known, key, submission):
            return self._answer(await self._delivery.settled(known))
        quote = await self._matching_quote(key, signed, submission)
        if quote.tier not in self._relays:
            raise ProviderUnavailable(f"no relay serves tier {quote.tier} any more")
        return self._answer(await self._deliver(signed, quote, known))

    async def _matching_quote(
        self, key: ApiKey, signed: SignedTransaction, submission: WrapSubmission
    ) -> IssuedQuote:
        issued = await self._issued(key, signed, submission.quote_id)
        compared = [
            (
                quote,
                wrap_differences(
                    signed, submission.operation, submission.amount, submission.metadata, quote
                ),
            )
            for quote in issued
        ]
        return matching_quote(compared, self._clock.now_ms())

    async def _issued(
        self, key: ApiKey, signed: SignedTransaction, quote_id: str | None
    ) -> Sequence[IssuedQuote]:
        """Return what to compare with: the named quote alone where one is named."""
        if quote_id is None:
            return await candidates(self._quotes, key.id, QuoteKind.WRAP, signed)
        named = await self._quotes.by_id(key.id, quote_id)
        if named is None or named.kind is not QuoteKind.WRAP:
            field = {"field": "quoteId", "expected": "an issued quote", "provided": quote_id}
            raise ValidationError("no such quote was issued to this API key", [field])
        if named.wallet != signed.sender:
            raise InvalidSignature(
                reason=f"it was signed by {signed.sender}, not by the wallet of the quote"
            )
        return [named]

    async def _deliver(
        self, signed: SignedTransaction, quote: IssuedQuote, known: Order | None
    ) -> Order:
        trade = wrap_trade(quote)
        operation = Operation(quote.terms["operation"])
        tokens = trade.sell_amount if operation is Operation.UNWRAP else 0
        ready = await preflight(self._chain, signed, Spend(WETH, tokens, spender=None))
        order = taken_order(
            self._new_id(),
            signed,
            quote,
            trade,
            now_ms=self._clock.now_ms(),
            head=ready.head,
            limits=self._limits,
        )
        if known is not None and known.may_be_reposted:
            delivered = await self._delivery.again(known, order)
        else:
            delivered = await self._delivery.new(order)
        error = refusal(delivered, signed, ready)
        if error is not None:
            raise error
        return delivered.order

    def _answer(self, order: Order) -> WrapSubmitted:
        relay = self._relays.get(order.tier, self._relays[FIRST_TIER])
        return WrapSubmitted(
            order=order,
            operation=operation_of(order),
            sender=order.wallet,
            amount=order.sell_amount,
            relay_name=relay.name,
            tracking_url=relay.tracking_url(order.tx_hash),
            explorer_url=f"{self._explorer_url}/tx/{order.tx_hash}",
        )


def _decoded(raw_hex: str) -> SignedTransaction:
    try:
        return decode(raw_hex)
    except (Undecodable, BadSignature) as error:
        raise InvalidSignature(reason=str(error)) from error
    except BrokenRule as broken:
        raise InvalidTransaction(reason=str(broken), field=broken.name) from broken


def _is_repeated(known: Order, key: ApiKey, submission: WrapSubmission) -> bool:
    """Whether this post repeats one of the same key that needs no second delivery."""
    return (
        known.kind is OrderKind.WRAP
        and known.key_id == key.id
        and operation_of(known) is submission.operation
        and not known.may_be_reposted
    )
