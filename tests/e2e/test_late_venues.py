"""One venue answers last, blocks after the others were simulated: honest, lying, or not at all."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import VENDORS_ONLY, Town
from tests.e2e.late import late
from tests.e2e.serving import Served, serving
from tests.e2e.test_metrics import scrape, total
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("late-venues")

PATIENT = {
    "QUOTES__SOFT_DEADLINE_S": "300",
    "QUOTES__HARD_DEADLINE_S": "300",
    "SOURCE__SUSHI__TIMEOUT_S": "300",
    **VENDORS_ONLY,
}
LATE, EARLY = "sushi", ("kyberswap", "velora")
BLOCKS = 2


@pytest.fixture(scope="module")
def slow(town: Town, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """The sandbox, with a service whose last source answers two blocks after all others."""
    settings = tomllib.loads(Path(town.facts["settingsFile"]).read_text("utf-8"))

    served: Served
    asked = 0

    def others() -> float:
        samples = scrape(served.town.api)
        return sum(total(samples, "quietswap_source_answers_total", source=n) for n in EARLY)

    def hold() -> None:
        nonlocal asked
        asked += 1
        wait_until(lambda: others() >= asked * len(EARLY))
        town.control.post("/mine", json={"blocks": BLOCKS}).raise_for_status()

    folder = tmp_path_factory.mktemp("late")
    with (
        late(settings["source"][LATE]["url"], hold) as proxy,
        serving(town, folder, SOURCE__SUSHI__URL=proxy.url, **PATIENT) as served,
    ):
        yield served.town


def sources(told: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["source"]: row for row in told["sources"]}


def quoted(town: Town) -> dict[str, Any]:
    answer = town.quote()
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()["data"]
    return told


def test_a_route_that_comes_blocks_later_is_compared_on_the_block_of_the_others(
    slow: Town,
) -> None:
    told = quoted(slow)
    rows = sources(told)
    assert {row["outcome"] for row in rows.values()} == {"won", "answered"}
    assert all(row["simulated"] and row["reason"] is None for row in rows.values())
    assert told["verification"]["status"] == "verified"


@pytest.mark.parametrize("lie", ["lie:2.0", "foreign_router", "garbage", "500"])
def test_a_late_hostile_source_changes_nothing_that_was_verified(slow: Town, lie: str) -> None:
    honest = quoted(slow)
    slow.fault(LATE, lie)
    try:
        told = quoted(slow)
    finally:
        slow.heal(LATE)
    before, after = sources(honest), sources(told)
    assert after[LATE]["outcome"] not in {"won", "answered"}
    for name in before.keys() - {LATE}:
        for field in ("promised", "simulated", "differenceBps", "reason"):
            assert after[name][field] == before[name][field]
    assert told["source"] != LATE
    assert told["verification"]["status"] == "verified"


def test_a_node_that_fails_at_times_lets_no_unverified_route_pass_for_a_verified_one(
    slow: Town,
) -> None:
    quoted(slow)  # while its tokens are unread, a node that fails keeps Velora from being asked
    slow.fault("node", "flap:0.3")
    try:
        answers = [slow.quote(sellAmount=str(10**18 + number)) for number in range(6)]
    finally:
        slow.heal("node")
    for answer in answers:
        assert answer.status_code in {200, 503}, answer.text
        if answer.status_code == 200:
            told = answer.json()["data"]
            won = sources(told)[told["source"]]
            assert (told["verification"]["status"] == "verified") == (won["simulated"] is not None)
    assert quoted(slow)["verification"]["status"] == "verified"
