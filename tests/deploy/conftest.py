"""One sandbox for all tests of this folder that need a node or a whole service."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.files import ROOT
from tests.e2e.conftest import Town, running_town
from tests.spec.api_client import ApiClient


@pytest.fixture(scope="package")
def town() -> Iterator[Town]:
    with running_town("--block-time", "0.5") as found:
        yield found


@pytest.fixture
def desk(town: Town) -> Iterator[ApiClient]:
    """A client with a key of its own, and fresh wallets."""
    with ApiClient(town) as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder in which `examples/` is that of the project."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path
