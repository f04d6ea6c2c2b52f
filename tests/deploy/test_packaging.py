"""The wheel holds everything, its npm packages are those of the clone, and their installation."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from quietswap.cli.commands.sandbox import sandbox
from quietswap.sandbox import npm as npm_packages
from quietswap.service.storage import database_urls
from tests.deploy.files import ROOT

SHIPPED = ROOT / "src" / "quietswap" / "sandbox" / "npm_packages"


def _json(path: Path) -> Any:
    return msgspec.json.decode(path.read_bytes())


def test_an_installed_sandbox_has_the_packages_of_the_clone() -> None:
    wanted = _json(SHIPPED / "package.json")["dependencies"]
    assert wanted == _json(ROOT / "package.json")["dependencies"]
    clone = _json(ROOT / "package-lock.json")["packages"]
    for name, package in _json(SHIPPED / "package-lock.json")["packages"].items():
        assert "resolved" not in package
        if name:
            assert package == {k: v for k, v in clone[name].items() if k != "dev"}, name


def test_the_wheel_holds_everything_but_tests(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(
        ["git", "ls-files", "src/quietswap"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    assert {name.removeprefix("src/") for name in tracked} <= held
    assert not any("node_modules" in name or name.startswith("tests/") for name in held)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty PATH for stand-ins of node and npm, and an empty cache of the user."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setattr(npm_packages.shutil, "which", lambda name: _which(folder, name))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    npm_packages.install_folder.cache_clear()
    yield folder
    npm_packages.install_folder.cache_clear()


def _which(folder: Path, name: str) -> str | None:
    return str(folder / name) if (folder / name).is_file() else None


def _put(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


WORKS = """
for package in a b c; do
  mkdir -p node_modules/$package
  echo "npm http fetch GET 200 https://registry.example/$package.tgz 1ms" >&2
done
"""


def _installed() -> Any:
    return CliRunner().invoke(sandbox, ["--install"])


def test_the_packages_are_installed_once(programs: Path, tmp_path: Path) -> None:
    _put(programs, "node", "echo v20.1.0")
    _put(programs, "npm", WORKS)
    first = _installed()
    assert first.exit_code == 0, first.output
    folder = npm_packages.install_folder()
    assert folder.parent == tmp_path / "cache" / "quietswap"
    assert str(folder) in first.output
    assert sorted(path.name for path in (folder / "node_modules").iterdir()) == ["a", "b", "c"]
    assert (folder / "package-lock.json").read_bytes() == (
        SHIPPED / "package-lock.json"
    ).read_bytes()
    _put(programs, "npm", "exit 7")
    again = _installed()
    assert (again.exit_code, "installed already" in again.output) == (0, True)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


@pytest.mark.parametrize(
    ("node", "npm", "said"),
    [
        (None, WORKS, "Node 20 or newer with npm is not on the PATH"),
        ("echo v20.1.0", None, "Node 20 or newer with npm is not on the PATH"),
        ("echo v18.20.0", WORKS, "Node v18.20.0 is too old"),
        ("exit 1", WORKS, "Node of unknown version is too old"),
        ("echo v22.0.0", "echo 'npm error code ENOTFOUND' >&2; exit 3",
         "npm failed with exit code 3: code ENOTFOUND"),
    ],
)  # fmt: skip
def test_a_failure_says_what_is_missing_and_leaves_nothing(
    programs: Path, node: str | None, npm: str | None, said: str
) -> None:
    for name, script in (("node", node), ("npm", npm)):
        if script:
            _put(programs, name, script)
    done = _installed()
    assert done.exit_code == 1
    assert said in done.output
    assert "Traceback" not in done.output
    parent = npm_packages.install_folder().parent
    assert not parent.exists() or list(parent.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_named(programs: Path, tmp_path: Path) -> None:
    _put(programs, "node", "echo v20.1.0")
    _put(programs, "npm", WORKS)
    (tmp_path / "cache").write_text("a file")
    done = _installed()
    assert done.exit_code == 1
    assert "cannot be written" in done.output


def test_a_relative_cache_home_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    npm_packages.install_folder.cache_clear()
    assert npm_packages.install_folder().parent == tmp_path / ".cache" / "quietswap"
    npm_packages.install_folder.cache_clear()


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_urls, "find_spec", lambda _: None)
    with pytest.raises(database_urls.BadDatabaseUrl, match="again with the extra 'postgres'"):
        database_urls.is_embedded("postgresql://u@127.0.0.1/d")
    with pytest.raises(database_urls.BadDatabaseUrl, match="again with the extra 'redis'"):
        database_urls.check_redis_url("redis://127.0.0.1")
    assert database_urls.is_embedded("sqlite:///orders.sqlite3")
    check_of_wheel = (ROOT / "tools" / "check_wheel.sh").read_text("utf-8")
    for extra in ("postgres", "redis", "otel"):
        assert f"must_say \"the extra '{extra}'\"" in check_of_wheel
