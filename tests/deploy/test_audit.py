"""`make audit` never passes in silence: what no advisory service answered is named."""

import json
from typing import Any

import pytest
from tools import audit


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The report of each program by its name; a missing one gave no JSON."""
    answers: dict[str, Any] = {}

    def report(*command: str) -> Any:
        name = "npm" if command[0] == "npm" else "pip_audit"
        if name not in answers:
            raise audit.NotAnsweredError(f"{name}: no route to host")
        return json.loads(json.dumps(answers[name]))

    monkeypatch.setattr(audit, "_report", report)
    return answers


def dependencies(count: int, **hole: Any) -> dict[str, Any]:
    packages = [{"name": f"p{n}", "version": "1", "vulns": []} for n in range(count)]
    return {"dependencies": [packages[0] | hole, *packages[1:]]}


NPM = {"metadata": {"dependencies": {"total": 3}}, "vulnerabilities": {}}


def test_without_an_answer_it_says_that_nothing_was_audited(
    reports: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit.main() == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("NOT AUDITED: Python packages.")
    assert second.startswith("NOT AUDITED: npm packages.")
    assert first.count("no route to host") == len(audit.SERVICES), "each service is tried"


def test_a_mirror_that_knows_few_of_the_packages_gives_no_verdict(
    reports: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    reports |= {"pip_audit": dependencies(3), "npm": NPM}
    assert audit.main() == 0
    first, second = capsys.readouterr().out.split("\n", 1)
    assert first.startswith("NOT AUDITED: Python packages.")
    assert "pypi knows 3 of" in first
    assert second.startswith("audited 3 npm packages")


def test_a_known_vulnerability_fails(
    reports: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    hole = {"id": "PYSEC-1", "fix_versions": ["2"]}
    reports |= {"pip_audit": dependencies(500, vulns=[hole]), "npm": NPM}
    assert audit.main() == 1
    assert "p0 1: PYSEC-1, fixed in ['2']" in capsys.readouterr().out
