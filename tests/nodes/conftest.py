"""geth for the tests, with today's rules and with Amsterdam's. `make nodes` installs it."""

from collections.abc import Iterator

import pytest

from quietswap.sandbox.chain.geth import find_geth
from quietswap.sandbox.npm import MissingPackage
from tests.e2e.test_typescript_client import typescript
from tests.nodes.town import GethDesk, GethTown, running_geth_town

__all__ = ["typescript"]

RULES = {"today": None, "amsterdam": 0}
"""Seconds until Amsterdam's rules begin, by the name of the rules."""


def geth_is_installed() -> bool:
    try:
        find_geth()
    except MissingPackage:
        return False
    return True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if geth_is_installed():
        return
    for item in items:
        if "/nodes/" in str(item.path):
            item.add_marker(
                pytest.mark.skip(reason="geth is not installed: `make nodes` does that")
            )


@pytest.fixture(scope="session", params=list(RULES))
def town(request: pytest.FixtureRequest) -> Iterator[GethTown]:
    """One sandbox on geth for each set of rules."""
    with running_geth_town(RULES[request.param]) as running:
        yield running


@pytest.fixture
def desk(town: GethTown) -> Iterator[GethDesk]:
    with GethDesk(town) as client:
        yield client
