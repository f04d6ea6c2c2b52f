"""Every example reaches `confirmed` on the sandbox, for both flows."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from quietswap.cli.demo_sandbox import Town
from tests.cli.town import ROOT, environment, quietswap, run

pytestmark = pytest.mark.xdist_group("live-cli")

NODE_TOOLS = ROOT / "node_modules" / ".bin"
TSX = str(NODE_TOOLS / "tsx")
EXAMPLES = [
    [sys.executable, "examples/python_client.py"],
    [sys.executable, "examples/python_flow.py"],
    [TSX, "examples/swap_viem.ts"],
    [TSX, "examples/swap_ethers.ts"],
    pytest.param(
        ["bash", "examples/curl.sh"],
        marks=pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed"),
    ),
]

PAGE = (ROOT / "docs" / "client.md").read_text("utf-8")
TRANSACTION = PAGE.partition("```json\n")[2].partition("```")[0]
"""What the page says that a signing command is given."""


@pytest.mark.parametrize("words", EXAMPLES, ids=lambda words: words[1].split("/")[1])
def test_both_flows_are_confirmed(town: Town, words: list[str]) -> None:
    done = run(words, environment(town, 1))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "wrap confirmed 0x" in done.stdout
    assert "swap confirmed 0x" in done.stdout


def test_the_typescript_examples_have_sound_types() -> None:
    done = run([str(NODE_TOOLS / "tsc"), "--project", "examples"], dict(os.environ))
    assert done.returncode == 0, done.stdout


def test_the_signing_command(town: Town) -> None:
    env = environment(town, 2)
    env["WALLET_KEY"] = env.pop("QUIETSWAP_PRIVATE_KEY")
    sign = ["--sign-with", f"{sys.executable} examples/sign.py"]
    done = run(quietswap("wrap", "0.1", "--yes", *sign, "--wallet", town.wallets[2].address), env)
    assert done.returncode == 0, done.stdout + done.stderr
    other = run(quietswap("wrap", "0.1", "--yes", *sign, "--wallet", town.wallets[3].address), env)
    assert other.returncode == 1
    assert "this is not the wallet" in other.stderr


@pytest.mark.parametrize("words", EXAMPLES[:4], ids=lambda words: words[1].split("/")[1])
def test_a_refused_key_ends_with_a_failure(town: Town, words: list[str]) -> None:
    env = environment(town, 1) | {"QUIETSWAP_API_KEY": "qs_nobody"}
    done = run(words, env)
    assert done.returncode != 0
    assert "UNAUTHORIZED" in done.stdout + done.stderr


def test_the_examples_need_no_more_than_the_readme_says() -> None:
    for file in (ROOT / "examples").glob("*.py"):
        found = re.findall(r"^(?:from|import) (\w+)", file.read_text("utf-8"), re.MULTILINE)
        own = {"quietswap"} if file.name == "python_client.py" else set()
        assert set(found) <= sys.stdlib_module_names | {"eth_account"} | own


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["bash", "examples/curl.sh"], "QUIETSWAP_URL: must be set"),
        ([sys.executable, "examples/sign.py"], "set WALLET_KEY"),
    ],
)
def test_a_variable_that_is_missing_is_named(words: list[str], says: str) -> None:
    done = subprocess.run(
        words, cwd=ROOT, env={"PATH": os.environ["PATH"]}, input=TRANSACTION, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_the_readme_names_every_example() -> None:
    folder = ROOT / "examples"
    named = set(re.findall(r"\]\(([\w.]+)\)", (folder / "README.md").read_text("utf-8")))
    assert named == {file.name for file in folder.iterdir() if file.is_file()} - {"README.md"}
