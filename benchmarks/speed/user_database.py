"""What lies in a service's database before it is measured as a user meets it."""

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from benchmarks.storage.content import KEPT, Shape
from benchmarks.storage.fill import fill_sqlite
from quietswap.rules.orders.order import Order

WALLETS = 1_000


class Past(Shape):
    """Orders that are final and not watched any more, and the quotes of the last day."""

    @property
    def now_ms(self) -> int:
        """The time, so that the stored quotes are not older than a day."""
        return time.time_ns() // 1_000_000

    def stored(self) -> Iterator[Order]:
        """Return the orders, oldest first."""
        newer = Shape(self.orders + KEPT, self.wallets)
        return islice(newer.stored(), self.orders)


async def fill(database: Path, orders: int) -> None:
    """Store orders, and 20 000 quotes."""
    await fill_sqlite(f"sqlite:///{database}", Past(orders, WALLETS))
