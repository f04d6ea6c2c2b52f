"""`make check` looks for known vulnerabilities, fails on one, and says when it could not look."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tools.audit import NotAnswered, Verdict, judged, pinned

from tests.architecture.test_repository import ROOT

NOWHERE = "http://127.0.0.1:9"
HOLE = {
    "id": "PYSEC-2026-1",
    "affected": [
        {
            "package": {"name": "click", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99.1"}]}],
        }
    ],
}
NPM_HOLE = {
    "solc": [
        {
            "id": 1, "url": "https://example.org/1", "title": "hole", "severity": "high",
            "vulnerable_versions": "*", "cwe": [], "cvss": {"score": 0, "vectorString": None},
        }
    ]
}  # fmt: skip


@contextmanager
def advisories(python: dict[str, object], npm: dict[str, object]) -> Iterator[str]:
    """Serve OSV's and npm's advisories; the packages in `python` have those holes."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/osv":
                hole = python.get(json.loads(sent)["package"]["name"])
                answer: object = {"vulns": [hole]} if hole else {}
            else:
                answer = npm
            self._answer(200, answer)

        def do_GET(self) -> None:
            self._answer(404, {})

        def _answer(self, status: int, value: object) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def audit(service: str, *options: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "npm_config_registry": service, "npm_config_cache": os.devnull,
        "npm_config_fetch_retries": "0",
        "HTTPS_PROXY": NOWHERE, "NO_PROXY": "127.0.0.1",
    }  # fmt: skip
    command = [sys.executable, "tools/audit.py", "--osv-url", f"{service}/osv", *options]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_it_passes_where_nothing_is_known() -> None:
    with advisories({}, {}) as service:
        done = audit(service, "--services", "osv")
    assert done.returncode == 0, done.stdout + done.stderr
    python, npm = done.stdout.splitlines()
    assert python.startswith("audited ")
    assert python.endswith("Python packages (osv): no known vulnerability")
    assert npm.endswith("npm packages: no known vulnerability")


def test_a_known_vulnerability_fails() -> None:
    with advisories({"click": HOLE}, {}) as service:
        done = audit(service, "--services", "osv")
    assert done.returncode == 1
    assert "PYSEC-2026-1 (fixed in 99.1)" in done.stdout


def test_a_known_vulnerability_of_an_npm_package_fails() -> None:
    with advisories({}, NPM_HOLE) as service:
        done = audit(service, "--services", "osv")
    assert done.returncode == 1
    assert "solc: high" in done.stdout


@pytest.mark.parametrize(("options", "status"), [([], 0), (["--required"], 1)])
def test_silence_is_said_plainly(options: list[str], status: int) -> None:
    done = audit(NOWHERE, *options)
    assert done.returncode == status
    python, npm = done.stdout.splitlines()
    assert python.startswith(
        "NOT AUDITED: Python packages. No advisory service answers here: pypi:"
    )
    assert "osv: " in python
    assert npm.startswith("NOT AUDITED: npm packages.")


def test_a_mirror_without_advisories_is_no_verdict() -> None:
    skipped = {"name": "click", "skip_reason": "Dependency not found on PyPI"}
    with pytest.raises(NotAnswered, match="knows none"):
        judged({"dependencies": [skipped]})
    clean = {"name": "rich", "version": "15.0.0", "vulns": []}
    assert judged({"dependencies": [skipped, clean]}) == Verdict(1, [], ["click"])


def test_every_pinned_package_is_looked_at() -> None:
    file = ROOT / "requirements" / "runtime.txt"
    hashed = [line for line in file.read_text("utf-8").splitlines() if line.endswith(" \\")]
    names = {line.partition("==")[0] for line in hashed if "==" in line}
    assert {line.partition("==")[0] for line in pinned(file)} == names
    assert {"click", "granian", "msgspec"} <= names


def test_check_runs_it() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    recipe = makefile.partition("\ncheck: ")[2].partition("\n\n")[0]
    assert "tools/audit.py" in recipe
