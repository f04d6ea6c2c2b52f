"""The command starts quickly: nothing heavy is imported to print help."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from quietswap.cli import EXAMPLES
from tests.cli.conftest import KEY
from tests.client.fake_chain import ACCOUNT
from tests.deploy.files import parse_command

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


@pytest.mark.parametrize(
    "words",
    [
        ["keys", "list"],
        ["operators", "list"],
        ["clients", "list"],
        ["orders", "list"],
        ["orders", "export"],
    ],
)
def test_commands_that_only_read_the_database_import_neither_log_nor_metrics(
    words: list[str], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, check=True,
        env=os.environ | {"QUIETSWAP_STORAGE__URL": f"sqlite:///{tmp_path}/own.db"},
    )  # fmt: skip
    loaded = set(done.stderr.split())
    assert {"quietswap.service.storage.factory"} <= loaded
    assert not {"structlog", "prometheus_client", "quietswap.service.server.container"} & loaded


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, check=True
    )
    assert not set(HEAVY) & set(done.stderr.split())


SIGNER = """
import sys, threading
from quietswap.cli.options.signing import chosen_signer
signer = chosen_signer(None, None, None, None)
print(signer.wallet, "eth_account" in sys.modules)
signer.load()
for each in threading.enumerate():
    if each is not threading.main_thread():
        each.join()
print("eth_account" in sys.modules)
"""


def test_what_signs_is_imported_while_the_first_answers_are_waited_for() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SIGNER], capture_output=True, text=True, check=True,
        env=os.environ | {"QUIETSWAP_PRIVATE_KEY": KEY},
    )  # fmt: skip
    assert done.stdout.split() == [ACCOUNT.address, "False", "True"]


FIRST_REQUEST = """
import os, socket, sys, threading
from quietswap.cli import command
server = socket.create_server(("127.0.0.1", 0))
def report():
    server.accept()
    os.write(2, " ".join(sys.modules).encode())
    os._exit(0)
threading.Thread(target=report, daemon=True).start()
url = f"http://127.0.0.1:{server.getsockname()[1]}"
os.environ |= {"QUIETSWAP_URL": url, "QUIETSWAP_RPC_URL": url, "QUIETSWAP_API_KEY": "qs_x"}
command(["swap", "1", "WETH", "USDC", "--yes"])
"""
MOST_MODULES = 139
"""139 are what `swap` takes today, with 0.28 s of CPU: five more since reads of a node, codes of
JSON-RPC, units of time and limits of requests have files of their own."""


def test_a_swap_imports_little_before_its_first_request() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_REQUEST], capture_output=True, text=True, check=True,
        env=os.environ | {"QUIETSWAP_PRIVATE_KEY": KEY},
    )  # fmt: skip
    loaded = set(done.stderr.split())
    own = {name for name in loaded if name.partition(".")[0] == "quietswap"}
    assert {"quietswap.cli.flows.swap", "quietswap.client.flows.swap"} <= own
    assert len(own) <= MOST_MODULES
    others = {"quietswap.service", "quietswap.sandbox", "structlog", "jinja2", "mcp", "granian"}
    assert not others & loaded


def test_the_service_starts_without_the_extras(tmp_path: Path) -> None:
    extras = ("asyncpg", "eth_abi", "eth_keys", "opentelemetry", "redis", "rlp")
    without = f"import sys\nsys.modules.update(dict.fromkeys({extras}))\n"
    script = f"{without}from quietswap.service.server import container\n{SCRIPT}"
    subprocess.run(
        [sys.executable, "-c", script, "keys", "list"], check=True,
        env=os.environ | {"QUIETSWAP_STORAGE__URL": f"sqlite:///{tmp_path}/own.db"},
    )  # fmt: skip


def test_a_sandbox_with_a_rate_store_wants_a_database_too() -> None:
    command = [sys.executable, "-m", "quietswap", "sandbox", "--redis-url", "redis://x"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--redis-url goes with --storage-url" in done.stderr


def test_a_sandbox_says_why_its_database_cannot_be_used() -> None:
    command = [sys.executable, "-m", "quietswap", "sandbox", "--storage-url", "mysql://x"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(
        "Error: quietswap migrate: storage.url: a database URL is sqlite:"
    )
    assert done.stderr.count("\n") == 1


def test_a_sandbox_names_the_folder_of_its_variables_that_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "none" / "env"
    command = [sys.executable, "-m", "quietswap", "sandbox", "--env-file", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"there is no folder {file.parent}" in done.stderr


def test_help_lists_every_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "quietswap", "--help"], capture_output=True, text=True, check=True
    )
    for name in ("demo", "sandbox", "serve", "quote", "swap", "wrap", "unwrap", "history"):
        assert f"\n  {name} " in done.stdout


def test_help_groups_the_commands_and_gives_examples_that_exist() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "quietswap", "--help"],
        capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "80"},
    )  # fmt: skip
    titles = re.findall(r"^(\w.*):$", done.stdout, re.M)
    assert titles == [
        "Options",
        "Try it, without a node or a key",
        "Trade",
        "Operate a service",
        "Examples",
    ]
    for example in EXAMPLES:
        assert f"\n  {example} " in done.stdout
        assert parse_command(example.split()[1:])
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("quietswap sw", "swap"),
        ("quietswap orders li", "list"),
        ("quietswap serve --ch", "--check"),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_completes(shell: str, typed: str, offered: str) -> None:
    """The documented lines: the script of each shell, and what it then asks for."""
    variables = {"_QUIETSWAP_COMPLETE": f"{shell}_source"}
    program = str(Path(sys.executable).with_name("quietswap"))
    if shell != "bash":  # for bash click asks which version is installed
        script = subprocess.run(
            [program], env=os.environ | variables, capture_output=True, text=True, check=False
        )
        assert "_QUIETSWAP_COMPLETE" in script.stdout
    last = typed.rsplit(maxsplit=1)[-1]
    asked = {
        "_QUIETSWAP_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": typed,
        "COMP_CWORD": last if shell == "fish" else str(len(typed.split()) - 1),
    }
    done = subprocess.run(
        [program], env=os.environ | asked, capture_output=True, text=True, check=False
    )
    assert offered in re.split(r"[\s,]+", done.stdout)


@pytest.mark.parametrize("name", ["quote", "swap", "wrap", "balances", "history"])
def test_help_of_a_client_command_imports_nothing_heavy(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, name, "--help"], capture_output=True, text=True, check=True
    )
    assert not set(HEAVY) & set(done.stderr.split())
