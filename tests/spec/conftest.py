"""A running sandbox for the interface's tests, and a desk with a key of its own for each.

In `make test-long` every test that asks for `town` or `desk` runs twice: on SQLite, and on
PostgreSQL with Redis. The two are groups, so that one test process starts a sandbox for each.
"""

from collections.abc import Iterator

import pytest

from tests.databases import both_databases, sandbox_options
from tests.e2e.conftest import Town, running_town
from tests.spec.api_client import ApiClient


@pytest.fixture(scope="package", params=both_databases("interface"))
def town(request: pytest.FixtureRequest) -> Iterator[Town]:
    """A sandbox of half-second blocks; a test heals the faults it switches on."""
    with (
        sandbox_options(request.param) as options,
        running_town("--block-time", "0.5", *options) as found,
    ):
        yield found


@pytest.fixture
def desk(town: Town) -> Iterator[ApiClient]:
    """A client with a key of its own."""
    with ApiClient(town) as found:
        yield found
