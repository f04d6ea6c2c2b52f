"""One running sandbox for the interface's tests, and a desk with a key of its own for each."""

from collections.abc import Iterator

import pytest

from tests.e2e.conftest import Town, running_town
from tests.spec.desk import Desk


@pytest.fixture(scope="session")
def town() -> Iterator[Town]:
    """A sandbox of half-second blocks; a test heals the faults it switches on."""
    with running_town("--block-time", "0.5") as found:
        yield found


@pytest.fixture
def desk(town: Town) -> Iterator[Desk]:
    """A client with a key of its own."""
    with Desk(town) as found:
        yield found
