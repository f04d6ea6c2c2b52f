"""Makes a release: version, changelog, commit and tag. `make release VERSION=1.2.3` also builds.

Nothing is uploaded or pushed. The version stands in every file of `VERSION_AT`; the changelog's
section "Unreleased" becomes the section of the release.
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
    "pyproject.toml": ('version = "{}"',),
    "src/quietswap/__init__.py": ('__version__ = "{}"',),
    "deploy/kubernetes.yaml": ("image: quietswap:{}",),
    "deploy/chart/Chart.yaml": ("version: {}", 'appVersion: "{}"'),
    "clients/typescript/package.json": ('"version": "{}"',),
    "clients/typescript/package-lock.json": (
        '"name": "quietswap",\n  "version": "{}"',
        '"name": "quietswap",\n      "version": "{}"',
    ),
}
"""Each file of the repository with the version, and the texts around it."""
_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
_UNRELEASED = "## [Unreleased]\n"


def main() -> None:
    """Release the version of the command line. Exits with a message when something is wrong."""
    parser = argparse.ArgumentParser(description="Make a release: version, changelog, commit, tag.")
    parser.add_argument("version", help="MAJOR.MINOR.PATCH, above the present one")
    parser.add_argument("--date", default=datetime.datetime.now(datetime.UTC).date().isoformat())
    given = parser.parse_args()
    present = _present()
    if not _VERSION.fullmatch(given.version):
        sys.exit(f"VERSION={given.version}: a version is MAJOR.MINOR.PATCH, as in 1.2.3")
    if _numbers(given.version) <= _numbers(present):
        sys.exit(f"VERSION={given.version}: it is not above the present version, {present}")
    if _git("status", "--porcelain"):
        sys.exit("the working tree has changes: commit them first")
    if _git("tag", "--list", f"v{given.version}"):
        sys.exit(f"the tag v{given.version} exists already")
    log = ROOT / "CHANGELOG.md"
    changed = {log: released(log.read_text("utf-8"), given.version, given.date)}
    for name, patterns in VERSION_AT.items():
        changed[ROOT / name] = _replaced(name, patterns, present, given.version)
    for path, text in changed.items():  # only when nothing can be wrong any more
        path.write_text(text, "utf-8")
    _git("commit", "--quiet", "--all", "--message", f"release: {given.version}")
    _git("tag", "--annotate", f"v{given.version}", "--message", f"quietswap {given.version}")
    print(f"released {given.version} here; to publish: git push --follow-tags, and upload dist/")


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
    return tuple(int(part) for part in version.split("."))


def _replaced(name: str, patterns: Sequence[str], old: str, new: str) -> str:
    text = (ROOT / name).read_text("utf-8")
    for pattern in patterns:
        if pattern.format(old) not in text:
            sys.exit(f"{name}: {pattern.format(old)} does not stand there")
        text = text.replace(pattern.format(old), pattern.format(new))
    return text


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


if __name__ == "__main__":
    main()
