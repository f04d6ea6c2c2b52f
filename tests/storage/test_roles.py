"""The two roles of `docs/scaling.md`: one migrates, the other serves and can change no table."""

import re
from pathlib import Path

import asyncpg
import pytest

from quietswap.rules.orders.order import OrderEvent
from quietswap.rules.orders.order_changes import POSTED
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.storage.factory import migrate_storage
from tests.databases import PostgresCluster
from tests.patient import open_storage
from tests.storage.examples import T0, HandClock, an_order

_PAGE = Path(__file__).parents[2] / "docs/scaling.md"


async def test_the_serving_role_serves_and_alters_nothing(
    postgres: PostgresCluster, clock: HandClock
) -> None:
    blocks = re.findall(r"```sql\n(.*?)```", _PAGE.read_text("utf-8"), re.DOTALL)
    before, inside = (block.split(";") for block in blocks)
    for name, statements in (("postgres", before), ("quietswap", inside)):
        owner = await asyncpg.connect(postgres.url(name))
        for statement in filter(str.strip, statements):
            await owner.execute(statement)
        await owner.close()
    url = postgres.url("quietswap")
    await migrate_storage(url.replace("postgres:@", "quietswap_owner:@"))
    storage = await open_storage(url.replace("postgres:@", "quietswap_serve:@"), clock=clock)
    order = an_order()
    posted = OrderEvent(order.order_id, T0, POSTED, None, order.status, "as tested")
    await storage.orders.add(order, posted)
    assert await storage.orders.find(order.order_id) == order
    assert await storage.events.newest(["client-1"]) == {"client-1": 1}
    await storage.ping()
    assert await storage.serving.acquire_or_renew()
    assert await storage.serving_processes() == 1
    with pytest.raises(StoreUnavailable, match="lacks rights"):
        await storage.database.change("ALTER TABLE orders ADD COLUMN mine BIGINT")
    await storage.close()
