"""The systemd unit: it runs our commands on the example settings, and is locked up well."""

import shutil
import subprocess

import pytest

from tests.deploy.files import DEPLOY, DOCS, NODE, good_settings, parse_command

UNIT = DEPLOY / "quietswap.service"
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd is not installed here"
)


def entries() -> dict[str, list[str]]:
    """Return the values of every key, in order."""
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text("utf-8").splitlines():
        key, separator, value = line.partition("=")
        if separator and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def test_it_runs_commands_of_the_command_line() -> None:
    found = entries()
    for key, name in (("ExecStartPre", "migrate"), ("ExecStart", "serve")):
        [line] = found[key]
        program, *words = line.split()
        assert program == "/opt/quietswap/bin/quietswap"
        assert parse_command(words).name == name


def test_it_reads_the_example_settings_where_they_are_installed() -> None:
    text = UNIT.read_text("utf-8")
    [environment] = entries()["Environment"]
    path = dict(part.split("=", 1) for part in environment.split())["QUIETSWAP_SETTINGS"]
    assert f"install -D -m 0644 deploy/quietswap.toml {path}" in text
    assert f"export QUIETSWAP_SETTINGS={path}\n" in (DOCS / "runbook.md").read_text("utf-8")
    [secrets] = entries()["EnvironmentFile"]
    assert f"install -m 0600 /dev/null {secrets.removeprefix('-')}" in text


def test_the_database_is_in_the_only_folder_it_may_write() -> None:
    found = entries()
    assert found["ProtectSystem"] == ["strict"]
    folder = f"/var/lib/{found['StateDirectory'][0]}"
    assert found["WorkingDirectory"] == [folder]
    url = good_settings(NODE, DEPLOY / "quietswap.toml").storage.url
    assert url.startswith(f"sqlite:///{folder}/")


def test_a_reload_is_the_signal_the_server_takes() -> None:
    """tests/e2e/test_reload.py shows what it does."""
    assert entries()["ExecReload"] == ["/bin/kill -HUP $MAINPID"]


def test_operators_actions_are_recorded_where_it_may_write() -> None:
    found = entries()
    [environment] = found["Environment"]
    file = dict(part.split("=", 1) for part in environment.split())["QUIETSWAP_OBSERVE__AUDIT_FILE"]
    assert file.startswith(f"/var/lib/{found['StateDirectory'][0]}/")


def test_it_has_time_to_stop() -> None:
    assert int(entries()["TimeoutStopSec"][0]) > 10


@needs_systemd
def test_systemd_finds_it_well_locked_up() -> None:
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager"]
    done = subprocess.run([*command, str(UNIT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


@needs_systemd
def test_systemd_knows_every_line_of_it() -> None:
    command = ["systemd-analyze", "verify", "--man=no", str(UNIT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    other = [li for li in done.stderr.splitlines() if "quietswap.service" in li]
    assert [li for li in other if "is not executable" not in li] == []
