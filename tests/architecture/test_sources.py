"""Every list of aggregators has all of the registry, `vendors/__init__.py`.

A failure names the list to edit. CONTRIBUTING.md, "Add a source", has the order of the work.
"""

from collections.abc import Iterable

import pytest

from quietswap.sandbox import faults, network
from quietswap.sandbox.contracts import addresses
from quietswap.sandbox.ports import PARTS
from quietswap.sandbox.venues import hostile_calldata, router_calldata
from quietswap.vendors import VENDORS
from tests.architecture.test_repository import ROOT

LISTS: dict[str, Iterable[str]] = {
    "VENUES in sandbox/faults.py": faults.VENUES,
    "ROUTERS in sandbox/contracts/addresses.py": addresses.ROUTERS,
    "_VENUES in sandbox/network.py": {one.name for one in network._VENUES} - {*faults.PRICES},
    "ENCODERS in sandbox/venues/router_calldata.py": router_calldata.ENCODERS,
    "ATTACKS['drain'] in sandbox/venues/hostile_calldata.py": hostile_calldata.ATTACKS["drain"],
}


@pytest.mark.parametrize("place", LISTS)
def test_a_list_has_every_source_of_the_registry(place: str) -> None:
    assert set(LISTS[place]) == set(VENDORS), f"edit {place}"


@pytest.mark.parametrize("source", VENDORS)
def test_a_vendor_has_the_name_of_its_folder_and_rows_of_its_router(source: str) -> None:
    vendor = VENDORS[source]
    assert vendor.name == source
    assert {row.router for row in vendor.methods} == {vendor.router}
    assert addresses.ROUTERS[source] == vendor.router, "edit sandbox/contracts/addresses.py"


def test_the_ports_are_documented() -> None:
    ports = [PARTS[name] for name in (*faults.VENUES, *faults.PRICES)]
    row = f"| venues and price APIs | ports {min(ports)} to {max(ports)} |"
    assert row in (ROOT / "docs" / "sandbox.md").read_text("utf-8"), "edit docs/sandbox.md"
    help_ = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert f"8080 and {min(PARTS.values())} to {max(ports)}." in help_, (
        "edit --free-ports in cli/commands/sandbox.py, then run tools/cli_page.py"
    )
