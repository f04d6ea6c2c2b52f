"""The costs of events, in a short form."""

import pytest

from benchmarks import observe_cost


async def test_every_cost_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(observe_cost, "_ROUNDS", 1)
    monkeypatch.setattr(observe_cost, "_TIMES", 2)
    await observe_cost.measure()
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.endswith(" µs")]) == 9
