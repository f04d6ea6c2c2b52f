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


def test_help_lists_every_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "quietswap", "--help"], capture_output=True, text=True, check=True
    )
    for name in ("demo", "sandbox", "serve", "quote", "swap", "wrap", "unwrap", "history"):
        assert f"\n  {name} " in done.stdout
