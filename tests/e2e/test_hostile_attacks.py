"""Every attack the sandbox can show, switched on: refused, and named in `sources`."""

from collections.abc import Iterator
from typing import Any

import pytest

from quietswap.rules.vendors import OVER_HTTP, VENDORS
from quietswap.sandbox.vendors.stand_in import stand_ins
from tests.e2e.conftest import Town
from tests.e2e.serving import serving

WITH_KEY = [name for name, row in VENDORS.items() if row.needs_key]
KEYLESS = [name for name in OVER_HTTP if name not in WITH_KEY]
ATTACKED = [(fault, name) for name, made in stand_ins().items() for fault in made.attacks]
STOPPED_BY_THE_ROUTER = {"lying_executor"}
"""Calldata that is bound: the router itself makes the call revert."""


@pytest.fixture(scope="module")
def keyless(town: Town, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """A service that asks every vendor without a key."""
    folder = tmp_path_factory.mktemp("keyless")
    with serving(town, folder, QUOTES__SOURCES=",".join(KEYLESS)) as served:
        yield served.town


@pytest.fixture(scope="module")
def keyed(town: Town, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """A service that asks every vendor with a key, and two others."""
    keys = {f"SOURCE__{vendor.upper()}__API_KEY": "key" for vendor in WITH_KEY}
    names = ",".join([*WITH_KEY, *KEYLESS[:2]])
    folder = tmp_path_factory.mktemp("keyed")
    with serving(town, folder, QUOTES__SOURCES=names, **keys) as served:
        yield served.town


def quoted(town: Town, vendor: str, fault: str) -> tuple[dict[str, Any], str]:
    """Return the row of an attacking vendor in `sources`, and who won."""
    town.fault(vendor, fault)
    try:
        answer = town.quote()
    finally:
        town.heal(vendor)
    assert answer.status_code == 200, answer.text
    data = answer.json()["data"]
    (row,) = (row for row in data["sources"] if row["source"] == vendor)
    return row, data["source"]


@pytest.mark.parametrize(("fault", "vendor"), ATTACKED)
def test_an_attack_is_refused_and_named(
    keyless: Town, keyed: Town, fault: str, vendor: str
) -> None:
    row, winner = quoted(keyed if vendor in WITH_KEY else keyless, vendor, fault)
    assert row["outcome"] == ("reverted" if fault in STOPPED_BY_THE_ROUTER else "unsafe"), row
    assert row["reason"]
    assert winner != vendor


def test_without_an_attack_all_are_verified(keyless: Town, keyed: Town) -> None:
    rows = [row for town in (keyless, keyed) for row in town.quote().json()["data"]["sources"]]
    assert {row["source"] for row in rows} == {*stand_ins()}
    assert {row["outcome"] for row in rows} <= {"won", "answered"}, rows
