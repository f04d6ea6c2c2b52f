"""The audit file says in words why an action failed."""

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from quietswap.adapters import audit_file
from quietswap.adapters.audit_file import JsonAuditFile
from quietswap.cli import command
from quietswap.cli.options.audit_log import recorded_in_audit_log
from tests.cli.operator_commands import Run


def test_a_failed_action_has_its_reason(tmp_path: Path) -> None:
    file, log = tmp_path / "own.toml", tmp_path / "audit.jsonl"
    file.write_text(f'[observe]\naudit_file = "{log}"\n', "utf-8")
    said = "there is no live key key_1"
    with (
        pytest.raises(click.ClickException),
        recorded_in_audit_log(file, "key_revoked", key="key_1"),
    ):
        raise click.ClickException(said)
    [line] = map(json.loads, log.read_text("utf-8").splitlines())
    assert (line["outcome"], line["reason"], line["key"]) == ("failed", said, "key_1")


def test_a_key_whose_line_cannot_be_written_is_shown(
    operate: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is live, so its secret must not be lost."""
    monkeypatch.setenv("QUIETSWAP_OBSERVE__AUDIT_FILE", "/dev/full")
    done = operate("keys", "create", "--name", "bot")
    assert "qs_" in done.stdout
    assert "careful: this is not recorded in the audit file" in done.stderr
    assert "No space left on device (done)" in done.stderr
    [key] = json.loads(operate("keys", "list", "--json").stdout)
    assert key["name"] == "bot"


def test_a_line_that_was_cut_off_spoils_no_other(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    log.write_text('{"event": "ke', "utf-8")
    JsonAuditFile(str(log)).write("key_revoked", key="key_1")
    cut, whole = log.read_text("utf-8").splitlines()
    assert (cut, json.loads(whole)["key"]) == ('{"event": "ke', "key_1")


def test_a_full_disk_is_seen_by_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_file, "_ROOM", 1 << 60)
    monkeypatch.setenv("QUIETSWAP_NODE__URLS", "http://127.0.0.1:9")
    monkeypatch.setenv("QUIETSWAP_OBSERVE__AUDIT_FILE", str(tmp_path / "audit.jsonl"))
    done = CliRunner().invoke(command, ["serve", "--check"])
    assert done.exit_code == 2
    assert "observe.audit_file: " in done.stderr
