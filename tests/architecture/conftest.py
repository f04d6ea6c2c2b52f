"""One process runs the searches: it parses the package once."""

from pathlib import Path

import pytest

SEARCHES = (
    "docstrings",
    "node_work",
    "one_node_call",
    "one_number",
    "one_owner",
    "one_trial",
    "terminal",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Make a group of them."""
    for item in items:
        if item.path.parent == Path(__file__).parent and item.path.stem[5:] in SEARCHES:
            item.add_marker(pytest.mark.xdist_group("searches"))
