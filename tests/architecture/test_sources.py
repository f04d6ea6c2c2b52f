"""Every list of aggregators has all of the registry, `server/factories.py`.

A failure names the list to edit. CONTRIBUTING.md, "Add a source", has the order of the work.
"""

import re
import tomllib
from collections.abc import Iterable

import pytest

from quietswap.client.flows import quote_checks
from quietswap.routers import method
from quietswap.routers.methods import METHODS
from quietswap.sandbox import faults, network
from quietswap.sandbox.contracts import addresses
from quietswap.sandbox.ports import PARTS
from quietswap.sandbox.venues import hostile_calldata, router_calldata
from quietswap.server.factories import AGGREGATORS
from quietswap.server.settings.schema import QuotesConfig
from tests.adapters.aggregators import (
    bodies,
    test_odd_figures,
    test_prices,
    test_requests,
    test_vendor_words,
    vendors,
)
from tests.architecture.test_repository import ROOT
from tests.sandbox import venue_clients


def _independent() -> list[str]:
    """Return the adapters of the import rule. Without this test a new one could be left out."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    name = "Vendors do not import each other"
    (rule,) = (one for one in contracts["tool"]["importlinter"]["contracts"] if one["name"] == name)
    return [module.split(".")[2] for module in rule["modules"]]


def _words() -> list[str]:
    text = (ROOT / "web" / "src" / "words.ts").read_text("utf-8")
    table = text.split("export const SOURCES")[1].split("}")[0]
    return re.findall(r"^  (\w+):", table, re.M)


LISTS: dict[str, Iterable[str]] = {
    "pyproject.toml, the rule that aggregators do not import each other": _independent(),
    "VENUES in sandbox/faults.py": faults.VENUES,
    "ROUTERS in sandbox/contracts/addresses.py": addresses.ROUTERS,
    "_VENUES in sandbox/network.py": {one.name for one in network._VENUES} - {*faults.PRICES},
    "ENCODERS in sandbox/venues/router_calldata.py": router_calldata.ENCODERS,
    "ATTACKS['drain'] in sandbox/venues/hostile_calldata.py": hostile_calldata.ATTACKS["drain"],
    "SOURCES in web/src/words.ts": _words(),
    "VENDORS in tests/adapters/aggregators/vendors.py": vendors.VENDORS,
    "BODIES in tests/adapters/aggregators/bodies.py": bodies.BODIES,
    "ASKED in tests/adapters/aggregators/test_requests.py": test_requests.ASKED,
    "ASKED in tests/adapters/aggregators/test_prices.py": test_prices.ASKED,
    "SAID in tests/adapters/aggregators/test_vendor_words.py": test_vendor_words.SAID,
    "ADDRESSES in tests/adapters/aggregators/test_odd_figures.py": test_odd_figures.ADDRESSES,
    "CALLDATA in tests/adapters/aggregators/test_odd_figures.py": test_odd_figures.CALLDATA,
    "VENUE_CLIENTS in tests/sandbox/venue_clients.py": venue_clients.VENUE_CLIENTS,
}


@pytest.mark.parametrize("place", LISTS)
def test_a_list_has_every_source_of_the_registry(place: str) -> None:
    assert set(LISTS[place]) == set(AGGREGATORS), f"edit {place}"


@pytest.mark.parametrize("source", AGGREGATORS)
def test_a_router_of_a_source_is_pinned_and_has_methods(source: str) -> None:
    pins = set(AGGREGATORS[source].module.ROUTERS)
    assert addresses.ROUTERS.get(source) in pins, "edit ROUTERS in sandbox/contracts/addresses.py"
    assert pins <= {*method.ROUTERS}, "edit ROUTERS in routers/method.py"
    assert pins <= {row.router for row in METHODS.values()}, "add rows to routers/methods.py"
    assert pins <= quote_checks.ROUTERS, "edit ROUTERS in client/flows/quote_checks.py"


@pytest.mark.parametrize("source", AGGREGATORS)
def test_an_adapter_has_the_name_of_its_module(source: str) -> None:
    row = AGGREGATORS[source]
    assert row.adapter.name == row.module.NAME == row.module.__name__.split(".")[-2]


def _in_order(text: str) -> list[str]:
    return re.findall("|".join(AGGREGATORS), text)


def test_the_preference_is_documented_in_its_order() -> None:
    meta = QuotesConfig.__annotations__["sources"].__metadata__
    described = next(one.description for one in meta if getattr(one, "description", None))
    assert _in_order(described) == [*AGGREGATORS], (
        "edit quotes.sources in server/settings/schema.py"
    )
    page = (ROOT / "docs" / "quotes.md").read_text("utf-8")
    listed = page.split("that are available of ")[1].split(";")[0]
    assert _in_order(listed) == [*AGGREGATORS], "edit docs/quotes.md"


def test_the_ports_are_documented() -> None:
    ports = [PARTS[name] for name in (*faults.VENUES, *faults.PRICES)]
    row = f"| venues and price APIs | ports {min(ports)} to {max(ports)} |"
    assert row in (ROOT / "docs" / "sandbox.md").read_text("utf-8"), "edit docs/sandbox.md"
    help_ = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert f"8080 and {min(PARTS.values())} to {max(ports)}." in help_, (
        "edit --free-ports in cli/commands/sandbox.py, then run tools/cli_page.py"
    )
