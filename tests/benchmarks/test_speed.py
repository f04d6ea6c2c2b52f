"""`make bench` runs from end to end. What it measures is never asserted: a machine may be busy."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.example_counts import LONG
from tests.waiting import LONG_S

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.skipif(not LONG, reason="nightly: a short run of each benchmark"),
    pytest.mark.xdist_group("speed"),  # one process has the run of the module
]


@dataclass(frozen=True)
class ShortRun:
    """What one run of several parts has printed and written."""

    rows: list[dict[str, Any]]
    printed: str
    page: str

    def of(self, part: str) -> list[dict[str, Any]]:
        """Return the rows whose names begin with these words."""
        return [row for row in self.rows if row["what"].startswith(part)]


@pytest.fixture(scope="module")
def short_run(tmp_path_factory: pytest.TempPathFactory) -> ShortRun:
    folder = tmp_path_factory.mktemp("speed")
    kept, page = folder / "kept.json", folder / "page.md"
    page.write_bytes((ROOT / "docs" / "performance.md").read_bytes())
    options = ["--rounds", "1", "--requests", "1000", "--json", str(kept), "--page", str(page)]
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed", *options, "submission", "decoding", "memory"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LONG_S,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return ShortRun(json.loads(kept.read_text("utf-8")), run.stdout, page.read_text("utf-8"))


def test_a_short_run_prints_its_rows_and_keeps_its_figures(short_run: ShortRun) -> None:
    rows = [*short_run.of("order submission"), *short_run.of("decode")]
    assert [row["goal"]["unit"] for row in rows] == ["×", "×", "×"]
    assert all(0 < row["min"] <= row["figure"] <= row["max"] for row in rows)
    assert [row["rounds"] for row in rows] == [1, 1, 10]
    assert len(short_run.rows) == 5
    for row in short_run.rows:
        assert row["what"] in short_run.printed
        assert row["beside"] in short_run.page
