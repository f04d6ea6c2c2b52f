"""Orders, quotes and keys as tests of the storage need them, and a clock moved by hand."""

from dataclasses import replace
from itertools import count
from typing import Any

from quietswap.rules.amounts import UINT256_MAX
from quietswap.rules.orders.order import Order, OrderEvent, OrderKind, OrderStatus
from quietswap.rules.quotes.issued_quote import IssuedQuote, SwapOrderTerms, Trade
from quietswap.rules.tx.address import Address, from_bytes
from quietswap.rules.tx.signed import UnsignedTransaction
from quietswap.service.storage.orders import OrderStore

T0 = 1_800_000_000_000
"""Unix milliseconds at which every test begins."""

WALLET, OTHER_WALLET, SELL, BUY, ROUTER = (from_bytes(bytes([n]) * 20) for n in range(1, 6))

_serial = count(1)


class HandClock:
    """quietswap.service.base.clock.Clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.ms = T0

    def now_ms(self) -> int:
        return self.ms

    def monotonic(self) -> float:
        return self.ms / 1000

    async def sleep(self, seconds: float) -> None:
        self.ms += round(seconds * 1000)


def an_order(**changes: Any) -> Order:
    """Return a pending swap order that differs from all others in id, hash and bytes."""
    serial = next(_serial)
    order = Order(
        order_id=f"order-{serial:08}",
        client_id="client-1",
        kind=OrderKind.SWAP,
        status=OrderStatus.PENDING,
        wallet=WALLET,
        nonce=serial,
        tx_hash=f"0x{serial:064x}",
        raw=b"\x02" + serial.to_bytes(4),
        sell_token=SELL,
        buy_token=BUY,
        sell_amount=UINT256_MAX,
        min_buy_amount=UINT256_MAX - 1,
        buy_amount=UINT256_MAX - 2,
        tier=2,
        endpoint_type="noreverts",
        share_mode="shareSafe",
        created_at_ms=T0 + serial,
        expires_at_ms=T0 + 1_800_000,
        watch_until_ms=T0 + 86_400_000,
    )
    return replace(order, **changes)


def an_event(order: Order, event_type: str = "created", at_ms: int = T0) -> OrderEvent:
    """Return a diary line that leads to the order's present status."""
    return OrderEvent(order.order_id, at_ms, event_type, None, order.status.value, "as tested")


async def store(orders: OrderStore, order: Order) -> Order:
    """Store a new order and return it."""
    await orders.add(order, an_event(order))
    return order


async def move_to(orders: OrderStore, order: Order, status: OrderStatus) -> Order:
    """Move a stored order and return it as it is stored now."""
    moved = replace(order, status=status)
    assert await orders.update(moved, an_event(moved, "moved"))
    return replace(moved, version=order.version + 1)


def a_quote(**changes: Any) -> IssuedQuote:
    """Return a swap quote that differs from all others in id and calldata."""
    serial = next(_serial)
    quote = IssuedQuote(
        quote_id=f"quote-{serial:08}",
        client_id="client-1",
        params=some_params(serial.to_bytes(8)),
        wallet=WALLET,
        endpoint_type="fast",
        share_mode="shareAll",
        tier=4,
        issued_at_ms=T0 + serial,
        valid_until_ms=T0 + serial + 30_000,
        metadata={"provider": "mev_relay", "settings": {"expectedRebate": 0.1, "useBoost": False}},
        terms=SwapOrderTerms(
            Trade(SELL, BUY, UINT256_MAX, UINT256_MAX - 1, UINT256_MAX - 2), slippage_bps=50
        ),
    )
    return replace(quote, **changes)


def some_params(data: bytes, **changes: Any) -> UnsignedTransaction:
    """Return transaction parameters with the largest amounts that exist."""
    params = UnsignedTransaction(
        to=Address(ROUTER),
        data=data,
        value=UINT256_MAX,
        gas_limit=16_777_216,
        max_fee_per_gas=UINT256_MAX,
        nonce=2**64 - 2,
    )
    return replace(params, **changes)
