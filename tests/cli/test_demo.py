"""`quietswap demo`: proves what it claims, in time, and leaves nothing running."""

import json
import os
import socket
import sys
from urllib.parse import urlsplit

import pytest
from rich.console import Console

from quietswap.cli import demo_sandbox
from quietswap.cli.demo_report import DemoReport
from tests import forked
from tests.cli.conftest import Quietswap
from tests.cli.sandbox_process import ROOT, Piped
from tests.waiting import LONG_S

pytestmark = pytest.mark.xdist_group("live-demo")


def is_open(url: str) -> bool:
    parts = urlsplit(url)
    with socket.socket() as probe:
        probe.settimeout(2)
        return probe.connect_ex((parts.hostname or "", parts.port or 0)) == 0


def test_the_demo(capfd: pytest.CaptureFixture[str]) -> None:
    done = forked.run(["demo", "--json"], os.environ, folder=ROOT)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["ok"]
    assert all(check["ok"] for check in facts["checks"])
    assert len(facts["sources"]) == 4
    public, private = facts["comparison"]["public"], facts["comparison"]["private"]
    assert public["promised"] == private["promised"]
    assert int(public["lost"]) > 0
    assert (private["lost"], private["attackers"], private["searcherGain"]) == ("0", [], "0")
    assert int(public["searcherGain"]) > 0
    assert facts["seconds"] > 0
    assert "\x1b" not in done.stderr
    assert not is_open(facts["sandbox"]["baseUrl"])
    assert not is_open(facts["sandbox"]["rpcUrl"])


def test_a_terminated_demo_stops_its_sandbox() -> None:
    env = {"PATH": "/usr/bin:/bin", "XDG_STATE_HOME": os.environ["XDG_STATE_HOME"]}
    told: list[str] = []
    with Piped(["demo"], env, joined=True) as process:
        for line in process.stdout:
            told.append(line)
            if "API http" in line:
                break
        else:
            pytest.fail("".join(told))
        url = told[-1].split()[-1]
        assert is_open(url)
        process.terminate()
        process.communicate(LONG_S)
    assert process.returncode == 1
    assert not is_open(url)


def test_a_sandbox_that_does_not_start(
    quietswap: Quietswap, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "import sys; sys.exit('no chain binary: run npm ci')"
    monkeypatch.setattr(demo_sandbox, "_COMMAND", (sys.executable, "-c", script))
    result = quietswap("demo", "--json")
    assert result.exit_code == 1
    facts = json.loads(result.stdout)
    assert facts["ok"] is False
    assert "run npm ci" in facts["checks"][0]["claim"]


def test_a_reason_that_comes_after_the_end_of_the_output(
    quietswap: Quietswap, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = "os.close(1); time.sleep(0.3); os.write(2, b'run npm ci'); os._exit(1)"
    script = (sys.executable, "-c", f"import os, time; {late}")
    monkeypatch.setattr(demo_sandbox, "_COMMAND", script)
    result = quietswap("demo", "--json")
    assert "run npm ci" in json.loads(result.stdout)["checks"][0]["claim"]


@pytest.mark.parametrize(
    ("outcomes", "passed"), [([], False), ([True], True), ([True, False], False)]
)
def test_a_verdict_needs_every_claim(outcomes: list[bool], passed: bool) -> None:
    report = DemoReport(Console(quiet=True))
    for holds in outcomes:
        report.check("a claim", holds=holds)
    report.verdict()
    assert (report.passed, report.facts["ok"]) == (passed, passed)
