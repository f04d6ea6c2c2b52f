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


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Refuse tests with the same id: xdist runs one of them and says nothing of the others."""
    equal = [name for name, count in Counter(item.nodeid for item in items).items() if count > 1]
    if equal:
        raise pytest.UsageError(f"several tests have the same id: {', '.join(sorted(equal))}")
