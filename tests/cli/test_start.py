"""The command starts quickly: nothing heavy is imported to print help."""

import subprocess
import sys

import pytest

HEAVY = ("rich", "eth_account", "pyreqwest", "msgspec", "granian", "asyncio", "quietswap.client")
SCRIPT = """
import sys
from quietswap.cli import command
try:
    command(sys.argv[1:], prog_name="quietswap")
except SystemExit as end:
    assert end.code == 0, end.code
print(*sorted(sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, check=True
    )
    assert not set(HEAVY) & set(done.stderr.split())


def test_a_sandbox_with_a_rate_store_wants_a_database_too() -> None:
    command = [sys.executable, "-m", "quietswap", "sandbox", "--redis-url", "redis://x"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--redis-url goes with --storage-url" in done.stderr


def test_a_sandbox_says_why_its_database_cannot_be_used() -> None:
    command = [sys.executable, "-m", "quietswap", "sandbox", "--storage-url", "mysql://x"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "a database URL is sqlite:///" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_lists_every_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "quietswap", "--help"], capture_output=True, text=True, check=True
    )
    for name in ("demo", "sandbox", "serve", "quote", "swap", "wrap", "unwrap", "history"):
        assert f"\n  {name} " in done.stdout


@pytest.mark.parametrize("name", ["quote", "swap", "wrap", "balances", "history"])
def test_help_of_a_client_command_imports_nothing_heavy(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, name, "--help"], capture_output=True, text=True, check=True
    )
    assert not set(HEAVY) & set(done.stderr.split())
