"""From signed bytes to one order: the steps that swap, wrap and cancel share.

The row with its hash is committed before the relay is called, once for the same bytes. From then on
the send completes even if the client disconnects, because it runs in its own task.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from quietswap.rules.chain.records import ChainReader
from quietswap.rules.clients import ApiKey
from quietswap.rules.errors.base import Details, ProviderUnavailable, RequestError
from quietswap.rules.errors.requests import InvalidSignature, InvalidTransaction, ValidationError
from quietswap.rules.orders.comparison import matching_quote
from quietswap.rules.orders.new_order import (
    OrderTimeouts,
    PlannedOrder,
    new_pending_order,
    planned_order,
)
from quietswap.rules.orders.nonces import OwnNonces, next_free_nonce
from quietswap.rules.orders.order import Order, OrderEvent, OrderEventType, OrderKind, Transition
from quietswap.rules.orders.order_changes import POSTED
from quietswap.rules.orders.preflight import PreflightResult
from quietswap.rules.orders.stores import DuplicateTransaction, StoreUnavailable
from quietswap.rules.orders.tracking import safe_now_ms
from quietswap.rules.orders.wallet_transaction import check_nonce_gap, same_call
from quietswap.rules.quotes.issued_quote import IssuedQuote, QuoteKind
from quietswap.rules.relays import BACKUP_TIER
from quietswap.rules.routers import batch
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import (
    BadSignature,
    SignedTransaction,
    TransactionDecodeError,
    TransactionRuleViolation,
    decode,
)
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.base.concurrency import SingleFlight
from quietswap.service.orders.adopt import adopted_order, already_mined, evidence, mined_receipt
from quietswap.service.orders.transition import (
    RELAY_SAID,
    apply_transition,
    remark,
    transition_for_response,
)
from quietswap.service.relays.answers import (
    EarlierSend,
    RelayOutcome,
    RelayResponse,
    SentTransaction,
    delivery_error,
    response_text,
    words_of,
)
from quietswap.service.relays.relay import Relay
from quietswap.service.relays.send import (
    ALSO_SENT,
    PASSED_ON,
    forget,
    other_relay,
    passed_on,
    send,
    with_reason_to_stay,
)
from quietswap.service.storage.orders import OrderStore
from quietswap.service.storage.quotes import QuoteStore

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


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """The order as stored, and the relay's outcome of this delivery.

    `outcome` is None if it permits no conclusion: another post had sent the same bytes, another
    writer changed the order meanwhile, or the response could not be stored. `rival` is an open
    order of the same client with its nonce.
    """

    order: Order
    outcome: RelayOutcome | None
    rival: Order | None = None


_Commit = Callable[[], Awaitable[tuple[Order, bool]]]
"""Stores an order; returns the stored order, and whether this delivery stored it."""


class OrderDelivery:
    """`relays` by tier. Posts of the same bytes at the same time share one delivery."""

    def __init__(
        self, orders: OrderStore, chain: ChainReader, relays: Mapping[int, Relay], clock: Clock
    ) -> None:
        self._orders = orders
        self._chain = chain
        self._relays = relays
        self._clock = clock
        self._in_flight: SingleFlight[str, DeliveryResult] = SingleFlight()

    async def new(
        self, order: Order, checked: str = "", spends: Sequence[str] = ()
    ) -> DeliveryResult:
        """Deliver a new pending order; if the bytes are known, return the order that has them.

        `checked` is the result of the preflight, as text for the event log; `spends` are further
        quotes that its nonce spends.

        Raises the errors of `OrderStore.add`, and StoreUnavailable when it is not certain that the
        order was stored: it was not sent then.
        """
        commit = partial(self._add, order, checked, spends)
        return await self._in_flight(
            order.tx_hash, lambda: self._deliver(commit, earlier=EarlierSend.NONE)
        )

    async def redeliver(self, dead: Order, fresh: Order, checked: str = "") -> DeliveryResult:
        """Deliver an ended order once more, with the times and the relay of `fresh`."""
        earlier = EarlierSend.CERTAIN if dead.is_at_large else EarlierSend.NONE
        commit = partial(self._reopen, dead, fresh, checked)
        return await self._in_flight(dead.tx_hash, lambda: self._deliver(commit, earlier=earlier))

    async def adopt(self, order: Order, evidence: str) -> Order:
        """Store an order whose bytes a block has, without sending them; return the order that has
        them. Raises the errors of `OrderStore.add`.
        """

        async def stored() -> DeliveryResult:
            return DeliveryResult((await self._add(order, evidence, ()))[0], None)

        return (await self._in_flight(order.tx_hash, stored)).order

    async def wait_for(self, order: Order) -> Order:
        """Return the order after its running delivery, if there is one."""
        delivered = await self._in_flight.wait_for(order.tx_hash)
        return order if delivered is None else delivered.order

    async def drain(self) -> None:
        """Wait until all running deliveries have ended: called before the process stops."""
        await self._in_flight.drain()

    async def _deliver(self, commit: _Commit, *, earlier: EarlierSend) -> DeliveryResult:
        order, is_ours = await commit()
        if not is_ours:
            return DeliveryResult(order, None)
        assert order.raw is not None
        try:
            rivals = await self._rivals(order)
            order = await self._for_all(order, rivals)
            if order.kind is OrderKind.CANCEL:  # first: a relay without the swap takes any fee
                await forget(self._relays, order, rivals)
            answer = await self._send(order, rivals)
            stays = earlier is not EarlierSend.NONE or bool(rivals)
            moved = passed_on(order, answer, self._relays, stays=stays)
            if moved is not None:
                order, answer = await self._pass_on(order, moved, answer)
                earlier = EarlierSend.CERTAIN if order.tier == BACKUP_TIER else earlier
            answer = with_reason_to_stay(order, answer, self._relays)
            result = await self._record(order, answer, earlier=earlier)
            return replace(result, rival=_own_rival(order, rivals))
        except StoreUnavailable:  # what was not sent is the tracker's to send
            return DeliveryResult(order, None)

    async def _pass_on(
        self, order: Order, moved: Order, answer: RelayResponse
    ) -> tuple[Order, RelayResponse]:
        """Store the order for the backup, then send it; return it and the last answer."""
        now = self._clock.now_ms()
        stored = await remark(self._orders, moved, RELAY_SAID, PASSED_ON, now)
        if stored is moved:  # another writer was first: the tracker sends it
            return order, answer
        rivals = await self._rivals(stored)
        if any(one.is_newer(stored) for one in rivals):
            return stored, answer
        return stored, await self._send(stored, rivals)

    async def _send(self, order: Order, rivals: Sequence[Order]) -> RelayResponse:
        replaces = order.kind is OrderKind.CANCEL or bool(rivals)
        return await send(self._relays, order, order.raw or b"", replaces=replaces)

    async def _rivals(self, order: Order) -> Sequence[Order]:
        """Return the other transactions with its nonce that may be mined, as stored now."""
        same_nonce = await self._orders.at_nonce(order.wallet, order.nonce)
        return [one for one in same_nonce if one.order_id != order.order_id]

    async def _for_all(self, order: Order, rivals: Sequence[Order]) -> Order:
        """Return the order, stored for every relay that may have one of `rivals`."""
        while (other := other_relay(order, rivals)) is not None:
            changed = replace(order, second_tier=other)
            now = self._clock.now_ms()
            stored = await remark(self._orders, changed, RELAY_SAID, ALSO_SENT, now)
            if stored is not changed:
                return stored
            order = await self._orders.find(order.order_id) or order
        return order

    async def _add(self, order: Order, checked: str, spends: Sequence[str]) -> tuple[Order, bool]:
        evidence = "; ".join(filter(None, ("bytes committed", checked)))
        now = self._clock.now_ms()
        line = OrderEvent(order.order_id, now, POSTED, None, order.status, evidence)
        try:
            await self._orders.add(order, line, spends)
        except DuplicateTransaction as error:
            return error.order, False
        observe.order_moved(order.order_id, line.event_type, order.status, line.evidence)
        return order, True

    async def _reopen(self, dead: Order, fresh: Order, checked: str) -> tuple[Order, bool]:
        had = dead.tiers if dead.is_at_large else ()
        changed = replace(
            dead,
            tier=fresh.tier,
            second_tier=next((tier for tier in had if tier != fresh.tier), None),
            endpoint_type=fresh.endpoint_type,
            share_mode=fresh.share_mode,
            expires_at_ms=fresh.expires_at_ms,
            watch_until_ms=fresh.watch_until_ms,
            submitted_at_ms=None,
            submitted_head=None,
            relay_answer=None,
            sent_head=fresh.sent_head,
            attempts=dead.attempts + 1,
        )
        evidence = "; ".join(filter(None, ("its client posted the same bytes again", checked)))
        step = Transition(OrderEventType.REPOSTED, evidence)
        moved = await apply_transition(
            self._orders, changed, step, self._clock.now_ms(), untouched=True
        )
        return moved.order, moved.applied

    async def _record(
        self, order: Order, answer: RelayResponse, *, earlier: EarlierSend
    ) -> DeliveryResult:
        """Store what the response means.

        "Nothing was sent" is true only while no other writer has changed the order: the tracker
        writes an order before it sends the bytes again.
        """
        now, outcome = self._clock.now_ms, answer.outcome
        step = await transition_for_response(answer, order, self._orders, self._chain, earlier)
        if step is None:
            heard = replace(order, relay_answer=words_of(answer))
            stored = await remark(self._orders, heard, RELAY_SAID, response_text(answer), now())
            return DeliveryResult(order if stored is heard else stored, outcome)
        unsent = outcome is RelayOutcome.NOT_SENT
        moved = await apply_transition(self._orders, order, step, now(), untouched=unsent)
        return DeliveryResult(moved.order, outcome if moved.applied else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitOrder:
    """`relays` by tier; `new_id` returns a fresh unguessable order id. `chain_clock` tells the
    chain's time, by which orders expire; `clock` stamps records."""

    quotes: QuoteStore
    orders: OrderStore
    chain: ChainReader
    relays: Mapping[int, Relay]
    delivery: OrderDelivery
    clock: Clock
    chain_clock: Clock
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
        call = batch.plain_swap(signed.params, wallet)
        if call is not signed.params:
            exact = await self.quotes.since(
                key.client_id, wallet, kind, 0, target=call.to, data=call.data
            )
        return exact or await self.quotes.nearest(key.client_id, wallet, kind, NEAREST)

    def match(
        self,
        issued: Iterable[IssuedQuote],
        differences: Callable[[IssuedQuote], Sequence[Details]],
        signer: Address,
    ) -> IssuedQuote:
        """Return the quote without differences. Raises ValidationError, ProviderUnavailable."""
        compared = [(quote, differences(quote)) for quote in issued]
        quote = matching_quote(compared, signer, self.clock.now_ms())
        self.relay(quote.tier)
        return quote

    async def check_gap(self, signed: SignedTransaction, latest: int, own: OwnNonces) -> None:
        """Refuse a nonce after the next free one; the public mempool is read only if it matters.

        `latest` is the wallet's next nonce on the chain. Raises ValidationError with reason
        NONCE_GAP, and NodeUnavailable.
        """
        if signed.nonce <= next_free_nonce(latest, latest, own):
            return
        chain, sender = self.chain, signed.sender
        await chain.newest_number()  # `latest` may be of a backend that lags
        latest = max(latest, (await chain.nonces([sender]))[sender])
        pending = await chain.pending_nonce(sender)
        check_nonce_gap(signed.nonce, next_free_nonce(latest, pending, own))

    async def stored_meanwhile(
        self, signed: SignedTransaction, known: Order | None
    ) -> Order | None:
        """Return the order that another post of the same bytes has stored since `known` was read.

        A preflight that fails proves nothing if these bytes were delivered in the meantime: their
        own transaction may already be mined, and has then used the nonce and the balance.
        """
        return await self.orders.by_hash(signed.hash) if known is None else None

    async def adopt(
        self, signed: SignedTransaction, plan: PlannedOrder | None, refusal: RequestError
    ) -> Order:
        """Return the order of bytes that a block has although no order had them.

        Raises `refusal` if no block has them or another client's order does, and NonceTooLow with
        the transaction's hash if there is no `plan`: its quote is lost, too.
        """
        receipt = await mined_receipt(self.chain, signed, refusal)
        if plan is None:
            raise already_mined(signed, receipt) from refusal
        fresh = adopted_order(
            self.new_id(plan.kind), signed, plan, receipt,
            now_ms=self.clock.now_ms(), limits=self.limits,
        )  # fmt: skip
        order = await self.delivery.adopt(fresh, evidence(receipt))
        if order.client_id != plan.client_id:
            raise refusal
        return order

    def new_order(
        self, signed: SignedTransaction, quote: IssuedQuote, ready: PreflightResult
    ) -> Order:
        """Return the pending order of a quote, not stored yet."""
        return self.new_planned(signed, planned_order(quote), ready)

    def new_planned(
        self, signed: SignedTransaction, plan: PlannedOrder, ready: PreflightResult
    ) -> Order:
        new_id, now_ms = self.new_id(plan.kind), self.clock.now_ms()
        since_ms = safe_now_ms(now_ms, self.chain_clock.now_ms() // 1000)
        return new_pending_order(
            new_id, signed, plan,
            now_ms=now_ms, counted_from_ms=since_ms, head=ready.head, limits=self.limits,
        )  # fmt: skip

    async def deliver(
        self, fresh: Order, ready: PreflightResult, known: Order | None
    ) -> DeliveryResult:
        """Store and send `fresh`; if `known` has the same bytes, send that order once more. Raises
        StoreUnavailable when it is not certain that the order was stored: it was not sent then.
        """
        checked = ready.run.words if ready.run else ""
        if known is None:
            return await self.delivery.new(fresh, checked)
        return await self.delivery.redeliver(known, fresh, checked)


def _own_rival(order: Order, rivals: Iterable[Order]) -> Order | None:
    """Return the client's own open order among those with its nonce: others are not shown."""
    own = (one for one in rivals if one.client_id == order.client_id)
    return next((one for one in own if not one.status.is_terminal), None)


def plan_by_quote(issued: Iterable[IssuedQuote], signed: SignedTransaction) -> PlannedOrder | None:
    """Return the plan of the quote, valid or not, that has this call; None without one."""
    for quote in issued:
        if same_call(quote.form_of(signed.params), signed.params):
            return planned_order(quote)
    return None


def accepted(delivered: DeliveryResult, signed: SignedTransaction, ready: PreflightResult) -> Order:
    """Return the order of a delivery; raises the error of one that failed."""
    sent = SentTransaction(signed, ready.eth, delivered.rival)
    error = delivery_error(delivered.order, delivered.outcome, sent)
    if error is not None:
        raise error
    return delivered.order
