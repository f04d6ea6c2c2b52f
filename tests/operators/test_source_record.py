"""The record of each source: counted when routes are verified, shown by day and in `/metrics`."""

from collections.abc import Iterator

import httpx
import pytest

from quietswap.rules.operator.figures import BELOW, Measure
from quietswap.rules.operator.operators import ProcessReport
from quietswap.rules.quotes.quote import SourceOutcome
from quietswap.rules.time_units import DAY_MS
from quietswap.service import observe
from tests.operators.conftest import Office
from tests.operators.test_pages import count, text_of, utc

HEADER = "day (UTC) source routes refused not verified reverted over-quoted by more than 10 bps "


@pytest.fixture
def counting() -> Iterator[None]:
    observe.keep_figures()
    yield
    observe.forget_figures()


async def store(office: Office) -> None:
    """Store what was counted, as a process does every few seconds."""
    report = ProcessReport("host:7", office.clock.now_ms(), 1, {})
    await office.storage.figures.record(observe.take_figures(), report)


def verify(source: str, *differences: int | None) -> None:
    for difference in differences:
        observe.route_verified(source, SourceOutcome.ANSWERED, difference)


async def test_a_source_has_a_record_of_each_day(
    office: Office, desk: httpx.AsyncClient, counting: None
) -> None:
    page = text_of(await desk.get("/operator/sources"))
    assert "Shares of routes by day and source: none." in page
    office.clock.ms -= DAY_MS
    before = utc(office.clock.now_ms())[:10]
    verify("velora", 0, -10)
    observe.route_verified("velora", SourceOutcome.UNVERIFIED, None)
    await store(office)
    office.clock.ms += DAY_MS
    today = utc(office.clock.now_ms())[:10]
    verify("velora", 5, None, 0, 0, 0, -10, -11)
    observe.route_verified("velora", SourceOutcome.SHORT_DELIVERY, -500)
    observe.route_verified("velora", SourceOutcome.REVERTED, None)
    observe.route_unsafe("velora", "another recipient")
    verify("a source of yesterday", -12)
    await store(office)
    office.clock.ms += 60_000  # a window of days is kept for some seconds
    for hours in ("6", "24", "168"):
        page = text_of(await desk.get(f"/operator/sources?hours={hours}"))
        assert (
            f"{HEADER}{today} a source of yesterday 1 0 % 0 % 0 % 100 % "
            f"{today} velora 10 10.0 % 0 % 10.0 % 20.0 % "
            f"{before} velora 3 0 % 33.3 % 0 % 0 % kyberswap"
        ) in page


async def test_the_record_has_seven_days(office: Office, desk: httpx.AsyncClient) -> None:
    days = []
    for ago in range(8):
        office.clock.ms -= ago * DAY_MS
        days.append(utc(office.clock.now_ms())[:10])
        await count(office, (Measure.SOURCE_CHECK, "velora", "reverted", 0, 1 + ago))
        office.clock.ms += ago * DAY_MS
    page = text_of(await desk.get("/operator/sources"))
    for ago, day in enumerate(days[:7]):
        assert f"{day} velora {1 + ago} 0 % 0 % 100 % 0 %" in page
    assert days[7] not in page


async def test_a_share_that_an_older_version_did_not_count_is_not_told(
    office: Office, desk: httpx.AsyncClient
) -> None:
    await count(
        office,
        (Measure.SOURCE_CHECK, "velora", BELOW, 0, 3),
        (Measure.SOURCE_CHECK, "velora", "reverted", 0, 1),
    )
    page = text_of(await desk.get("/operator/sources"))
    assert "velora 4 0 % 0 % 25.0 % –" in page


def test_metrics_count_promises_that_are_broken_by_far() -> None:
    def overquotes(kind: str) -> float:
        name = f"quietswap_source_{kind}_total"
        return observe.registry.get_sample_value(name, {"source": "velora"}) or 0

    small, large = overquotes("overquotes"), overquotes("large_overquotes")
    verify("velora", 0, -1, -10, -11, -300, None)
    assert overquotes("overquotes") == small + 4
    assert overquotes("large_overquotes") == large + 2
    observe.begin(("sushi",))
    assert b'quietswap_source_large_overquotes_total{source="sushi"} 0.0' in observe.exposition()
