"""Running this project's commands as processes against the live sandbox."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

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


def quietswap(*words: str) -> list[str]:
    """Return the command line of this project."""
    return [sys.executable, "-m", "quietswap", *words]
