"""What lies in a database: orders, diaries, bytes and quotes as the service leaves them.

Everything follows from an order's serial number, so what was stored need not be remembered.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b

from quietswap.rules.orders.order import (
    Failure,
    FailureCode,
    Inclusion,
    Order,
    OrderEvent,
    OrderEventType,
    OrderKind,
    OrderStatus,
)
from quietswap.rules.quotes.issued_quote import IssuedQuote, SwapOrderTerms, Trade
from quietswap.rules.tx.address import Address, from_bytes
from quietswap.rules.tx.signed import UnsignedTransaction

KEY = "key_0123456789abcdef"
START_MS = 1_790_000_000_000
"""When the first order came; one more came each second."""
BYTES = 720
"""Length of a signed transaction: that of a swap over two pools."""
PENDING, LIVE, WATCHED, KEPT = 20, 200, 1_000, 4_000
"""Among the newest orders: those the relay has not answered, those no block has included, those
still watched, those that still have their bytes. A table of any size has as many."""
EXPIRED = KEPT - WATCHED
"""Quotes that may go, as many as there are bytes that may."""
QUOTES = 20_000
"""Quotes live a day, so their number does not grow with the orders either."""
DAY_MS = 86_400_000

_HEAD = 23_000_000
_SELL, _BUY, _TARGET = (from_bytes(bytes([n]) * 20) for n in (0xA0, 0xC0, 0xD0))
_REVERTED = Failure(FailureCode.REVERTED, "The transaction was mined and reverted.")
_EXPIRED = Failure(FailureCode.EXPIRED, "The order expired before any block included it.")


@dataclass(frozen=True, slots=True)
class Shape:
    """`orders` over `wallets`; the first wallet has a tenth of them, or all if it is alone.

    The orders of a wallet lie evenly over the whole table, so that no two share a block of it.
    """

    orders: int
    wallets: int

    @property
    def now_ms(self) -> int:
        """When the next order comes."""
        return START_MS + self.orders * 1000

    def wallet(self, serial: int) -> Address:
        """Return whose order this is."""
        alone = serial % 10 == 0 or self.wallets == 1
        return wallet(0 if alone else 1 + serial % (self.wallets - 1))

    def stored(self) -> Iterator[Order]:
        """Return all orders as they stand, oldest first."""
        for serial in range(self.orders):
            yield self._order(serial, age=self.orders - 1 - serial)

    def posted(self, serial: int) -> Order:
        """Return an order as it is before its bytes are sent."""
        digest = _digest(serial)
        created_ms = START_MS + serial * 1000
        return Order(
            order_id=order_id(serial),
            client_id=KEY,
            kind=OrderKind.SWAP,
            status=OrderStatus.PENDING,
            wallet=self.wallet(serial),
            nonce=serial,
            tx_hash="0x" + digest[16:].hex(),
            raw=digest * (BYTES // len(digest)),
            sell_token=_SELL,
            buy_token=_BUY,
            sell_amount=10**18 + serial,
            min_buy_amount=2_970_000_000 + serial,
            buy_amount=3_000_000_000 + serial,
            tier=2,
            endpoint_type="fast",
            share_mode="shareAll",
            created_at_ms=created_ms,
            expires_at_ms=created_ms + 1_800_000,
            watch_until_ms=created_ms + DAY_MS,
            sent_head=_HEAD + serial // 12,
            attempts=1,
        )

    def quotes(self) -> Iterator[IssuedQuote]:
        """Return the quotes, oldest first."""
        for serial in range(QUOTES):
            age_ms = DAY_MS if serial < EXPIRED else 2_000 * (QUOTES - serial)
            yield _quote(serial, self.now_ms - age_ms)

    def _order(self, serial: int, age: int) -> Order:
        order = self.posted(serial)
        if age < PENDING:
            return order
        status = OrderStatus.MINING if age < LIVE else _verdict(serial)
        decided = status.is_terminal
        return replace(
            order,
            status=status,
            submitted_at_ms=order.created_at_ms + 300,
            submitted_head=order.sent_head,
            inclusion=None
            if status in (OrderStatus.MINING, OrderStatus.CANCELLED)
            else inclusion(order, succeeded=status is OrderStatus.CONFIRMED),
            failure={OrderStatus.FAILED: _REVERTED, OrderStatus.CANCELLED: _EXPIRED}.get(status),
            watched=age < WATCHED,
            raw=order.raw if age < KEPT else None,
            version=2 if not decided else 3 if age < WATCHED else 4,
        )


@cache
def wallet(place: int) -> Address:
    """Return the address of a wallet."""
    return from_bytes(blake2b(b"wallet %d" % place, digest_size=20).digest())


def order_id(serial: int) -> str:
    """Return an order's id, like one of quietswap.rules.orders.order."""
    return f"ord_{START_MS + serial * 1000:012x}{_digest(serial)[:10].hex()}"


def inclusion(order: Order, *, succeeded: bool = True) -> Inclusion:
    """Return where an order was mined."""
    assert order.sent_head is not None
    return Inclusion(
        block_number=order.sent_head + 2,
        block_hash=f"0x{order.sent_head + 2:064x}",
        gas_used=182_311,
        effective_gas_price=1_310_000_000,
        block_time_ms=order.created_at_ms + 24_000,
        succeeded=succeeded,
    )


_VERDICTS = {
    OrderStatus.CONFIRMED: OrderEventType.INCLUDED,
    OrderStatus.FAILED: OrderEventType.REVERTED,
    OrderStatus.CANCELLED: OrderEventType.EXPIRED,
}


def diary(order: Order) -> list[OrderEvent]:
    """Return the lines that led to the order's status, one for each version from 0 on."""
    lines = [("posted", OrderStatus.PENDING, "bytes committed")]
    if order.status is not OrderStatus.PENDING:
        lines.append(
            (OrderEventType.RELAY_ACCEPTED, OrderStatus.SUBMITTED, "the relay answered its hash")
        )
        lines.append(
            (
                OrderEventType.NEW_HEAD,
                OrderStatus.MINING,
                "block 23000001 came and the relay has it",
            )
        )
    if verdict := _VERDICTS.get(order.status):
        lines.append((verdict, order.status, "block 23000002, 3 confirmations"))
    events: list[OrderEvent] = []
    for place, (event_type, to, evidence) in enumerate(lines):
        before = events[-1].to_status if events else None
        at_ms = order.created_at_ms + 8_000 * place
        events.append(OrderEvent(order.order_id, at_ms, event_type, before, to, evidence))
    return events


def _quote(serial: int, issued_at_ms: int) -> IssuedQuote:
    digest = _digest(serial)
    return IssuedQuote(
        quote_id="swq_" + digest[:12].hex(),
        client_id=KEY,
        params=UnsignedTransaction(
            to=_TARGET,
            data=digest * 10,
            value=0,
            gas_limit=250_000,
            max_fee_per_gas=2_000_000_000,
            nonce=serial,
        ),
        wallet=wallet(serial % 1000),
        endpoint_type="fast",
        share_mode="shareAll",
        tier=2,
        issued_at_ms=issued_at_ms,
        valid_until_ms=issued_at_ms + 30_000,
        metadata={"provider": "mev_relay"},
        terms=SwapOrderTerms(Trade(_TARGET, _TARGET, 10**18 + serial, 1, 1), slippage_bps=50),
    )


def _digest(serial: int) -> bytes:
    return blake2b(serial.to_bytes(8), digest_size=48).digest()


def _verdict(serial: int) -> OrderStatus:
    """Nine of ten are confirmed; the rest was reverted or expired in equal parts."""
    dice = _digest(serial)[0]
    return (
        OrderStatus.CONFIRMED
        if dice < 230
        else OrderStatus.FAILED
        if dice < 243
        else OrderStatus.CANCELLED
    )
