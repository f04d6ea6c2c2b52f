"""The scripts of `deploy/postgresql` with arguments that are mistakes.

`tests/deploy/test_operation.py` runs them as the page does.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import PostgresCluster, postgres_programs
from tests.deploy.files import DEPLOY

SCRIPTS = DEPLOY / "postgresql"
BASES = ("20261128T090000Z", "20261128T100000Z")


def run(script: str, *words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", SCRIPTS / script, *map(str, words)],
        env={**os.environ, **variables}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def backups(tmp_path: Path) -> Path:
    """A folder with two base backups, as far as their names and settings go."""
    for name in BASES:
        base = tmp_path / "back ups" / "base" / name
        base.mkdir(parents=True)
        (base / "postgresql.auto.conf").write_text("work_mem = '4MB'\n", "utf-8")
    return tmp_path / "back ups"


def settings(data: Path) -> list[str]:
    return (data / "postgresql.auto.conf").read_text("utf-8").splitlines()


def test_a_relative_folder_of_backups_is_read_by_the_server_too(
    backups: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL runs the restore_command in its own folder: it would find no log, and start."""
    monkeypatch.chdir(tmp_path)
    assert run("restore.sh", backups.name, "data").returncode == 0
    assert f'restore_command = \'cp "{backups}/wal/%f" "%p"\'' in settings(tmp_path / "data")


@pytest.mark.parametrize(
    ("time", "base", "until"),
    [
        ("", BASES[1], None),
        ("2026-11-28 09:41:00+00", BASES[0], "2026-11-28 09:41:00.000000+00"),
        ("2026-11-28 11:41:00.25+02:00", BASES[0], "2026-11-28 09:41:00.250000+00"),
        ("2026-11-28 11:41:00", BASES[1], "2026-11-28 11:41:00.000000+00"),
    ],
)
def test_the_base_and_the_server_have_one_moment(
    backups: Path, tmp_path: Path, time: str, base: str, until: str | None
) -> None:
    """PostgreSQL reads a time without an offset in the time zone of its settings."""
    done = run("restore.sh", backups, tmp_path / "data", time, TZ="America/New_York")
    assert (done.returncode, done.stdout.strip()) == (0, base)
    targets = [line for line in settings(tmp_path / "data") if "target_time" in line]
    assert targets == ([f"recovery_target_time = '{until}'"] if until else [])


@pytest.mark.parametrize(
    ("time", "reason"),
    [
        ("9999-01-01 00:00:00+00", "has not been yet"),
        ("2026-11-28 08:59:59+00", "no backup in"),
        ("yesterday morning", "invalid date"),
    ],
)
def test_a_moment_that_cannot_be_restored_is_refused_before_anything_is_copied(
    backups: Path, tmp_path: Path, time: str, reason: str
) -> None:
    done = run("restore.sh", backups, tmp_path / "data", time)
    assert (done.returncode, reason in done.stderr) == (1, True), done.stderr
    assert not (tmp_path / "data").exists()


def test_what_is_in_the_folder_of_the_data_is_left_alone(backups: Path, tmp_path: Path) -> None:
    (tmp_path / "PG_VERSION").touch()
    done = run("restore.sh", backups, tmp_path)
    assert (done.returncode, "is not empty" in done.stderr) == (1, True), done.stderr
    assert not (tmp_path / "recovery.signal").exists()


def test_a_copy_that_stops_in_its_middle_is_no_server(backups: Path, tmp_path: Path) -> None:
    """PostgreSQL would start from the part that is there, as after a crash."""
    copier = tmp_path / "bin" / "cp"
    copier.parent.mkdir()
    copier.write_text("#!/bin/sh\necho 'no space left' >&2\nexit 1\n", "utf-8")
    copier.chmod(0o755)
    path = os.pathsep.join((str(copier.parent), os.environ["PATH"]))
    done = run("restore.sh", backups, tmp_path / "data", PATH=path)
    assert (done.returncode, "no space left" in done.stderr) == (1, True), done.stderr
    assert [each.name for each in (tmp_path / "data").iterdir()] == ["recovery.signal"]


def test_folders_that_are_not_there_are_named(tmp_path: Path) -> None:
    for words in ([tmp_path / "nowhere", tmp_path / "data"], [tmp_path], []):
        done = run("restore.sh", *words)
        assert done.returncode != 0
        assert not (tmp_path / "data").exists()
        assert "no backup" not in done.stderr, done.stderr


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresCluster]:
    cluster = PostgresCluster()
    yield cluster
    cluster.close()


@pytest.mark.parametrize("keep", ["0", "-1", "all", "07"])
def test_a_backup_deletes_none_by_a_number_that_is_none(
    backups: Path, tmp_path: Path, server: PostgresCluster, keep: str
) -> None:
    """With 0 the newest backup went, too, after it was made."""
    for name in BASES:
        (backups / "base" / name / "backup_label").touch()
    programs, _ = postgres_programs()
    verifier = tmp_path / "bin" / "pg_verifybackup"
    verifier.parent.mkdir()
    verifier.write_text("#!/bin/sh\n", "utf-8")  # the wheel's crashes
    verifier.chmod(0o755)
    path = os.pathsep.join(map(str, (verifier.parent, programs, os.environ["PATH"])))
    there = {"PATH": path, "PGHOST": str(server.folder), "PGUSER": "postgres"}
    done = run("backup.sh", backups, keep, **there)
    assert (done.returncode, "KEEP is a number" in done.stderr) == (1, True), done.stderr
    assert sorted(each.name for each in (backups / "base").iterdir()) == [*BASES]


def test_an_archive_below_the_data_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "segment").touch()
    done = run("archive_wal.sh", tmp_path / "segment", "segment", "backups")
    assert (done.returncode, "no absolute path" in done.stderr) == (1, True), done.stderr
