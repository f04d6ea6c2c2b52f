"""What the page is told of the service: whether it can work, and how long inclusion takes."""

import pytest

from quietswap.rules.operator.operators import Health
from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.orders.statistics import Percentiles
from quietswap.service.base.clock import SystemClock
from quietswap.service.orders.inclusion import GetInclusion
from quietswap.service.server.web import web_options
from quietswap.service.settings import Settings
from quietswap.service.storage.factory import Storage
from quietswap.service.storage.inclusion import InclusionStore
from tests.storage.examples import an_event, an_order
from tests.stored_orders import inclusion
from tests.web.conftest import Open, healthy

STATUS = "/web/status"


async def test_a_healthy_service_without_a_record(visit: Open) -> None:
    answer = await visit().get(STATUS)
    assert answer.json()["data"] == {
        "node": True, "relay": True, "sources": True, "inclusion": None,
        "sourceNames": ["sushi"],
    }  # fmt: skip
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("part", ["node", "relay", "sources"])
async def test_what_is_down_is_told_without_its_reason(visit: Open, part: str) -> None:
    async def health() -> Health:
        checks = (await healthy()).checks | {part: "10.1.2.3#1: no answer"}
        return Health(checks, "leading")

    answer = await visit(health=health).get(STATUS)
    told = answer.json()["data"]
    assert [name for name in ("node", "relay", "sources") if not told[name]] == [part]
    assert "10.1.2.3" not in answer.text


async def test_the_record_hides_how_many_orders_there_were(visit: Open) -> None:
    async def inclusion() -> Percentiles:
        return Percentiles(2_345, 2, 5, 25)

    told = (await visit(inclusion=inclusion).get(STATUS)).json()["data"]["inclusion"]
    assert told == {
        "orders": 100, "days": 7, "halfBlocks": 2, "mostBlocks": 5, "halfS": 24, "mostS": 60,
    }  # fmt: skip


@pytest.mark.parametrize("orders", [19, 20])
async def test_the_record_is_of_orders_without_a_tip(storage: Storage, orders: int) -> None:
    clock = SystemClock()
    for number in range(orders + 30):
        block = inclusion(block_number=104, block_time_ms=clock.now_ms())
        order = an_order(
            status=OrderStatus.CONFIRMED, inclusion=block, fee_cap=10**10,
            submitted_head=100 if number < orders else 1, priority_fee=0 if number < orders else 1,
        )  # fmt: skip
        await storage.orders.add(order, an_event(order))
    report = GetInclusion(InclusionStore(storage.database), {}, clock)
    options = web_options(Settings(), storage, clock, healthy, report=report)
    assert options is not None
    assert await options.inclusion() == (None if orders < 20 else Percentiles(20, 4, 4, 4))


async def test_another_origin_learns_nothing(visit: Open) -> None:
    answer = await visit().get(STATUS, headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 401


async def test_its_requests_count_for_the_address(visit: Open) -> None:
    client = visit(requests=2)
    statuses = [(await client.get(STATUS)).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


async def test_only_get(visit: Open) -> None:
    answer = await visit().post(STATUS, json={})
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")
