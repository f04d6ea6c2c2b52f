"""A service of a test's own beside the sandbox: own settings, own database, own log."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx

from quietswap.sandbox.service import free_port
from tests.e2e.conftest import Town

_START_S = 20.0


@dataclass
class Served:
    """`town` is the sandbox seen through this service; `log` is what the service wrote."""

    server: subprocess.Popen[bytes]
    town: Town
    key: str
    log: Path

    @property
    def url(self) -> str:
        return str(self.town.api.base_url)

    def stop(self) -> float:
        """Ask it to end and return how many seconds that took; it must end well."""
        began = time.monotonic()
        self.server.send_signal(signal.SIGTERM)
        assert self.server.wait(20) == 0
        return time.monotonic() - began

    def kill(self) -> None:
        """End it and its workers as a power cut would: no handler runs."""
        os.killpg(self.server.pid, signal.SIGKILL)
        self.server.wait()

    def lines(self) -> list[dict[str, object]]:
        """Return the log as its JSON objects."""
        text = self.log.read_text("utf-8")
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


@contextmanager
def serving(town: Town, folder: Path, *options: str, **settings: str) -> Iterator[Served]:
    """Run `quietswap serve` on the sandbox for the length of a `with` block.

    `settings` override the sandbox's file: `OBSERVE__OTLP_ENDPOINT="..."`. OTEL_ variables and
    TMPDIR reach the service as they are.
    """
    clean = {name: text for name, text in os.environ.items() if "QUIETSWAP" not in name}
    plain = {n: t for n, t in settings.items() if n == "TMPDIR" or n.startswith("OTEL_")}
    named = {f"QUIETSWAP_{n}": t for n, t in settings.items() if n not in plain} | plain
    own = {
        "QUIETSWAP_SETTINGS": town.facts["settingsFile"],
        "QUIETSWAP_STORAGE__URL": f"sqlite:///{folder / 'own.sqlite3'}",
    }
    variables = clean | own | named
    program = [sys.executable, "-m", "quietswap"]
    create = [*program, "keys", "create", "--json", "--name", "own"]
    done = subprocess.run(create, env=variables, capture_output=True, text=True, check=True)
    key = json.loads(done.stdout)["key"]
    port, log = free_port(), folder / "own.log"
    with log.open("wb") as written:
        command = [*program, "serve", "--port", str(port), *options]
        server = subprocess.Popen(
            command, env=variables, stdout=written, stderr=written, start_new_session=True
        )
    try:
        headers = {"X-API-Key": key}
        url = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=url, headers=headers, timeout=30) as api:
            _until_it_answers(server, api, log)
            yield Served(server, replace(town, api=api), key, log)
    finally:
        if server.poll() is None:
            server.terminate()
            server.wait(20)


def _until_it_answers(server: "subprocess.Popen[bytes]", api: httpx.Client, log: Path) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        assert server.poll() is None, log.read_text("utf-8")
        try:
            if api.get("/healthz").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError("the service does not answer")
