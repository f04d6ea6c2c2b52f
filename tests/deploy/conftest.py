"""One sandbox for all tests of this folder that need a node or a whole service."""

from collections.abc import Iterator

import pytest

from tests.e2e.conftest import Town, running_town


@pytest.fixture(scope="package")
def town() -> Iterator[Town]:
    with running_town("--block-time", "0.5") as found:
        yield found
