"""Make a release: version, changelog, commit and tag; `make release` also builds `dist/`.

Nothing is uploaded or pushed. The version stands in every file of `VERSION_AT`; the changelog's
section "Unreleased" becomes the section of the release. Between two releases the version is that
of the next one with `.dev0`: `--ahead` sets it after a release.
"""

import argparse
import datetime
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSION_AT = {
    "pyproject.toml": ('version = "{python}"',),
    "src/quietswap/__init__.py": ('__version__ = "{python}"',),
    "deploy/kubernetes.yaml": ("image: quietswap:{python}",),
    "deploy/chart/Chart.yaml": ("version: {semver}", 'appVersion: "{python}"'),
    "clients/typescript/package.json": ('"version": "{semver}"',),
    "clients/typescript/package-lock.json": (
        '"name": "quietswap",\n  "version": "{semver}"',
        '"name": "quietswap",\n      "version": "{semver}"',
    ),
}
"""Each file of the repository with the version, and the texts around it."""
_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
_UNRELEASED = "## [Unreleased]\n"


def main() -> None:
    """Release the version of the command line. Exits with a message when something is wrong."""
    parser = argparse.ArgumentParser(description="Make a release: version, changelog, commit, tag.")
    parser.add_argument("version", nargs="?", default="", help="MAJOR.MINOR.PATCH")
    parser.add_argument("--ahead", action="store_true", help="say: ahead of the release")
    parser.add_argument("--date", default=datetime.datetime.now(datetime.UTC).date().isoformat())
    given = parser.parse_args()
    if _git("status", "--porcelain"):
        sys.exit("the working tree has changes: commit them first")
    if given.ahead:
        print(f"the version is {_move_ahead()} now, until the next release")
    else:
        _release(given.version, given.date)


def _release(version: str, date: str) -> None:
    if not _VERSION.fullmatch(version):
        sys.exit(f"VERSION={version}: a version is MAJOR.MINOR.PATCH, as in 1.2.3")
    present = _present()
    lowest = (
        _numbers(present)
        if is_ahead(present)
        else (*_numbers(present)[:2], _numbers(present)[2] + 1)
    )
    if _numbers(version) < lowest:
        sys.exit(f"VERSION={version}: it is not above the present version, {present}")
    if _git("tag", "--list", f"v{version}"):
        sys.exit(f"the tag v{version} exists already")
    log = ROOT / "CHANGELOG.md"
    changed = {log: released(log.read_text("utf-8"), version, date)}
    _write(changed | _with_version(present, version))
    _git("commit", "--quiet", "--all", "--message", f"release: {version}")
    _git("tag", "--annotate", f"v{version}", "--message", f"quietswap {version}")
    print(f"released {version} here; to publish: git push --follow-tags, and upload dist/")


def _move_ahead() -> str:
    """Commit the version of the next minor release with `.dev0`, and return it."""
    present = _present()
    if is_ahead(present):
        sys.exit(f"the version is ahead of its release already: {present}")
    major, minor, _ = _numbers(present)
    ahead = f"{major}.{minor + 1}.0.dev0"
    _write(_with_version(present, ahead))
    _git("commit", "--quiet", "--all", "--message", f"version: {ahead}")
    return ahead


def is_ahead(version: str) -> bool:
    """Return whether a version is no release."""
    return ".dev" in version


def spelt(version: str) -> dict[str, str]:
    """Return a version as Python and as semantic versioning spell it."""
    return {"python": version, "semver": version.replace(".dev", "-dev.")}


def released(changelog: str, version: str, date: str) -> str:
    """Return the changelog with its section "Unreleased" as the release, and an empty new one.

    Exits if that section is missing or empty.
    """
    before, found, after = changelog.partition(_UNRELEASED)
    if not found or not after.partition("\n## ")[0].strip():
        sys.exit("CHANGELOG.md: nothing stands under [Unreleased]")
    return f"{before}{_UNRELEASED}\n## [{version}] - {date}\n{after}"


def _present() -> str:
    found = re.search(r'^version = "([^"]+)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.M)
    assert found
    return found[1]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.partition(".dev")[0].split("."))


def _with_version(old: str, new: str) -> dict[Path, str]:
    """Return each file of `VERSION_AT` with its new text. Exits if one lacks the old version."""
    return {ROOT / name: _replaced(name, texts, old, new) for name, texts in VERSION_AT.items()}


def _replaced(name: str, patterns: Sequence[str], old: str, new: str) -> str:
    text = (ROOT / name).read_text("utf-8")
    for pattern in patterns:
        before = pattern.format(**spelt(old))
        if before not in text:
            sys.exit(f"{name}: {before} does not stand there")
        text = text.replace(before, pattern.format(**spelt(new)))
    return text


def _write(changed: dict[Path, str]) -> None:
    for path, text in changed.items():
        path.write_text(text, "utf-8")


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


if __name__ == "__main__":
    main()
