"""A browser and a sandbox for the tests of the web pages."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.browser import Browser, CannotRun, Page
from tests.e2e.conftest import Town, running_town
from tests.spec.api_client import ApiClient

QUIET = {"test_accessible", "test_docs", "test_first_visit", "test_hostile", "test_page_loads"}
"""Modules with few swaps and no faults share one sandbox."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One process runs all tests of a module, or of the quiet ones: they share its sandbox."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            group = "quiet" if item.path.stem in QUIET else item.path.name
            item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A real browser; the tests are skipped, with the reason, where none can run."""
    try:
        found = Browser(tmp_path_factory.mktemp("browser"))
    except CannotRun as reason:
        pytest.skip(f"no browser can run here: {reason}")
    yield found
    found.close()


@pytest.fixture(scope="package")
def quiet_town(browser: Browser) -> Iterator[Town]:
    """The sandbox of the quiet modules."""
    with running_town("--block-time", "0.5") as found:
        yield found


@pytest.fixture(scope="module")
def town(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Town]:
    """One sandbox for the tests of a module; a test heals the faults it switches on.

    Each swap moves the prices of its pools, so more tests would trade far from the feeds' price.
    """
    if request.path.stem in QUIET:
        yield request.getfixturevalue("quiet_town")
        return
    with running_town("--block-time", "0.5") as found:
        yield found


@pytest.fixture
def desk(town: Town) -> Iterator[ApiClient]:
    """Wallets with funds, and the chain. No transaction of a test was ever public."""
    with ApiClient(town) as found:
        yield found
    assert town.control.get("/mempool-leaks").json()["leaks"] == []


@pytest.fixture
def empty_page(browser: Browser) -> Iterator[Page]:
    """A page without wallets. It must not break its policy."""
    page = browser.page()
    yield page
    assert page.reports() == []
    page.close()
