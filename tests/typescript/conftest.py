"""One build and one Node process for all tests of the TypeScript client."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.typescript.package import INSTALLED, NOT_INSTALLED, TypeScript, build, running


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the translated package and the driver."""
    if not INSTALLED:
        pytest.skip(NOT_INSTALLED)
    folder = tmp_path_factory.mktemp("typescript")
    build(folder)
    return folder


@pytest.fixture(scope="session")
def typescript(built: Path) -> Iterator[TypeScript]:
    with running(built) as found:
        yield found
