"""POST /api/v1/mev/orders: a signed swap is checked, committed, and sent to its relay."""

from collections.abc import Callable, Mapping

from quietswap.domain.errors import DeadlineExpired, InvalidSignature
from quietswap.domain.order import Order, OrderKind
from quietswap.domain.quote import IssuedQuote, QuoteKind
from quietswap.domain.refusals import ProviderUnavailable, SignatureReplay, ValidationError
from quietswap.domain.requests import Submitted, SwapSubmission
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
    swap_differences,
    swap_trade,
    taken_order,
)
from quietswap.ports.outside import Chain, Clock, Relay
from quietswap.ports.stores import ApiKey, OrderStore, QuoteStore
from quietswap.services.deliver_order import Delivery
from quietswap.services.issued_quotes import candidates
from quietswap.services.preflight import Spend, preflight
from quietswap.services.relay_refusal import refusal

ESTIMATED_EXECUTION = "15-45 seconds"
"""From the relay to a block: one to three slots of twelve seconds."""


class SubmitSwap:
    """The order of checks: the signature, replay, the deadline, the quote, then the chain.

    Replay comes before the chain: a swap that is mined already is SIGNATURE_REPLAY, not
    NONCE_TOO_LOW. `relays` by tier; `new_id` returns a fresh unguessable order id.
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
    ) -> None:
        self._quotes = quotes
        self._orders = orders
        self._chain = chain
        self._relays = relays
        self._delivery = delivery
        self._clock = clock
        self._new_id = new_id
        self._limits = limits

    async def __call__(self, key: ApiKey, submission: SwapSubmission) -> Submitted:
        """Return the order that was taken; `pending` while the relay's answer is not known.

        Raises the codes of the interface's table, and StoreDown when the database is away: the
        same bytes may then be posted again.
        """
        signed = _decoded(submission)
        known = await self._orders.by_hash(signed.hash)
        if known is not None:
            raise _replay(key, known)
        self._check_deadline(submission.terms["deadline"])
        quote = await self._matching_quote(key, signed, submission)
        relay = self._relays.get(quote.tier)
        if relay is None:
            raise ProviderUnavailable(f"no relay serves tier {quote.tier} any more")
        order = await self._deliver(key, signed, quote)
        return Submitted(
            order=order,
            relay_name=relay.name,
            tracking_url=relay.tracking_url(order.tx_hash),
            provider_order_id=order.tx_hash,
            estimated_execution=ESTIMATED_EXECUTION,
        )

    def _check_deadline(self, deadline: float) -> None:
        now = self._clock.now_ms() // 1000
        if deadline < now:
            raise DeadlineExpired(deadline=int(max(deadline, 0)), now=now)

    async def _matching_quote(
        self, key: ApiKey, signed: SignedTransaction, submission: SwapSubmission
    ) -> IssuedQuote:
        issued = await candidates(self._quotes, key.id, QuoteKind.SWAP, signed)
        compared = [
            (quote, swap_differences(signed, submission.terms, submission.metadata, quote))
            for quote in issued
        ]
        return matching_quote(compared, self._clock.now_ms())

    async def _deliver(self, key: ApiKey, signed: SignedTransaction, quote: IssuedQuote) -> Order:
        trade = swap_trade(quote)
        spend = Spend(trade.sell_token, trade.sell_amount, spender=quote.params.to)
        ready = await preflight(self._chain, signed, spend)
        order = taken_order(
            self._new_id(),
            signed,
            quote,
            trade,
            now_ms=self._clock.now_ms(),
            head=ready.head,
            limits=self._limits,
        )
        delivered = await self._delivery.new(order)
        if delivered.order.order_id != order.order_id:
            raise _replay(key, delivered.order)
        error = refusal(delivered, signed, ready)
        if error is not None:
            raise error
        return delivered.order


def _decoded(submission: SwapSubmission) -> SignedTransaction:
    try:
        signed = decode(submission.raw_hex)
    except (Undecodable, BadSignature) as error:
        raise InvalidSignature(reason=str(error)) from error
    except BrokenRule as broken:
        field = {
            "field": f"transaction.{broken.name}",
            "expected": broken.expected,
            "provided": broken.provided,
        }
        raise ValidationError(f"the transaction is not valid: {broken}", [field]) from broken
    if signed.sender.lower() != submission.terms["userAddress"].lower():
        raise InvalidSignature(reason=f"it was signed by {signed.sender}, not by userAddress")
    return signed


def _replay(key: ApiKey, known: Order) -> SignatureReplay:
    is_own = known.key_id == key.id and known.kind is OrderKind.SWAP
    return SignatureReplay(order_id=known.order_id if is_own else None)
