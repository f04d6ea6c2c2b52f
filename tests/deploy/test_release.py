"""A release changes every place of the version, the changelog, and makes commit and tag."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import quietswap
from tests.deploy.files import ROOT


def _run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The files that a release touches, in a repository of their own."""
    from tools.release import VERSION_AT

    for name in (*VERSION_AT, "CHANGELOG.md", "tools/release.py"):
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    log = tmp_path / "CHANGELOG.md"
    head, mark, tail = log.read_text("utf-8").partition("## [Unreleased]\n")
    log.write_text(f"{head}{mark}\n### Added\n- One thing.\n{tail}", "utf-8")
    for command in (
        ("init", "--quiet"), ("config", "user.email", "a@b.example"), ("config", "user.name", "a"),
        ("add", "-A"), ("commit", "--quiet", "-m", "begin"),
    ):  # fmt: skip
        assert _run(tmp_path, "git", *command).returncode == 0
    return tmp_path


def _release(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return _run(project, sys.executable, "tools/release.py", *words, "--date", "2031-01-02")


def test_a_release_is_a_commit_and_a_tag(project: Path) -> None:
    done = _release(project, "90.1.0")
    assert done.returncode == 0, done.stderr
    assert _run(project, "git", "log", "-1", "--format=%s").stdout == "release: 90.1.0\n"
    assert _run(project, "git", "describe").stdout == "v90.1.0\n"
    assert 'version = "90.1.0"' in (project / "pyproject.toml").read_text("utf-8")
    assert '"90.1.0"' in (project / "src/quietswap/__init__.py").read_text("utf-8")
    assert "quietswap:90.1.0" in (project / "deploy/kubernetes.yaml").read_text("utf-8")
    lock = json.loads((project / "clients/typescript/package-lock.json").read_text("utf-8"))
    assert (lock["version"], lock["packages"][""]["version"]) == ("90.1.0", "90.1.0")
    log = (project / "CHANGELOG.md").read_text("utf-8")
    assert "## [Unreleased]\n\n## [90.1.0] - 2031-01-02\n\n### Added\n- One thing.\n" in log
    again = _release(project, "90.1.1")
    assert "nothing stands under [Unreleased]" in again.stderr
    assert _run(project, "git", "status", "--porcelain").stdout == ""
    assert _run(project, "git", "log", "-1", "--format=%s").stdout == "release: 90.1.0\n"


@pytest.mark.parametrize("version", ["v1.2.3", "1.2", "01.2.3", "1.2.3rc1", ""])
def test_what_is_no_version_is_refused(project: Path, version: str) -> None:
    done = _release(project, version)
    assert (done.returncode, "MAJOR.MINOR.PATCH" in done.stderr) == (1, True)


def test_after_a_release_the_version_says_that_it_is_ahead(project: Path) -> None:
    assert "is ahead of its release already" in _release(project, "--ahead").stderr
    assert _release(project, "90.1.0").returncode == 0
    assert _release(project, "--ahead").returncode == 0
    assert '"90.2.0.dev0"' in (project / "src/quietswap/__init__.py").read_text("utf-8")
    package = json.loads((project / "clients/typescript/package.json").read_text("utf-8"))
    assert package["version"] == "90.2.0-dev.0"
    assert _run(project, "git", "describe").stdout.startswith("v90.1.0-1-g")
    log = project / "CHANGELOG.md"
    log.write_text(log.read_text("utf-8").replace("]\n", "]\n- Two.\n", 1), "utf-8")
    assert _run(project, "git", "commit", "-qam", "next").returncode == 0
    for version, code in (("90.1.9", 1), ("90.2.0", 0)):
        assert _release(project, version).returncode == code


def test_an_older_version_is_refused(project: Path) -> None:
    assert "not above the present version" in _release(project, "0.0.9").stderr


def test_changes_and_an_existing_tag_are_refused(project: Path) -> None:
    _run(project, "git", "tag", "v91.0.0")
    assert "v91.0.0 exists already" in _release(project, "91.0.0").stderr
    (project / "CHANGELOG.md").write_text("other", "utf-8")
    assert "commit them first" in _release(project, "92.0.0").stderr
    assert _run(project, "git", "tag").stdout == "v91.0.0\n"


def test_the_version_is_the_same_everywhere() -> None:
    from tools.release import VERSION_AT, spelt

    for name, patterns in VERSION_AT.items():
        for pattern in patterns:
            text = pattern.format(**spelt(quietswap.__version__))
            assert text in (ROOT / name).read_text("utf-8"), name


def test_a_version_of_a_release_is_that_of_its_commit_only() -> None:
    """A build says whether it is the release that it is named after."""
    version = quietswap.__version__
    subject = _run(ROOT, "git", "log", "-1", "--format=%s").stdout.strip()
    assert (".dev" in version) is (subject != f"release: {version}")
