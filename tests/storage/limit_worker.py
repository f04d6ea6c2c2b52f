"""A process of its own that stores many quotes or orders of one client at once.

Prints one JSON object: the number of stored ones, and of refusals by error code.
"""

import asyncio
import json
import sys
from collections import Counter
from dataclasses import replace

from quietswap.rules.errors.base import RequestError
from quietswap.rules.orders.order import OrderStatus
from quietswap.service.storage.factory import Storage
from tests.patient import open_storage
from tests.storage.examples import T0, HandClock, a_quote, an_event, an_order

AT_ONCE = 32
VALUE = 100_00
"""USD cents of each swap."""


async def one(storage: Storage, what: str, process: int, number: int) -> str:
    """Store one quote or order; return `stored` or the code of the refusal."""
    serial = process * AT_ONCE + number
    try:
        if what == "quotes":
            await storage.quotes.save(a_quote(quote_id=f"quote-{serial}", issued_at_ms=T0))
            return "stored"
        order = an_order(
            order_id=f"order-{serial}",
            tx_hash=f"0x{serial:064x}",
            usd_cents=VALUE,
            nonce=serial,
            created_at_ms=T0,
        )
        if what == "reposts":
            order = replace(order, status=OrderStatus.PENDING)
            await storage.orders.update(order, an_event(order, "reposted"))
        else:
            await storage.orders.add(order, an_event(order))
    except RequestError as error:
        return error.code
    return "stored"


async def main(url: str, what: str, process: int) -> None:
    """Store `AT_ONCE` at once and write the outcomes."""
    storage = await open_storage(url, clock=HandClock())
    found = await asyncio.gather(*(one(storage, what, process, n) for n in range(AT_ONCE)))
    await storage.close()
    sys.stdout.write(json.dumps(Counter(found)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
