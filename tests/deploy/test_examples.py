"""Every example of `examples/` reaches `confirmed` on the sandbox, for both flows."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

from quietswap.cli.demo_sandbox import SandboxInfo
from tests import loopback
from tests.cli.sandbox_process import ROOT, environment, run, run_command
from tests.e2e.conftest import Town
from tests.waiting import LONG_S

pytestmark = pytest.mark.xdist_group("examples")

NODE_TOOLS = ROOT / "node_modules" / ".bin"
TSX = str(NODE_TOOLS / "tsx")
EXAMPLES = [
    [sys.executable, "examples/python_client.py"],
    [sys.executable, "examples/python_flow.py"],
    [TSX, "examples/swap_quietswap.ts"],
    [TSX, "examples/swap_viem.ts"],
    [TSX, "examples/swap_ethers.ts"],
    *([["bash", "examples/curl.sh"]] if shutil.which("curl") else []),
]

PAGE = (ROOT / "docs" / "client.md").read_text("utf-8")
TRANSACTION = PAGE.partition("```json\n")[2].partition("```")[0]
"""What the page says that a signing command is given."""


@pytest.fixture
def town(town: Town) -> SandboxInfo:
    """What an example is told of the sandbox of this folder."""
    return msgspec.convert(town.facts, SandboxInfo)


@pytest.mark.parametrize("words", EXAMPLES, ids=lambda words: words[1].split("/")[1])
def test_both_flows_are_confirmed(town: SandboxInfo, words: list[str]) -> None:
    done = run(words, environment(town, 1))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "wrap confirmed 0x" in done.stdout
    assert "swap confirmed 0x" in done.stdout


def test_several_orders_of_one_wallet_are_confirmed_in_order(town: SandboxInfo) -> None:
    done = run([sys.executable, "examples/pipeline.py"], environment(town, 2))
    assert done.returncode == 0, done.stdout + done.stderr
    nonces = [
        int(nonce) for nonce in re.findall(r"^submitted ord_\w+ nonce (\d+)$", done.stdout, re.M)
    ]
    assert len(nonces) == 3
    assert nonces == sorted(set(nonces))
    assert done.stdout.count("swap confirmed ord_") == 3


_SUBMIT = """
import sys
from urllib.request import Request, urlopen
sys.path.insert(0, "examples")
import python_flow as flow
quote = flow.quoted(10**15)
while flow.approve(quote["dexRoute"]["target"], 10**18):
    quote = flow.quoted(10**15)
urlopen(Request(f"{sys.argv[1]}/pause_mining", b"", method="POST"))
protection = quote["mevProtection"]
body = {
    "orderParams": flow.order_params(quote, 50),
    "signedTransaction": flow.signed(protection["transactionParams"]),
    "providerMetadata": protection["providerMetadata"],
}
order = flow.ask("/mev/orders", body)["order"]
print(order["orderId"], protection["transactionParams"]["nonce"])
"""
"""Submits a swap while no blocks are built, so that it is open until they are again."""


@contextmanager
def example_on_an_open_order(
    town: SandboxInfo, script: str, *, nonce: bool = False
) -> Iterator["subprocess.Popen[str]"]:
    """Start an example with id (and nonce) of a new order. No block comes before the exit."""
    env = environment(town, 4)
    try:
        placed = run([sys.executable, "-c", _SUBMIT, town.control_url], env)
        assert placed.returncode == 0, placed.stderr
        yield subprocess.Popen(
            [sys.executable, script, *placed.stdout.split()[: 1 + nonce]],
            cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
    finally:
        loopback.post(f"{town.control_url}/resume_mining")


def test_an_open_order_is_cancelled(town: SandboxInfo) -> None:
    with example_on_an_open_order(town, "examples/cancel.py", nonce=True) as cancelling:
        assert cancelling.stdout is not None
        submitted = cancelling.stdout.readline()
        assert submitted.startswith("submitted 0x"), cancelling.communicate(timeout=LONG_S)[1]
    told, errors = cancelling.communicate(timeout=LONG_S)
    # both were held by the relay: which one the builder takes is its choice
    end = re.fullmatch(r"order (cancelled|confirmed) 0x[0-9a-f]{64}\n", told)
    assert end is not None, told + errors
    assert cancelling.returncode == (0 if end[1] == "cancelled" else 1)


def test_the_events_of_an_order_are_followed_to_its_end(town: SandboxInfo) -> None:
    with example_on_an_open_order(town, "examples/follow_events.py") as following:
        assert following.stdout is not None
        first = following.stdout.readline()
    told, errors = following.communicate(timeout=90)
    steps = [line.split()[1] for line in (first + told).splitlines()]
    assert following.returncode == 0, errors
    assert (steps[0], steps[-1]) == ("order.created", "order.confirmed")
    assert len(steps) == len(set(steps))


def test_a_cancel_that_is_none_is_not_signed(town: SandboxInfo) -> None:
    script = """
import sys
sys.path.insert(0, "examples")
import cancel
fair = {
    "to": cancel.wallet, "value": "0", "data": "0x", "gasLimit": "21000", "maxFeePerGas": "9",
    "maxPriorityFeePerGas": "0", "chainId": 1, "type": 2, "nonce": 7,
}
cancel.check_cancel(fair, 7)
others = {"value": "1"}, {"data": "0x00"}, {"to": "0x" + 40 * "1"}, {"maxFeePerGas": "9" * 13}
for other in (*others, {"nonce": 8}):
    try:
        cancel.check_cancel(fair | other, 7)
    except SystemExit as refusal:
        print("refused", refusal)
"""
    done = run([sys.executable, "-c", script], environment(town, 4))
    assert done.stdout.count("refused") == 5, done.stderr


def test_the_typescript_examples_have_sound_types() -> None:
    done = run([str(NODE_TOOLS / "tsc"), "--project", "examples"], dict(os.environ))
    assert done.returncode == 0, done.stdout


def test_the_signing_command(town: SandboxInfo) -> None:
    env = environment(town, 2)
    env["WALLET_KEY"] = env.pop("QUIETSWAP_PRIVATE_KEY")
    sign = ["--sign-with", f"{sys.executable} examples/sign.py"]
    done = run_command(["wrap", "0.1", "--yes", *sign, "--wallet", town.wallets[2].address], env)
    assert done.returncode == 0, done.stdout + done.stderr
    other = run_command(["wrap", "0.1", "--yes", *sign, "--wallet", town.wallets[3].address], env)
    assert other.returncode == 1
    assert "this is not the wallet" in other.stderr


@pytest.mark.parametrize("words", EXAMPLES[:4], ids=lambda words: words[1].split("/")[1])
def test_a_refused_key_ends_with_a_failure(town: SandboxInfo, words: list[str]) -> None:
    env = environment(town, 1) | {"QUIETSWAP_API_KEY": "qs_nobody"}
    done = run(words, env)
    assert done.returncode != 0
    assert "UNAUTHORIZED" in done.stdout + done.stderr


def test_the_examples_need_no_more_than_the_readme_says() -> None:
    for file in (ROOT / "examples").glob("*.py"):
        found = re.findall(r"^(?:from|import) (\w+)", file.read_text("utf-8"), re.MULTILINE)
        own = {
            "python_client.py": {"quietswap"},
            "pipeline.py": {"python_flow"},
            "cancel.py": {"python_flow"},
            "python_flow.py": {"eth_utils"},
            "webhook_receiver.py": {"standardwebhooks"},
            "trading_bot.py": {"quietswap"},
            "treasury.py": {"quietswap"},
            "wallet_backend.py": {"quietswap", "standardwebhooks"},
            "wallet_app.py": {"quietswap", "python_flow"},
            "safe_owner.py": {"quietswap", "python_flow", "eth_utils"},
            "reconcile.py": {"python_flow"},
        }.get(file.name, set())
        assert set(found) <= sys.stdlib_module_names | {"eth_account"} | own


def test_the_readme_names_every_example() -> None:
    folder = ROOT / "examples"
    named = set(re.findall(r"\]\(([\w.]+)\)", (folder / "README.md").read_text("utf-8")))
    assert named == {file.name for file in folder.iterdir() if file.is_file()} - {"README.md"}
