"""A service of a test's own beside the sandbox: own settings, own database, own log."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx

from quietswap.sandbox.ports import free_port
from tests import loopback
from tests.e2e.conftest import Town
from tests.forked import Forked, without_settings
from tests.keys import new_key
from tests.waiting import WITHIN_S, wait_until


@dataclass
class Served:
    """`town` is the sandbox seen through this service; `log` is what the service wrote."""

    server: Forked | subprocess.Popen[bytes]
    town: Town
    key: str
    log: Path

    @property
    def url(self) -> str:
        return str(self.town.api.base_url)

    def until_it_answers(self) -> None:
        """Wait until a worker listens."""
        _until_it_answers(self.server, self.town.api, self.log)

    def stop(self) -> None:
        """Ask it to end; it must end well."""
        self.server.send_signal(signal.SIGTERM)
        assert self.server.wait(WITHIN_S) == 0

    def kill(self) -> None:
        """End it and its workers as a power cut would: no handler runs."""
        os.killpg(self.server.pid, signal.SIGKILL)
        self.server.wait()

    def lines(self) -> list[dict[str, object]]:
        """Return the log as its JSON objects."""
        text = self.log.read_text("utf-8")
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


@contextmanager
def serving(
    town: Town, folder: Path, *options: str, port: int | None = None, **settings: str
) -> Iterator[Served]:
    """Run `quietswap serve` on the sandbox for the length of a `with` block.

    It listens on `port`, by default a free one. `settings` override the sandbox's file:
    `OBSERVE__OTLP_ENDPOINT="..."`. OTEL_ variables and TMPDIR reach the service as they are. An
    empty one is not set at all.
    """
    clean = without_settings()
    plain = {n: t for n, t in settings.items() if n == "TMPDIR" or n.startswith("OTEL_")}
    named = {f"QUIETSWAP_{n}": t for n, t in settings.items() if n not in plain} | plain
    own = {
        "QUIETSWAP_SETTINGS": town.facts["settingsFile"],
        "QUIETSWAP_STORAGE__URL": f"sqlite:///{folder / 'own.sqlite3'}",
    }
    variables = {name: text for name, text in (clean | own | named).items() if text}
    key = new_key(variables, "own")
    port, log = port or free_port(), folder / "own.log"
    with log.open("wb") as written:
        words = ["serve", "--port", str(port), *options]
        server = _started(words, variables, written.fileno())
    try:
        headers = {"X-API-Key": key}
        url = f"http://127.0.0.1:{port}"
        with loopback.Client(base_url=url, headers=headers, timeout=WITHIN_S) as api:
            _until_it_answers(server, api, log)
            yield Served(server, replace(town, api=api), key, log)
    finally:
        if server.poll() is None:
            server.terminate()
            server.wait(WITHIN_S)


def _started(
    words: list[str], variables: dict[str, str], log: int
) -> Forked | subprocess.Popen[bytes]:
    """Start the command in a session of its own; several workers need a new interpreter."""
    if "--workers" not in words and "QUIETSWAP_SERVER__WORKERS" not in variables:
        return Forked(words, variables, stdout=log, stderr=log, new_session=True)
    program = [sys.executable, "-m", "quietswap", *words]
    return subprocess.Popen(program, env=variables, stdout=log, stderr=log, start_new_session=True)


def _until_it_answers(
    server: Forked | subprocess.Popen[bytes], api: httpx.Client, log: Path
) -> None:
    def answers() -> bool:
        assert server.poll() is None, log.read_text("utf-8")
        try:
            return api.get("/healthz").status_code == 200
        except httpx.TransportError:
            return False

    wait_until(answers, "the service does not answer")
