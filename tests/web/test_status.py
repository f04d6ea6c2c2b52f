"""What the page is told of the service: whether it can work, and how long inclusion takes."""

import pytest

from quietswap.rules.operator.figures import Figure, Measure, tip_class
from quietswap.rules.operator.operators import Health, ProcessReport
from quietswap.rules.orders.statistics import Percentiles
from quietswap.service.base.clock import SystemClock
from quietswap.service.server.web import web_options
from quietswap.service.settings import Settings
from quietswap.service.storage.factory import Storage
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
        return Percentiles(2_345, 24, 60, 300)

    told = (await visit(inclusion=inclusion).get(STATUS)).json()["data"]["inclusion"]
    assert told == {"orders": 100, "days": 7, "halfS": 24, "mostS": 60}


async def test_the_record_is_of_transactions_without_a_tip(storage: Storage) -> None:
    clock = SystemClock()
    options = web_options(Settings(), storage, clock, healthy)
    assert options is not None
    assert await options.inclusion() is None
    counted = {
        Figure(Measure.INCLUSION_S, "noreverts", tip_class(0), 12): 6,
        Figure(Measure.INCLUSION_S, "fullprivacy", tip_class(0), 72): 4,
        Figure(Measure.INCLUSION_S, "noreverts", tip_class(10**9), 3): 90,
    }
    await storage.figures.record(counted, ProcessReport("one", clock.now_ms(), 1, {}))
    later = web_options(Settings(), storage, clock, healthy)
    assert later is not None
    assert await later.inclusion() == Percentiles(10, 12, 72, 72)


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
