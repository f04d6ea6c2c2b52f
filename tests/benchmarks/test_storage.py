"""The benchmark of the storage runs to its end and reports every call, on both databases."""

import json
from pathlib import Path

import pytest

from benchmarks.storage import content
from benchmarks.storage.__main__ import LEAST, main
from benchmarks.storage.run import Plan, tasks
from tests.example_counts import LONG, examples

pytestmark = pytest.mark.skipif(not LONG, reason="nightly: a short run of each benchmark")


def test_a_short_form_reports_every_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content, "QUOTES", examples(content.QUOTES, short=content.EXPIRED + 1))
    kept, page = tmp_path / "figures.json", tmp_path / "page.md"
    orders = examples(20_000, short=LEAST)
    form = ["--orders", str(orders), "--rounds", "1", "--calls", "20"]
    main([*form, "--json", str(kept), "--page", str(page)])
    figures = json.loads(kept.read_bytes())["figures"]
    for database, size in (("postgresql", orders), ("sqlite", LEAST)):
        found = [figure for figure in figures if figure["database"] == database]
        asked = [task.name for task in tasks(Plan(size, 1, 20))]
        assert [figure["call"] for figure in found[:-1]] == asked
        assert found[-1]["call"] == "one clearing of 500 bytes and 500 quotes"
        assert all(
            0 < figure[side]["p50"] <= figure[side]["p99"]
            for figure in found
            for side in ("small", "large")
        )
    blocks = json.loads(kept.read_bytes())["blocks"]
    assert [row["at_once"] for row in blocks] == [1, 16]
    assert all(row["small"] > 1 and row["large"] > 1 for row in blocks)
    assert capsys.readouterr().out.strip() in page.read_text("utf-8")
