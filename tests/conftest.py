"""Settings of every run: examples of hypothesis, ids of tests, and Ctrl-C for started programs."""

import signal
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import settings

from tests.example_counts import LONG

# The same examples in every `make test`, new ones in every `make test-long`.
settings.register_profile("suite", derandomize=not LONG, deadline=None, print_blob=LONG)
settings.load_profile("suite")

# A shell's background job ignores Ctrl-C, and so do all programs that it starts. Tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Refuse what xdist would not say: it runs one of several tests with the same id, and spreads
    a group over all processes if this release of pytest does not take the id with the group.
    """
    equal = [name for name, count in Counter(item.nodeid for item in items).items() if count > 1]
    if equal:
        raise pytest.UsageError(f"several tests have the same id: {', '.join(sorted(equal))}")
    if getattr(config.option, "loadgroup", False):
        for item in items:
            if item.get_closest_marker("xdist_group") and "@" not in item.nodeid:
                raise pytest.UsageError(f"{item.nodeid}: xdist does not know its group")
