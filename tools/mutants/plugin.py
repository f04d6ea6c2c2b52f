"""A plugin of pytest: record which test runs which line, or run only given tests.

QUIETSWAP_MUTANTS is a folder with `task.json`: {"record": folder} or {"tests": [node ids]}.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

FOLDER = Path(os.environ["QUIETSWAP_MUTANTS"])
TASK = json.loads((FOLDER / "task.json").read_text("utf-8"))


class Recorder:
    """Write `recording.json`: seconds of each test, and the tests of each line of each module."""

    def __init__(self, source: Path) -> None:
        self._source = source
        self._coverage = coverage.Coverage(
            data_file=None, include=[f"{source}/*"], config_file=False, messages=False
        )
        self._seconds = dict[str, float]()
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Attribute the lines to this test."""
        self._coverage.switch_context(item.nodeid)
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the seconds of setup, call and teardown."""
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0) + report.duration

    def pytest_sessionfinish(self) -> None:
        """Write what was recorded."""
        self._coverage.stop()
        data = self._coverage.get_data()
        number = {name: index for index, name in enumerate(self._seconds)}
        lines = {
            str(Path(path).relative_to(self._source)): {
                line: sorted({number[name] for name in names if name in number})
                for line, names in data.contexts_by_lineno(path).items()
            }
            for path in data.measured_files()
        }
        recorded = {"seconds": self._seconds, "lines": lines}
        (FOLDER / "recording.json").write_text(json.dumps(recorded), "utf-8")


class Selection:
    """Run only the given tests."""

    def __init__(self, tests: list[str]) -> None:
        self._tests = set(tests)

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Deselect every other test."""
        config.hook.pytest_deselected(items=[x for x in items if x.nodeid not in self._tests])
        items[:] = [item for item in items if item.nodeid in self._tests]


def pytest_configure(config: pytest.Config) -> None:
    """Start what the task asks for."""
    is_recording = "record" in TASK
    plugin = _RECORDER if is_recording else Selection(TASK["tests"])
    config.pluginmanager.register(plugin, "mutants")


# The measurement begins before the package is imported.
_RECORDER = Recorder(Path(TASK["record"])) if "record" in TASK else None
