"""Sources paused and resumed by an administrator."""

from pathlib import Path

import pytest

from tests.cli.operator_commands import Run, told


def test_a_pause_and_its_end(operate: Run) -> None:
    names = [one["name"] for one in told(operate("sources", "list", "--json"))]
    assert "velora" in names
    held = told(operate("sources", "pause", "velora", "--reason", "wrong  prices", "--json"))
    assert (held["paused"], held["reason"]) == (True, "wrong prices")
    listed = {one["name"]: one for one in told(operate("sources", "list", "--json"))}
    assert listed["velora"] == held
    assert listed["kyberswap"]["paused"] is False
    header, *lines = operate("sources", "list").stdout.splitlines()
    assert header.split()[:2] == ["source", "state"]
    [line] = [line for line in lines if line.startswith("velora")]
    assert "paused" in line
    assert line.endswith("wrong prices")
    assert "already" in operate("sources", "pause", "velora", code=1).stderr
    assert told(operate("sources", "resume", "velora", "--json"))["paused"] is False
    assert "not paused" in operate("sources", "resume", "velora", code=1).stderr
    events = [one["event"] for one in told(operate("audit", "list", "--json"))]
    assert events == ["source_paused", "source_resumed"]


def test_only_a_source_in_use_can_be_paused(operate: Run) -> None:
    assert "kyberswap" in operate("sources", "pause", "nobody", code=1).stderr


@pytest.mark.parametrize("reason", ["x" * 201, "bidi \u202e text"])
def test_a_reason_is_short_and_visible(operate: Run, reason: str) -> None:
    done = operate("sources", "pause", "velora", "--reason", reason, code=2)
    assert "--reason" in done.stderr


def test_a_source_that_left_the_settings_can_be_resumed(
    operate: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    operate("sources", "pause", "velora")
    monkeypatch.setenv("QUIETSWAP_QUOTES__SOURCES", "kyberswap")
    names = [one["name"] for one in told(operate("sources", "list", "--json"))]
    assert names == ["kyberswap", "velora"]
    operate("sources", "resume", "velora")
