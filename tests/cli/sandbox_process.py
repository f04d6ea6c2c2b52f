"""Running this project's commands as processes against the live sandbox."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from quietswap.cli.demo_sandbox import SandboxInfo
from tests import forked
from tests.waiting import LONG_S

ROOT = Path(__file__).parents[2]


def environment(town: SandboxInfo, wallet: int) -> dict[str, str]:
    """Return the environment of a client with one of the sandbox's wallets."""
    return forked.without_settings() | {
        "QUIETSWAP_URL": town.base_url,
        "QUIETSWAP_API_KEY": town.api_key,
        "QUIETSWAP_RPC_URL": town.rpc_url,
        "QUIETSWAP_PRIVATE_KEY": town.wallets[wallet].private_key,
        "POLL_SECONDS": "0.5",
        "PYTHON": sys.executable,
        "PYTHONUNBUFFERED": "1",
    }


def run(
    words: Sequence[str], env: Mapping[str, str], typed: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run a command in the project's folder to its end, `typed` on its standard input."""
    return subprocess.run(
        words, cwd=ROOT, env=env, input=typed, capture_output=True, text=True, timeout=LONG_S,
        check=False,
    )  # fmt: skip


def run_command(words: Sequence[str], env: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    """Run `quietswap` with the arguments `words` in the project's folder to its end."""
    return forked.run(words, env, folder=ROOT)


def run_example(
    words: Sequence[str], env: Mapping[str, str], typed: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Do as `run`, without a start of Python for an example in Python."""
    program, *script = words
    if program == sys.executable:
        return forked.run(script, env, typed=typed, folder=ROOT)
    return run(words, env, typed)


class Piped(forked.Forked):
    """`quietswap` in the project's folder, with its output and its errors to read.

    With `joined` the errors are a part of the output.
    """

    def __init__(
        self, words: Sequence[str], env: Mapping[str, str], *, joined: bool = False
    ) -> None:
        reading, writing = os.pipe()
        told, telling = os.pipe()
        errors = writing if joined else telling
        super().__init__(words, env, stdout=writing, stderr=errors, folder=ROOT)
        os.close(writing)
        os.close(telling)
        self.stdout, self.stderr = os.fdopen(reading), os.fdopen(told)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Kill it, unless it has ended."""
        self.send_signal(signal.SIGKILL)
        self.wait()
        self.stdout.close()
        self.stderr.close()

    def communicate(self, timeout: float) -> tuple[str, str]:
        """Return the rest of its output and of its errors, once it has ended."""
        with self.stdout, self.stderr:
            rest = self.stdout.read(), self.stderr.read()
        self.wait(timeout)
        return rest

    @property
    def returncode(self) -> int | None:
        return self.poll()


def quietswap(*words: str) -> list[str]:
    """Return the command line of this project."""
    return [sys.executable, "-m", "quietswap", *words]
