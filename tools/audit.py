"""Look for known vulnerabilities in what is pinned, and say plainly what could not be looked up.

Ends with 1 when there is a known vulnerability. An advisory service that does not answer is no
reason to fail: then it says NOT AUDITED.
"""

import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SERVICES = ("pypi", "osv")


class NotAnsweredError(Exception):
    """A service gave no verdict; the text says why."""


def python_packages(service: str) -> tuple[int, list[str]]:
    """Return how many packages of the runtime a service knows, and what is known against them."""
    text = (ROOT / "requirements" / "runtime.txt").read_text("utf-8")
    pinned = [line.rstrip(" \\") for line in text.splitlines() if line[:1].isalnum()]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(pinned))
        file.flush()
        words = ("-m", "pip_audit", "--disable-pip", "--no-deps", "--progress-spinner", "off")
        report = _report(sys.executable, *words, "-f", "json", "-s", service, "-r", file.name)
    known = [package for package in report["dependencies"] if "skip_reason" not in package]
    if len(known) < len(pinned) / 2:  # a mirror without advisories
        raise NotAnsweredError(f"{service} knows {len(known)} of {len(pinned)} packages")
    return len(known), [
        f"{package['name']} {package['version']}: {hole['id']}, fixed in {hole['fix_versions']}"
        for package in known
        for hole in package["vulns"]
    ]


def npm_packages() -> tuple[int, list[str]]:
    """Return the number of npm packages, and what is known against them."""
    report = _report("npm", "audit", "--json")
    if "metadata" not in report:
        raise NotAnsweredError(f"npm: {report.get('message', 'no report')}")
    holes = report["vulnerabilities"].items()
    found = [f"{name}: {entry['severity']}" for name, entry in holes]
    return report["metadata"]["dependencies"]["total"], found


def _report(*command: str) -> Any:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        lines = done.stderr.strip().splitlines() or ["no answer"]
        raise NotAnsweredError(lines[-1][:100]) from None


def main() -> int:
    """Audit everything; 1 if anything is known to be vulnerable."""
    failed = False
    parts = {
        "Python packages": [partial(python_packages, service) for service in SERVICES],
        "npm packages": [npm_packages],
    }
    for what, ways in parts.items():
        silence = []
        for way in ways:
            try:
                count, holes = way()
            except NotAnsweredError as error:
                silence.append(str(error))
                continue
            print("\n  ".join([f"audited {count} {what}", *(holes or ["no known vulnerability"])]))
            failed |= bool(holes)
            break
        else:
            print(f"NOT AUDITED: {what}. No advisory service answers here: {'; '.join(silence)}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
