"""PostgreSQL and Redis go away while the whole service runs on them: killed, or hanging."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx
import pytest

from quietswap.sandbox.contracts.pools import USDC, WETH
from quietswap.service.server import container
from quietswap.service.storage import factory
from tests import patient
from tests.databases import PostgresCluster, RedisServer, running_stores
from tests.e2e.conftest import FailingOver, Town, running_town
from tests.e2e.in_process import inside
from tests.spec import cancelling
from tests.spec.api_client import ApiClient, Signed
from tests.spec.wire import data, refused
from tests.waiting import eventually, wait_until

pytestmark = pytest.mark.xdist_group("outages")
QUEUE = 100
"""Calls that may wait for a database in the place of the usual thousand."""


@dataclass
class Stores:
    """The two servers, and how each of four outages begins and ends."""

    postgres: PostgresCluster
    redis: RedisServer

    def away(self, outage: str) -> Callable[[], None]:
        """Begin an outage and return what ends it."""
        begin, end = {
            "postgres hangs": (self.postgres.freeze, self.postgres.thaw),
            "postgres is dead": (self.postgres.kill, self.postgres.start),
            "redis hangs": (self.redis.freeze, self.redis.thaw),
            "redis is dead": (self.redis.kill, self.redis.start),
        }[outage]
        begin()
        return end


@pytest.fixture(scope="module")
def stores() -> Iterator[Stores]:
    with running_stores() as (postgres, redis):
        yield Stores(postgres, redis)


@pytest.fixture(scope="module")
def town(stores: Stores) -> Iterator[Town]:
    url = asyncio.run(stores.postgres.empty())
    options = ("--storage-url", url, "--redis-url", stores.redis.url)
    with running_town("--block-time", "0.5", *options) as found:
        yield found


@pytest.fixture
def desk(town: Town) -> Iterator[ApiClient]:
    with ApiClient(town) as found:
        yield found


def ask_everything(client: httpx.Client, wallet: str, swap: Signed, wrap: Signed) -> None:
    """Send one good request to each endpoint at once; each must be answered 503 by its own code."""
    orders = "/api/v1/mev/orders"
    ask = {"sellToken": WETH.address, "buyToken": USDC.address, "sellAmount": "7"}
    wrap_ask = {"operation": "wrap", "amount": "1", "userAddress": wallet}
    user = {"userAddress": wallet}
    requests: list[tuple[str, Callable[[], httpx.Response]]] = [
        ("SERVICE_UNAVAILABLE", lambda: client.get("/api/v1/quote", params=ask | user)),
        ("SERVICE_UNAVAILABLE", lambda: client.get(f"{orders}/ord_unknown")),
        ("SERVICE_UNAVAILABLE", lambda: client.get(f"{orders}/user/{wallet}")),
        ("SERVICE_UNAVAILABLE", lambda: client.get("/api/v1/mev/wrap/info", params=user)),
        ("SERVICE_UNAVAILABLE", lambda: client.post("/api/v1/mev/wrap/quote", json=wrap_ask)),
        ("PROVIDER_UNAVAILABLE", lambda: client.post(orders, json=swap.body)),
        ("PROVIDER_UNAVAILABLE", lambda: client.post("/api/v1/mev/wrap/order", json=wrap.body)),
    ]
    with ThreadPoolExecutor(len(requests)) as pool:
        for told in pool.map(lambda one: refused(one[1](), 503, one[0]), requests):
            assert told["message"].startswith("the database does not answer")
            if told["error"] == "PROVIDER_UNAVAILABLE":
                assert told["details"]["reason"] == "STORE_UNAVAILABLE"


@pytest.mark.parametrize("outage", ["postgres hangs", "postgres is dead"])
def test_every_endpoint_says_503_and_goes_on_afterwards(
    desk: ApiClient, stores: Stores, outage: str
) -> None:
    wallet, other = desk.wallet(), desk.wallet()
    swap, wrap = desk.swap(wallet), desk.wrap(other)
    client = desk.another()  # a key no process remembers
    end = stores.away(outage)
    try:
        ask_everything(client, wallet.address, swap, wrap)
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["checks"]["node"]) == (503, "ok")
        assert "postgres" in ready.json()["checks"]["database"].lower()
        assert client.get("/healthz").status_code == 200
    finally:
        end()
    desk.until(lambda: client.get("/readyz").status_code == 200)
    taken = data(desk.submit(swap))["order"]
    assert data(desk.submit_wrap(wrap))["order"]["status"] == "submitted"
    assert desk.follow(taken["orderId"])["status"] == "confirmed"


@pytest.mark.parametrize("outage", ["postgres hangs", "postgres is dead"])
def test_an_order_that_is_mined_meanwhile_is_confirmed_afterwards(
    desk: ApiClient, stores: Stores, outage: str
) -> None:
    wallet = desk.wallet()
    with desk.no_blocks():
        order = desk.order(wallet)
        end = stores.away(outage)
        try:
            desk.mine(4)
            receipt = desk.rpc("eth_getTransactionReceipt", order["txHash"])
            asked = desk.api.get(f"/api/v1/mev/orders/{order['orderId']}")
            refused(asked, 503, "SERVICE_UNAVAILABLE")
        finally:
            end()
    found = desk.follow(order["orderId"])
    assert (found["status"], found["blockNumber"]) == ("confirmed", int(receipt["blockNumber"], 16))
    assert desk.history(wallet)["total"] == 1


@pytest.mark.parametrize("outage", ["redis hangs", "redis is dead"])
def test_without_redis_everything_goes_on_within_a_share_of_the_limits(
    desk: ApiClient, stores: Stores, outage: str
) -> None:
    wallet = desk.wallet()
    swap, cancelled = desk.swap(wallet), desk.wallet()
    with desk.no_blocks():
        target = desk.order(cancelled)["orderId"]
        end = stores.away(outage)
        try:
            taken = data(desk.submit(swap))["order"]
            assert desk.status(taken["orderId"])["status"] == "submitted"
            data(cancelling.send(desk, target, cancelling.signed(desk, cancelled, target)))
            assert desk.history(wallet)["total"] == 1
            wait_until(
                lambda: "redis" in desk.api.get("/readyz").json()["checks"]["rates"].lower(),
                "nothing says so",
            )
            assert desk.api.get("/readyz").status_code == 200
        finally:
            end()
        desk.until(desk.is_well)
    assert desk.follow(taken["orderId"])["status"] == "confirmed"


async def test_beyond_the_queue_of_a_hanging_database_the_answer_comes_at_once(
    town: Town, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue is bounded: who comes later than it is long is refused while those in it wait."""
    monkeypatch.setattr(container, "open_storage", patient.open_storage)
    monkeypatch.setattr(factory, "WAITING", QUEUE)
    beyond, tracker = 50, 10  # the tracker and retention of this process queue, too
    done: list[int] = []

    async def ask(client: httpx.AsyncClient, number: int) -> None:
        headers = {"X-API-Key": f"qs_{number}"}
        answer = await client.get("/api/v1/mev/orders/none", headers=headers)
        if stores.postgres.is_frozen:
            refused(answer, 503, "SERVICE_UNAVAILABLE")
            done.append(number)
        else:
            refused(answer, 401, "UNAUTHORIZED")

    async def refused_at_once() -> bool:
        return len(done) >= beyond

    async with inside(town) as client:
        stores.postgres.freeze()
        try:
            asking = [asyncio.create_task(ask(client, n)) for n in range(QUEUE + beyond)]
            await eventually(refused_at_once)
            assert min(done) >= QUEUE - tracker
            assert len(done) <= beyond + tracker
        finally:
            stores.postgres.thaw()
        await asyncio.gather(*asking)


def test_nothing_is_served_from_a_primary_that_was_demoted(
    failing_over: FailingOver,
) -> None:
    """The former primary lives on and answers reads: no order is unknown, no post refused."""
    town, primary, standby = failing_over.town, failing_over.primary, failing_over.standby
    with ApiClient(town) as desk, desk.no_blocks():
        earlier = desk.order(desk.wallet())
        wait_until(lambda: standby.has_all_of(primary), "the standby does not follow")
        primary.demote()
        standby.promote()
        desk.until(lambda: town.api.get("/readyz").status_code == 200)
        orders = [earlier, *(desk.order(desk.wallet()) for _ in range(5))]
        for order in orders * 10:
            assert desk.status(order["orderId"])["status"] == "submitted"
        desk.mine(4)
        assert {desk.follow(order["orderId"])["status"] for order in orders} == {"confirmed"}
