"""Look for known vulnerabilities in what is pinned, and say plainly what could not be looked up.

Ends with 1 when there is a known vulnerability. An advisory service that does not answer is no
reason to fail: it says NOT AUDITED and ends with 0, or with 1 when `--required` is given.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SERVICES = ("pypi", "osv")
_PROBE = 3
"""Packages asked for first: a mirror that knows none of them has no advisories for the rest."""


class NotAnswered(Exception):
    """A service gave no verdict; the text says why."""


@dataclass(frozen=True)
class Verdict:
    """What a service said: how many packages it looked at, and what it found."""

    looked_at: int
    found: Sequence[str]
    unknown: Sequence[str] = ()


def pinned(file: Path) -> list[str]:
    """Return the requirements of a file, without their hashes."""
    lines = file.read_text("utf-8").splitlines()
    return [line.rstrip(" \\") for line in lines if "==" in line and not line.startswith(" ")]


def pip_audit(requirements: Sequence[str], *options: str) -> dict[str, Any]:
    """Return pip-audit's report. Raises NotAnswered when its service does not answer."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "requirements.txt")
        file.write_text("\n".join(requirements), "utf-8")
        command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--no-deps"]
        command += ["--progress-spinner", "off", "--format", "json", "-r", str(file)]
        done = subprocess.run(
            [*command, "--timeout", "10", *options], capture_output=True, text=True, check=False
        )
        try:
            report: dict[str, Any] = json.loads(done.stdout)
        except ValueError:  # silence, unless it cannot even read what it is given
            subprocess.run([*command, "--dry-run"], check=True, capture_output=True)
            raise NotAnswered(_last(done.stderr)) from None
    return report


def _last(said: str) -> str:
    *_, last = said.strip().splitlines() or ["no answer"]
    return textwrap.shorten(last.partition("(Caused by")[0], 100)


def judged(report: dict[str, Any]) -> Verdict:
    """Return what a report of pip-audit says. Raises NotAnswered when it is about nothing."""
    packages = report["dependencies"]
    unknown = [package["name"] for package in packages if "skip_reason" in package]
    if len(unknown) == len(packages):
        raise NotAnswered("it knows none of the packages")
    found = [
        f"{package['name']} {package['version']}: {vulnerability['id']}"
        f" (fixed in {', '.join(vulnerability['fix_versions']) or 'no version'})"
        for package in packages
        for vulnerability in package.get("vulns", ())
    ]
    return Verdict(len(packages) - len(unknown), found, unknown)


def python_packages(service: str, *options: str) -> Verdict:
    """Audit the runtime's packages. Raises NotAnswered."""
    requirements = pinned(ROOT / "requirements" / "runtime.txt")
    chosen = ("--vulnerability-service", service, *options)
    judged(pip_audit(requirements[:_PROBE], *chosen))
    return judged(pip_audit(requirements, *chosen))


def npm_packages() -> Verdict:
    """Audit the sandbox's and the examples' packages. Raises NotAnswered."""
    done = subprocess.run(
        ["npm", "audit", "--json"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    try:
        report = json.loads(done.stdout)
        counts = report["metadata"]
    except (ValueError, KeyError):
        said = re.findall(r"npm warn audit (.+)", done.stderr)
        raise NotAnswered(_last(said[0] if said else done.stderr)) from None
    found = [f"{name}: {entry['severity']}" for name, entry in report["vulnerabilities"].items()]
    return Verdict(counts["dependencies"]["total"], found)


def verdicts(
    services: Sequence[str], options: Sequence[str]
) -> Iterator[tuple[str, Verdict | str]]:
    """Yield what was audited, and the verdict or the reason why there is none."""
    silence = []
    for service in services:
        try:
            yield f"Python packages ({service})", python_packages(service, *options)
            break
        except NotAnswered as error:
            silence.append(f"{service}: {error}")
    else:
        yield "Python packages", "; ".join(silence)
    try:
        yield "npm packages", npm_packages()
    except NotAnswered as error:
        yield "npm packages", str(error)


def main() -> int:
    """Audit everything; 1 if anything is known to be vulnerable."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--required", action="store_true", help="fail where nothing answered")
    parser.add_argument("--services", nargs="+", choices=SERVICES, default=SERVICES)
    parser.add_argument("--osv-url", help="another address of the OSV service")
    given = parser.parse_args()
    failed = False
    options = ["--osv-url", given.osv_url] if given.osv_url else []
    for what, verdict in verdicts(given.services, options):
        if isinstance(verdict, str):
            print(f"NOT AUDITED: {what}. No advisory service answers here: {verdict}")
            failed |= given.required
            continue
        rest = f"; unknown there: {', '.join(verdict.unknown)}" if verdict.unknown else ""
        known = "\n  ".join(verdict.found) or "no known vulnerability"
        print(f"audited {verdict.looked_at} {what}: {known}{rest}")
        failed |= bool(verdict.found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
