"""The rows about orders: status, history, submission."""

from collections.abc import Iterable
from pathlib import Path

from benchmarks.speed.load import get, load
from benchmarks.speed.row import Goal, Row, Spread, shown
from benchmarks.speed.stage import Stage
from benchmarks.speed.upstreams import wallet
from quietswap.rules.orders.order import OrderEvent, OrderStatus
from quietswap.service.base.clock import SystemClock
from quietswap.service.storage.factory import open_storage
from tests.stored_orders import inclusion, order

CLIENTS = 64
OWNERS, EACH = 20, 200
"""As many orders as are kept in memory, nearly."""
_COUNT = 20_000
_BEGAN_MS = 1_790_000_000_000
_APART_MS = 7_919


def order_id(owner: int, number: int) -> str:
    """Return the id of an order of the benchmark."""
    return f"ord_{owner:016x}{number:016x}"


async def fill(database: Path, client_id: str) -> None:
    """Store confirmed orders of a few wallets."""
    storage = await open_storage(f"sqlite:///{database}", clock=SystemClock(), rates_url=None)
    for owner in range(OWNERS):
        for number in range(EACH):
            at_ms = _BEGAN_MS + (number * OWNERS + owner) * _APART_MS
            one = order(
                order_id=order_id(owner, number), client_id=client_id, wallet=wallet(owner),
                tx_hash=f"0x{owner * EACH + number:064x}", raw=None, watched=False,
                status=OrderStatus.CONFIRMED, created_at_ms=at_ms, submitted_at_ms=at_ms + 40,
                inclusion=inclusion(block_time_ms=at_ms + 12_000),
            )  # fmt: skip
            line = OrderEvent(one.order_id, at_ms, "benchmark", None, one.status, "filled")
            await storage.orders.add(one, line)
    await storage.close()


def statuses(key: str) -> list[bytes]:
    """Return one request for the status of each order."""
    return [
        get(f"/api/v1/mev/orders/{order_id(o, n)}", key) for o in range(OWNERS) for n in range(EACH)
    ]


def pages(key: str, offsets: Iterable[int]) -> list[bytes]:
    """Return requests for pages of fifty of each wallet."""
    return [
        get(f"/api/v1/mev/orders/user/{wallet(o)}?limit=50&offset={offset}", key)
        for offset in offsets
        for o in range(OWNERS)
    ]


async def reading(stage: Stage, rounds: int) -> list[Row]:
    """Status by id and a page of fifty, each order and page in turn."""
    ours = await stage.service("reading", fill=fill)
    rows = []
    for what, requests, rate in (
        ("status by id", statuses(ours.key), 5_000),
        ("history page of 50", pages(ours.key, range(1, 150)), 1_500),
    ):
        found = [await load(ours.service.port, CLIENTS, _COUNT, requests) for _ in range(rounds)]
        p99 = Spread.of(one.p99 for one in found)
        rows.append(
            Row(
                f"{what}, {CLIENTS} clients",
                Spread.of(one.per_second for one in found),
                f"p99 {shown(p99, 'ms')}",
                Goal(rate, "/s", least=True),
            )
        )
    return rows
