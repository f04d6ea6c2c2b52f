"""`make bench` runs from end to end. What it measures is never asserted: a machine may be busy."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.speed.processes import memory_reads
from benchmarks.speed.stage import Served
from quietswap.sandbox.service_process import ServiceProcess
from tests.waiting import LONG_S

ROOT = Path(__file__).parents[2]


def speed(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.speed", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LONG_S,
        check=False,
    )


def test_a_short_run_prints_its_rows_and_keeps_its_figures(tmp_path: Path) -> None:
    kept, page = tmp_path / "kept.json", tmp_path / "page.md"
    run = speed(
        *("--rounds", "1", "--json", str(kept), "--page", str(page)), "submission", "decoding"
    )
    assert run.returncode == 0, run.stderr
    rows = json.loads(kept.read_text("utf-8"))
    assert [row["goal"]["unit"] for row in rows] == ["×", "×", "×"]
    assert all(0 < row["min"] <= row["figure"] <= row["max"] for row in rows)
    assert [row["rounds"] for row in rows] == [1, 1, 10]
    for row in rows:
        assert row["what"] in run.stdout
        assert row["beside"] in page.read_text("utf-8")


@pytest.mark.parametrize("words", [["everything"], ["--rounds", "many"]])
def test_wrong_words_are_named(words: list[str]) -> None:
    run = speed(*words)
    assert run.returncode == 2
    assert words[-1] in run.stderr


def test_the_memory_row_says_its_mixture(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    run = speed("--requests", "1000", "--json", str(kept), "memory")
    assert run.returncode == 0, run.stderr
    memory, growth = json.loads(kept.read_text("utf-8"))
    assert memory["what"] == "memory after 1 000 requests, 2 % quotes, 0.2 % submissions"
    assert memory["figure"] > 0
    assert growth["figure"] > 0


def test_a_fiftieth_of_the_memory_rows_requests_are_quotes() -> None:
    requests = memory_reads(Served(ServiceProcess(ROOT, 0), "key"))
    quotes = [place for place, one in enumerate(requests) if one.startswith(b"GET /api/v1/quote?")]
    assert quotes[:3] == [49, 99, 149]
    assert abs(len(quotes) / len(requests) - 0.02) < 0.001
    assert len(set(requests)) > 4_000
