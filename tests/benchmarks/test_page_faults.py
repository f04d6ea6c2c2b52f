"""Reads of orders, sorted by the page faults that each met."""

import sys

import pytest

from benchmarks.storage import page_faults


def test_each_read_of_both_tables_is_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(page_faults, "SMALL", 1_000)
    monkeypatch.setattr(page_faults, "READS", 50)
    monkeypatch.setattr(sys, "argv", ["page_faults", "--orders", "2000"])
    page_faults.main()
    reads = dict.fromkeys(("1000", "2000"), 0)
    for line in capsys.readouterr().out.splitlines():
        orders, _, faults, _, middle, _, count, _ = line.split()
        assert int(faults) >= 0
        assert float(middle) > 0
        reads[orders] += int(count.lstrip("("))
    assert reads == {"1000": 50, "2000": 50}
