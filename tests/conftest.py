"""Settings of every run: examples of hypothesis, ids of tests, signal handlers and the log."""

import os
import signal
import sys
import warnings
import zlib
from asyncio import AbstractEventLoop
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import structlog
import uvloop
from hypothesis import settings

from quietswap.service.observe import logs
from tests.example_counts import LONG, examples
from tests.upstream import http, upstream

__all__ = ["http", "upstream"]

# The same examples in every run, but more and new ones in each `make test-long`.
settings.register_profile(
    "suite",
    derandomize=not LONG,
    max_examples=examples(200, short=50),
    deadline=None,
    print_blob=LONG,
)
settings.load_profile("suite")

# Each HTTP client of a test and of what it starts reads all roots: 5 ms for those of a machine.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).with_name("root.pem"))
os.environ.pop("SSL_CERT_DIR", None)

# A shell's background job ignores Ctrl-C, and so do all programs that it starts. Tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class EndingLoop(uvloop.Loop):
    """The event loop of the service, whose end tells what a test left open.

    uvloop warns of an open transport before it closes it. An error instead of the warning keeps it
    from closing it, and `close` then waits for ever, in C. It also drops what the time limit of a
    test raises while the loop is idle: here that stops the loop, so that no test can hang.
    """

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if isinstance(context.get("exception"), pytest.fail.Exception):
            self.stop()
        super().call_exception_handler(context)

    def close(self) -> None:
        with warnings.catch_warnings(record=True) as left_open:
            warnings.simplefilter("always")
            super().close()
        if left_open:
            raise ResourceWarning(*(str(warning.message) for warning in left_open))


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], AbstractEventLoop]]:
    """Run each test on the event loop of the service."""
    return {"uvloop": EndingLoop}


LONGEST_ID = 200
"""Characters of one value. The id of the running test is in the environment of what it starts."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Take back the signal handlers and the log that a part of the service has set in this process.

    A command run in the test's own process disables the log: later tests would capture no lines.
    """
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    log, state = structlog.get_config(), (logs._lines, logs._options)
    try:
        return (yield)
    finally:
        structlog.configure(**log)
        logs._lines, logs._options = state
        vars(logs.log).pop("bind", None)  # the logger that it kept since its first line
        for number, handler in before.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the commands' record of signed orders out of the person's own, and of other tests'."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / f"state-{uuid4()}"))


@pytest.fixture
def usual_recursion_limit() -> Iterator[None]:
    """The limit of a process into which no library of the tests was imported."""
    yield from _recursion_limit(1_000)


@pytest.fixture
def no_recursion_limit() -> Iterator[None]:
    """Some libraries (py_ecc) lift the limit, and with it the protection of what recurses."""
    yield from _recursion_limit(10**6)


def _recursion_limit(frames: int) -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(frames)
    yield
    sys.setrecursionlimit(before)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Return a short id for a long value."""
    if not isinstance(val, str | bytes) or len(val) <= LONGEST_ID:
        return None
    raw = val if isinstance(val, bytes) else val.encode("utf-8", "surrogatepass")
    return f"{argname}-{len(val)}-{zlib.crc32(raw):08x}"


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
