"""The audit file says in words why an action failed."""

import contextlib
import errno
import json
import os
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from quietswap.cli import command
from quietswap.cli.options.operator import OperatorContext
from quietswap.service.operator import audit_file
from quietswap.service.operator.audit_file import AuditFile
from tests.cli.operator_commands import Run


def test_a_failed_action_has_its_reason(tmp_path: Path) -> None:
    file, log = tmp_path / "own.toml", tmp_path / "audit.jsonl"
    file.write_text(f'[observe]\naudit_file = "{log}"\n', "utf-8")
    said = "there is no live key key_1"
    with (
        pytest.raises(click.ClickException),
        OperatorContext(file).recorded("key_revoked", key="key_1"),
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
    AuditFile(str(log)).write("key_revoked", key="key_1")
    cut, whole = log.read_text("utf-8").splitlines()
    assert (cut, json.loads(whole)["key"]) == ('{"event": "ke', "key_1")


def test_a_file_that_may_only_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def only_to_write(file: str, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_RDWR:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), file)
        return opened(file, flags, mode)

    log = tmp_path / "audit.jsonl"
    monkeypatch.setattr(audit_file.os, "open", only_to_write)
    for key in ("key_1", "key_2"):
        AuditFile(str(log)).check()
        AuditFile(str(log)).write("key_revoked", key=key)
    monkeypatch.undo()
    lines = map(json.loads, log.read_text("utf-8").splitlines())
    assert [line["key"] for line in lines] == ["key_1", "key_2"]


def test_a_pipe_takes_the_lines(tmp_path: Path) -> None:
    pipe = tmp_path / "audit.pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    AuditFile(str(pipe)).check()
    AuditFile(str(pipe)).write("key_revoked", key="key_1")
    with os.fdopen(reader, "rb") as lines:
        assert json.loads(lines.readline())["key"] == "key_1"


def test_a_pipe_that_nobody_reads_is_no_record(
    tmp_path: Path, operate: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "audit.pipe"
    os.mkfifo(pipe)
    monkeypatch.setenv("QUIETSWAP_OBSERVE__AUDIT_FILE", str(pipe))
    done = operate("keys", "create", code=1)
    assert "No such device or address; nothing was done" in done.stderr
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x")  # a reader that is stuck
    done = operate("keys", "create")
    assert "careful: this is not recorded in the audit file" in done.stderr
    for end in (reader, writer):
        os.close(end)


def test_a_file_system_that_does_not_know_its_size_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = os.statvfs(tmp_path)
    unknown = os.statvfs_result((*found[:2], 0, 0, 0, *found[5:]))
    monkeypatch.setattr(audit_file.os, "statvfs", lambda _path: unknown)
    assert audit_file.has_room(tmp_path)


def test_a_full_disk_is_seen_by_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_file, "_ROOM", 1 << 60)
    monkeypatch.setenv("QUIETSWAP_NODE__URLS", "http://127.0.0.1:9")
    monkeypatch.setenv("QUIETSWAP_OBSERVE__AUDIT_FILE", str(tmp_path / "audit.jsonl"))
    done = CliRunner().invoke(command, ["serve", "--check"])
    assert done.exit_code == 2
    assert "observe.audit_file: " in done.stderr
