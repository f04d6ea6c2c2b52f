"""A node without eth_simulateV1: no swap is quoted, unless the operator offers such routes."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from quietswap.service.settings import Settings
from tests import forked
from tests.e2e.conftest import Town, running_town
from tests.e2e.serving import serving

pytestmark = pytest.mark.xdist_group("unsimulated")
NONE_SIMULATED = (
    "there are routes, but none could be simulated: not verified: node has no eth_simulateV1"
)


@pytest.fixture(scope="module")
def town() -> Iterator[Town]:
    with running_town("--block-time", "0.5") as found:
        found.fault("node", "no_simulate")
        yield found


def test_by_default_nothing_is_offered_and_the_answer_says_what_to_do(town: Town) -> None:
    assert Settings().quotes.require_verification is True
    answer = town.quote()
    body = answer.json()
    assert (answer.status_code, body["error"]) == (503, "SERVICE_UNAVAILABLE")
    assert body["message"] == NONE_SIMULATED
    for wanted in ("eth_simulateV1 (node.urls", "quotes.require_verification = false"):
        assert wanted in body["suggestion"]
    outcomes = {one["source"]: one["outcome"] for one in body["details"]["sources"]}
    assert outcomes["kyberswap"] == "unverified"


def test_more_than_the_whole_supply_is_the_callers_mistake(town: Town) -> None:
    """A token that counts in 96 bits cannot be given so much for a simulation either."""
    amount = 2**96
    body = town.quote(sellAmount=str(amount)).json()
    assert (body["error"], body["details"]["field"]) == ("INVALID_AMOUNT", "sellAmount")
    assert "more than the token's whole supply of " in body["message"]


def test_the_operator_may_offer_them_marked(town: Town, tmp_path: Path) -> None:
    with serving(town, tmp_path, QUOTES__REQUIRE_VERIFICATION="false") as served:
        quote = served.town.quote().json()["data"]
    assert quote["verification"]["status"] == "unverified"
    won = [one for one in quote["sources"] if one["outcome"] == "won"]
    assert [one["simulated"] for one in won] == [None]


def test_a_promise_above_the_pools_ranks_last_and_says_why(town: Town, tmp_path: Path) -> None:
    """5 % is within what three promises allow each other: only the pools know better."""
    town.fault("kyberswap", "lie:1.05")
    try:
        with serving(town, tmp_path, QUOTES__REQUIRE_VERIFICATION="false") as served:
            quote = served.town.quote().json()["data"]
            price = served.town.price().json()["data"]
    finally:
        town.heal("kyberswap")
    rows = {row["source"]: row for row in quote["sources"]}
    assert quote["source"] != "kyberswap" != price["source"]
    assert quote["alternatives"][-1]["source"] == "kyberswap"
    assert 300 < rows["kyberswap"]["referenceBps"] < 500
    assert "bps more than the pools' price and was not simulated" in rows["kyberswap"]["reason"]
    others = [row["referenceBps"] for name, row in rows.items() if name != "kyberswap"]
    assert all(bps is None or -200 < bps < 0 for bps in others)


@pytest.mark.parametrize(("required", "code"), [("true", 1), ("false", 0)])
def test_the_check_of_the_dependencies_names_it(town: Town, required: str, code: int) -> None:
    variables = forked.without_settings() | {
        "QUIETSWAP_SETTINGS": town.facts["settingsFile"],
        "QUIETSWAP_QUOTES__REQUIRE_VERIFICATION": required,
    }
    done = forked.run(["sources", "check", "--json"], variables)
    assert done.returncode == code
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert rows["eth_simulateV1"]["works"] is False
    assert "no swap is quoted" in rows["eth_simulateV1"]["advice"]
    town.heal("node")
    try:
        found = json.loads(forked.run(["sources", "check", "--json"], variables).stdout)
    finally:
        town.fault("node", "no_simulate")
    assert {row["name"]: row["works"] for row in found}["eth_simulateV1"] is True
