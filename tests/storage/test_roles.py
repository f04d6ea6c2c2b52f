"""The roles of `deploy/postgresql/roles.sql`: one migrates, the other can alter no table."""

import subprocess
from pathlib import Path

import pytest

from quietswap.rules.orders.order import OrderEvent
from quietswap.rules.orders.order_changes import POSTED
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.storage.factory import migrate_storage
from tests.databases import PostgresCluster, postgres_programs
from tests.patient import open_storage
from tests.storage.examples import T0, HandClock, an_order

_FILE = Path(__file__).parents[2] / "deploy/postgresql/roles.sql"


@pytest.fixture
def with_roles(postgres: PostgresCluster) -> PostgresCluster:
    programs, _ = postgres_programs()
    passwords = {"OWNER_PASSWORD": "one", "SERVE_PASSWORD": "other", "REPLICA_PASSWORD": "third"}
    options = ["-h", str(postgres.folder), "-U", "postgres", "--set", "ON_ERROR_STOP=1"]
    subprocess.run([programs / "psql", *options, "-f", _FILE], env=passwords, check=True)
    return postgres


async def test_the_serving_role_serves_and_alters_nothing(
    with_roles: PostgresCluster, clock: HandClock
) -> None:
    url = with_roles.url("quietswap")
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
