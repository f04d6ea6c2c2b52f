"""A variable, argument or file of an example that is missing or wrong is named in its message."""

import os
import sys

import pytest

from quietswap.cli.demo_sandbox import SandboxInfo
from tests.cli.sandbox_process import environment, run_example
from tests.deploy.test_examples import TRANSACTION, TSX, town

__all__ = ["town"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["bash", "examples/curl.sh"], "QUIETSWAP_URL: must be set"),
        ([sys.executable, "examples/sign.py"], "set WALLET_KEY"),
        *(
            ([sys.executable, f"examples/{name}", *words], f"set {variable}")
            for name, variable, *words in (
                ("python_client.py", "QUIETSWAP_URL, QUIETSWAP_API_KEY, QUIETSWAP_RPC_URL"),
                ("python_flow.py", "QUIETSWAP_URL, QUIETSWAP_API_KEY, QUIETSWAP_RPC_URL"),
                ("pipeline.py", "QUIETSWAP_URL"),
                ("cancel.py", "QUIETSWAP_URL", "ord_1"),
                ("trading_bot.py", "LIMIT_PRICE"),
                ("treasury.py", "QUIETSWAP_URL", "key.json", "0.05"),
                ("safe_owner.py", "QUIETSWAP_URL", "0x" + "11" * 20, "0.05"),
                ("reconcile.py", "QUIETSWAP_URL"),
                ("follow_events.py", "QUIETSWAP_URL, QUIETSWAP_API_KEY", "ord_1"),
                ("wallet_backend.py", "QUIETSWAP_URL, QUIETSWAP_API_KEY, WEBHOOK_SECRET"),
                ("wallet_app.py", "QUIETSWAP_URL"),
                ("webhook_receiver.py", "WEBHOOK_SECRET"),
            )
        ),
    ],
)
def test_a_variable_that_is_missing_is_named(words: list[str], says: str) -> None:
    done = run_example(words, {"PATH": os.environ["PATH"]}, typed=TRANSACTION)
    assert done.returncode != 0
    assert says in done.stderr
    assert "Traceback" not in done.stderr


RIGHT = {
    "QUIETSWAP_URL": "http://127.0.0.1:1",
    "QUIETSWAP_API_KEY": "qs_none",
    "QUIETSWAP_RPC_URL": "http://127.0.0.1:1",
    "QUIETSWAP_PRIVATE_KEY": "0x" + "11" * 32,
    "WALLET_KEY": "0x" + "11" * 32,
    "WEBHOOK_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLwSw",
}
"""Variables with which an example begins; nobody answers at the address."""
ADDRESS = "must be an http:// or https:// address"
SAFE = "0x" + "11" * 20
WRONG = [
    *(
        ([sys.executable, f"examples/{name}"], variable, text, says)
        for name in ("python_flow.py", "pipeline.py", "reconcile.py", "wallet_app.py")
        for variable, text, says in (
            ("QUIETSWAP_PRIVATE_KEY", "0x12", "QUIETSWAP_PRIVATE_KEY must be a private key"),
            ("QUIETSWAP_URL", "127.0.0.1:8080", f"QUIETSWAP_URL {ADDRESS}"),
            ("QUIETSWAP_RPC_URL", "node", f"QUIETSWAP_RPC_URL {ADDRESS}"),
            ("POLL_SECONDS", "nan", "POLL_SECONDS must be seconds above 0"),
            ("A", "B", "no answer: "),
        )
    ),
    *(
        ([sys.executable, "examples/python_client.py"], variable, text, says)
        for variable, text, says in (
            ("QUIETSWAP_PRIVATE_KEY", "0x12", "QUIETSWAP_PRIVATE_KEY must be a private key"),
            ("QUIETSWAP_URL", "127.0.0.1:8080", "or POLL_SECONDS is wrong: url must be"),
            ("POLL_SECONDS", "0", "interval_s must be seconds above 0"),
            ("A", "B", "does not answer"),
        )
    ),
    ([sys.executable, "examples/wallet_app.py"], "BACKEND_URL", "abc", f"BACKEND_URL {ADDRESS}"),
    ([sys.executable, "examples/follow_events.py"], "A", "B", "usage: "),
    ([sys.executable, "examples/follow_events.py", "ord_1"], "QUIETSWAP_URL", "abc", ADDRESS),
    ([sys.executable, "examples/reconcile.py", "none.csv"], "A", "B", "none.csv cannot be read"),
    ([sys.executable, "examples/reconcile.py", "README.md"], "A", "B", "this is no export"),
    ([sys.executable, "examples/treasury.py", "x", "nan"], "A", "B", "is not between 0 and 10"),
    ([sys.executable, "examples/safe_owner.py", SAFE, "x"], "A", "B", "x is no amount of WETH"),
    ([sys.executable, "examples/sign.py"], "WALLET_KEY", "0x12", "WALLET_KEY must be a private"),
    ([sys.executable, "examples/sign.py"], "A", "B", "standard input is not"),
    ([sys.executable, "examples/webhook_receiver.py"], "WEBHOOK_SECRET", "whsec_", "may not be"),
    ([sys.executable, "examples/webhook_receiver.py"], "WEBHOOK_PORT", "-1", "port -1: "),
    ([sys.executable, "examples/wallet_backend.py"], "BACKEND_PORT", "x", "BACKEND_PORT is wrong"),
    ([sys.executable, "examples/wallet_backend.py"], "BACKEND_PORT", "-1", "port -1: "),
    *(
        ([TSX, f"examples/swap_{name}.ts"], variable, text, says)
        for name, variable, text, says in (
            ("quietswap", "POLL_SECONDS", "abc", "intervalS must be above 0"),
            ("quietswap", "QUIETSWAP_URL", "abc", "http:// or https:// address"),
            ("viem", "POLL_SECONDS", "0", "POLL_SECONDS must be seconds above 0, at most 3600"),
            ("ethers", "QUIETSWAP_URL", "abc", "Failed to parse URL"),
        )
    ),
]


@pytest.mark.parametrize(
    ("words", "variable", "text", "says"),
    [pytest.param(*row, id=f"{row[0][1][9:]}-{row[1]}-{row[2]}") for row in WRONG],
)
def test_what_is_wrong_is_named_in_one_line(
    words: list[str], variable: str, text: str, says: str
) -> None:
    env = {"PATH": os.environ["PATH"]} | RIGHT | {variable: text}
    done = run_example(words, env)
    assert done.returncode in (1, 2)
    *usage, last = done.stderr.splitlines()
    assert says in last
    assert all(line.startswith(("usage:", " ")) for line in usage)


def test_the_events_of_an_order_that_is_unknown_are_not_awaited(town: SandboxInfo) -> None:
    done = run_example([sys.executable, "examples/follow_events.py", "ord_1"], environment(town, 1))
    assert done.returncode == 1
    assert "ORDER_NOT_FOUND" in done.stderr


def test_another_server_is_not_taken_for_the_service_or_the_node(town: SandboxInfo) -> None:
    env = environment(town, 1)
    service, node = env["QUIETSWAP_URL"], env["QUIETSWAP_RPC_URL"]
    words = [sys.executable, "examples/python_flow.py"]
    for variable, url in (("QUIETSWAP_URL", node), ("QUIETSWAP_RPC_URL", service)):
        done = run_example(words, env | {variable: url})
        assert done.returncode == 1
        assert done.stderr == f"{variable} is the address of something else\n"
