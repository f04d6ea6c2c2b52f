"""The price that no vendor can bend: in quotes, prices, USD values and metrics."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Town, running_town
from tests.e2e.serving import serving

pytestmark = pytest.mark.xdist_group("reference")
LYING = ("defillama", "coingecko")
DAI = "0x6B175474E89094C44Da98b954EedeAC495271d0F"


@pytest.fixture(scope="module")
def town() -> Iterator[Town]:
    with running_town("--block-time", "0.5") as found:
        yield found


@pytest.fixture
def served(town: Town, tmp_path: Path) -> Iterator[Town]:
    """A service that has cached no price yet."""
    with serving(town, tmp_path) as service:
        yield service.town


def test_each_promise_is_compared_with_the_pools(served: Town) -> None:
    quote, price = served.quote().json()["data"], served.price().json()["data"]
    for found, promised, least in ((quote, "promised", 3), (price, "buyAmount", 1)):
        rows = [row for row in found["sources"] if row[promised]]
        assert len(rows) >= least
        assert all(-150 < row["referenceBps"] < 0 for row in rows), rows
        best = max(rows, key=lambda row: int(row[promised]))
        assert best["referenceBps"] == max(row["referenceBps"] for row in rows)
    page = served.api.get("/metrics").text
    for name in ("quietswap_source_reference_bps_count", "quietswap_source_rank_count"):
        assert f'{name}{{source="{quote["source"]}"}}' in page


def test_usd_values_stay_right_while_both_web_sources_say_twice(town: Town, served: Town) -> None:
    for name in LYING:
        town.fault(name, "2x")
    try:
        quote = served.quote().json()["data"]
    finally:
        town.heal(*LYING)
    scoring = quote["scoring"]
    assert scoring["priceAvailable"] is True
    value = int(quote["buyAmount"]) / 10**6 - scoring["gasCostUsd"]
    assert scoring["netValueUsd"] == pytest.approx(value, rel=0.01)


def test_the_pools_are_enough_where_nobody_else_has_a_price(town: Town, served: Town) -> None:
    """The service uses no feed for DAI."""
    for name in LYING:
        town.fault(name, "absent")
    try:
        scoring = served.quote(buyToken=DAI).json()["data"]["scoring"]
    finally:
        town.heal(*LYING)
    assert scoring["priceAvailable"] is True
