"""geth for the tests, with today's rules and with Amsterdam's. `make nodes` installs it.

A test with the mark `today_in_short` is run with Amsterdam's rules by `make nodes` alone. One with
the mark `capability("name")` is a cell of the table in docs/nodes.md: its row is the capability,
its column the node. `build/nodes` has the cells of the last run.
"""

import json
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from quietswap.sandbox.chain.geth import find_geth
from quietswap.sandbox.npm import MissingPackage
from tests.e2e.test_typescript_client import typescript
from tests.example_counts import LONG
from tests.nodes.town import GethDesk, GethTown, running_geth_town

__all__ = ["typescript"]

RULES = {"today": None, "amsterdam": 0}
"""Seconds until Amsterdam's rules begin, by the name of the rules."""
CELLS = Path(__file__).parents[2] / "build" / "nodes"
"""A file for each process of the run."""
_cells: defaultdict[str, dict[str, str]] = defaultdict(dict)


def geth_is_installed() -> bool:
    try:
        find_geth()
    except MissingPackage:
        return False
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs geth where there is none; else one process runs all tests of a town."""
    own = [item for item in items if Path(__file__).parent in item.path.parents]
    is_there = geth_is_installed()
    for item in own:
        if not is_there:
            reason = "geth is not installed: `make nodes` does that"
            item.add_marker(pytest.mark.skip(reason=reason))
        params = getattr(item, "callspec", None)
        rules = params.params.get("town", "") if params else ""
        if rules == "amsterdam" and item.get_closest_marker("today_in_short") and not LONG:
            item.add_marker(pytest.mark.skip(reason="`make nodes` runs it with these rules"))
        item.add_marker(pytest.mark.xdist_group(f"geth {rules}" if rules else item.path.name))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    mark = item.get_closest_marker("capability")
    if mark is None or (report.when != "call" and report.passed):
        return report
    column = dict(report.user_properties).get("node") or node_of(item)
    cell = dict(report.user_properties).get("cell", "yes")
    held = _cells[column].get(mark.args[0], "yes")
    if report.skipped:
        return report
    _cells[column][mark.args[0]] = "no" if report.failed or held == "no" else str(cell)
    return report


def node_of(item: pytest.Item) -> str:
    """Return the column of a test: what its parameters name."""
    params = getattr(item, "callspec", None)
    rules = params.params.get("town") or params.params.get("rules") if params else None
    return f"geth, {rules or 'today'}"


def pytest_sessionstart(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        for earlier in CELLS.glob("*.json"):
            earlier.unlink()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _cells:
        CELLS.mkdir(parents=True, exist_ok=True)
        worker = getattr(session.config, "workerinput", {}).get("workerid", "main")
        written = {"command": "make nodes" if LONG else "make nodes-short", "cells": _cells}
        (CELLS / f"{worker}.json").write_text(json.dumps(written, indent=1), "utf-8")


@pytest.fixture(scope="session", params=list(RULES))
def town(request: pytest.FixtureRequest) -> Iterator[GethTown]:
    """One sandbox on geth for each set of rules."""
    with running_geth_town(RULES[request.param]) as running:
        yield running


@pytest.fixture
def desk(town: GethTown) -> Iterator[GethDesk]:
    with GethDesk(town) as client:
        yield client
