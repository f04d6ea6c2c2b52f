"""All sources through the real service: what is bound is offered, each attack is named.

The attacks are the sandbox's faults; that they would steal is shown by its own tests.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quietswap.rules.vendors import VENDORS
from quietswap.sandbox.vendors.stand_in import stand_ins
from tests.e2e.conftest import Town
from tests.e2e.serving import Served, serving
from tests.vendors.case import cases

ALL = ",".join(VENDORS)
KEYED = {
    f"SOURCE__{name.upper()}__API_KEY": "test" for name, row in VENDORS.items() if row.needs_key
}

pytestmark = pytest.mark.xdist_group("bound-routes")  # one service
REFUSED = [
    (source, fault, rule)
    for source, case in cases().items()
    for fault, rule in case.calls.refusals.items()
]
BOUND_BUT_LYING = [name for name, made in stand_ins().items() if "lying_executor" in made.attacks]


@pytest.fixture(scope="module")
def served(town: Town, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("bound")
    with serving(town, folder, QUOTES__SOURCES=ALL, QUOTES__SOFT_DEADLINE_S="3.0", **KEYED) as own:
        yield own


def rows(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["source"]: row for row in data["sources"]}


def test_every_honest_source_is_bound(served: Served) -> None:
    answer = served.town.quote()
    assert answer.status_code == 200, answer.text
    data = answer.json()["data"]
    outcomes = {source: row["outcome"] for source, row in rows(data).items()}
    assert set(outcomes.values()) == {"won", "answered"}, rows(data)
    assert data["verification"]["bound"] is True


def attacked(served: Served, source: str, fault: str) -> dict[str, Any]:
    """Return the row of a source that attacks. Another one has won."""
    served.town.fault(source, fault)
    try:
        answer = served.town.quote()
    finally:
        served.town.heal(source)
    assert answer.status_code == 200, answer.text
    data = answer.json()["data"]
    assert data["source"] != source
    return rows(data)[source]


@pytest.mark.parametrize(("source", "fault", "rule"), REFUSED)
def test_an_attack_is_refused_and_its_rule_named(
    served: Served, source: str, fault: str, rule: str
) -> None:
    row = attacked(served, source, fault)
    assert row["outcome"] == "unsafe", row
    assert rule in row["reason"]


@pytest.mark.parametrize("source", BOUND_BUT_LYING)
def test_the_router_reverts_a_bound_call_whose_executor_lies(served: Served, source: str) -> None:
    row = attacked(served, source, "lying_executor")
    assert row["outcome"] == "reverted", row
    assert row["reason"]


def test_no_attack_of_a_stand_in_is_left_out() -> None:
    tried = {(source, fault) for source, fault, _ in REFUSED}
    tried |= {(source, "lying_executor") for source in BOUND_BUT_LYING}
    assert tried == {(name, fault) for name, made in stand_ins().items() for fault in made.attacks}


def test_while_0x_has_removed_its_settlers_it_is_refused(town: Town, tmp_path: Path) -> None:
    """A service that had read them before goes by what it read for two minutes more."""
    town.fault("zeroex", "settlers_removed")
    try:
        with serving(town, tmp_path, QUOTES__SOURCES="zeroex,sushi", **KEYED) as own:
            data = own.town.quote().json()["data"]
    finally:
        town.heal("zeroex")
    assert data["source"] == "sushi"
    assert rows(data)["zeroex"]["outcome"] == "unsafe"
    assert "cannot be proven genuine" in rows(data)["zeroex"]["reason"]
