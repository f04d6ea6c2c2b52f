"""The trading bot of docs/cookbook.md sells within its limits, and stops where it says so."""

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from eth_account.signers.local import LocalAccount

from quietswap.sandbox.contracts.tokens import WETH
from tests.deploy.files import ROOT
from tests.deploy.recipes import client, example, lines
from tests.deploy.test_commands import bash, environment
from tests.e2e.conftest import Town
from tests.spec.api_client import ETHER, ApiClient
from tests.waiting import LONG_S

BOT = "python examples/trading_bot.py"
KEPT = 1000
"""WETH that the wallets of `started` keep, of `KEPT` and some tenths."""
RELAYS = ("relay", "backup_relay")


@contextmanager
def started(desk: ApiClient, account: LocalAccount) -> Iterator["subprocess.Popen[str]"]:
    """Run the bot beside the test; its two streams are one."""
    env = environment(
        desk.town, LIMIT_PRICE="2500", KEEP_WETH=str(KEPT), **client(desk, account)
    )  # fmt: skip
    running = subprocess.Popen(
        BOT.split(), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env
    )
    with running:
        try:
            yield running
        finally:
            running.kill()


def said(running: "subprocess.Popen[str]", begins: str) -> str:
    """Return the next line of the bot that begins so, without its end."""
    assert running.stdout is not None
    before = []
    for line in running.stdout:
        before.append(line)
        if line.startswith(begins):
            return line.strip()
    raise AssertionError(before)


def test_the_bot_sells_in_equal_parts(desk: ApiClient, town: Town, folder: Path) -> None:
    """With as much WETH as the sandbox's wallets have."""
    account = desk.wallet()
    desk.give(account, WETH, 33 * ETHER + ETHER // 3)
    for received in (4, 0):
        done = bash(lines("A trading bot", folder), town, folder, **client(desk, account))
        parts = re.findall(r"^confirmed 0x[0-9a-f]{64} received (\d+)$", done.stdout, re.M)
        assert len(parts) == received, done.stdout
        assert all(int(amount) >= 2500 * 10**6 // 12 for amount in parts)
        assert done.stdout.endswith("left to sell: 0 WETH\n")
        assert desk.held(account, "WETH") == 33 * ETHER


def test_the_bot_refuses_a_bad_price_and_signs_nothing(desk: ApiClient) -> None:
    account = desk.wallet()
    limits = {"LIMIT_PRICE": "4000", "KEEP_WETH": "999.9", "PAUSE_SECONDS": "0.1"}
    done = example(desk, account, BOT, **limits)
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("refused: the minimum") == 5
    assert done.stdout.endswith("left to sell: 0.1 WETH\n")
    assert desk.rpc("eth_getTransactionCount", account.address, "latest") == "0x0"
    assert desk.history(account)["total"] == 0


def test_the_bot_refuses_to_sell_very_much(desk: ApiClient) -> None:
    """A KEEP_WETH of 98.99 instead of 989.9 is a typing error."""
    account = desk.wallet()
    done = example(desk, account, BOT, LIMIT_PRICE="1", KEEP_WETH="98.99")
    assert done.returncode == 1
    assert done.stdout == "to sell: 901.01 WETH; to keep: 98.99\n"
    assert done.stderr.startswith("that is more than 10 WETH: check KEEP_WETH")
    assert desk.history(account)["total"] == 0


_IS_GOOD = """
import sys
from decimal import Decimal
from msgspec.structs import replace
sys.path.insert(0, "examples")
import trading_bot as bot
env, account = bot.os.environ, bot.Account.create()
with bot.QuietswapClient(env["QUIETSWAP_URL"], env["QUIETSWAP_API_KEY"]) as client:
    quote = client.quote(bot.request(account.address, bot.PART))
assert bot.is_good(quote)
scoring, threat = quote.scoring, quote.mev_analysis
for other in (
    {"verification": None},
    {"scoring": replace(scoring, price_available=False)},
    {"scoring": replace(scoring, gas_cost_usd=scoring.net_value_usd * Decimal("0.051"))},
    {"mev_analysis": replace(threat, known=False)},
):
    assert not bot.is_good(replace(quote, **other)), other
"""


def test_each_rule_of_the_bot_refuses(desk: ApiClient) -> None:
    done = example(
        desk, desk.wallet(), f"python -c '{_IS_GOOD}'", LIMIT_PRICE="1", KEEP_WETH="999.9"
    )
    assert done.returncode == 0, done.stderr
    faults = (
        "it was not simulated",
        "its value is unknown",
        "gas costs too much",
        "the MEV threat",
    )
    refusals = [line.removeprefix("refused: ") for line in done.stdout.splitlines()]
    assert len(refusals) == len(faults)
    assert all(one.startswith(fault) for one, fault in zip(refusals, faults, strict=True))


def test_the_bot_stops_at_an_error_that_does_not_pass(desk: ApiClient) -> None:
    done = example(
        desk, desk.wallet(), BOT, QUIETSWAP_API_KEY="qs_none", LIMIT_PRICE="1", KEEP_WETH="999.9"
    )
    assert done.returncode == 2
    assert done.stderr.startswith("stopped: ")
    assert "UNAUTHORIZED" in done.stderr


def test_the_bot_names_the_limit_that_is_missing(desk: ApiClient) -> None:
    done = example(desk, desk.wallet(), BOT)
    assert done.returncode == 1
    assert done.stderr.startswith("set LIMIT_PRICE")
    done = example(desk, desk.wallet(), BOT, LIMIT_PRICE="2500")
    assert done.returncode == 1
    assert done.stderr.startswith("set KEEP_WETH")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        *(
            ("LIMIT_PRICE", text, "a number from 0.000001 to 1000000000, not")
            for text in ("0", "-1", "nan", "Infinity", "2500 USDC", "1e-30", "1e9999999")
        ),
        ("KEEP_WETH", "-0.1", "a number from 0 to 1000000000, not"),
        ("KEEP_WETH", "1e99999999999999999999", "a number from 0 to 1000000000, not"),
        ("PART_WETH", "0,1", "a number from 0.000001 to 10, not"),
        ("PART_WETH", "1e-19", "a number from 0.000001 to 10, not"),
        ("PAUSE_SECONDS", "1e400", "a number from 0.1 to 86400, not"),
        *(
            ("POLL_SECONDS", text, "a number from 0.1 to 3600, not")
            for text in ("abc", "0", "-1", "sNaN")
        ),
        ("QUIETSWAP_PRIVATE_KEY", "0x1234", "a private key"),
        ("QUIETSWAP_PRIVATE_KEY", "0x" + "00" * 32, "a private key"),
        ("QUIETSWAP_URL", "127.0.0.1:8080", "url must be an http:// or https:// address"),
        ("QUIETSWAP_RPC_URL", "node", "rpc_url must be an http:// or https:// address"),
    ],
)
def test_the_bot_names_the_variable_that_is_wrong(
    desk: ApiClient, name: str, text: str, says: str
) -> None:
    limits = {"LIMIT_PRICE": "2500", "KEEP_WETH": "999.9"}
    done = example(desk, desk.wallet(), BOT, **limits | {name: text})
    assert done.returncode == 1
    assert says in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert name in done.stderr
    assert (text in done.stderr) == says.endswith("not")


def test_a_killed_bot_goes_on_and_sells_no_more(desk: ApiClient) -> None:
    """It waits for the order that the killed one has submitted, and sells the rest."""
    account = desk.wallet()
    desk.give(account, WETH, KEPT * ETHER + 2 * ETHER // 10)
    with desk.fault("withhold", *RELAYS):
        with started(desk, account) as first:
            left = said(first, "submitted").split()[1]
        with started(desk, account) as second:
            assert said(second, "open") == f"open from an earlier run: {left}"
            desk.town.heal(*RELAYS)
            assert said(second, "confirmed") == f"confirmed {left}"
            assert said(second, "to sell") == f"to sell: 0.1 WETH; to keep: {KEPT}"
            assert said(second, "left") == "left to sell: 0 WETH"
            assert second.wait(LONG_S) == 0
    assert desk.held(account, "WETH") == KEPT * ETHER
    assert [order["status"] for order in desk.history(account)["orders"]] == ["confirmed"] * 2


def test_an_interrupted_bot_leaves_its_order_to_the_next_run(desk: ApiClient) -> None:
    account = desk.wallet()
    desk.give(account, WETH, KEPT * ETHER + ETHER // 10)
    with desk.fault("withhold", *RELAYS), started(desk, account) as running:
        left = said(running, "submitted").split()[1]
        running.send_signal(signal.SIGINT)
        assert running.stdout is not None
        rest = running.stdout.read()
        assert running.wait(LONG_S) == 130
        assert rest.startswith("interrupted: ")
        assert rest.count("\n") == 1
    assert desk.follow(left)["status"] == "confirmed"


_PROGRAM = """
import sys
from dataclasses import replace
from functools import partial
from msgspec.structs import replace as changed
sys.path.insert(0, "examples")
import trading_bot as bot
swap = bot.QuietswapClient.swap
{change}
sys.exit(bot.main())
"""
ENDS = {
    "not known": (
        "bot.PollingPolicy = partial(bot.PollingPolicy, doubt_s=1)",
        "refuse:transaction type not supported",
        "which may still be mined as long as nonce",
    ),
    "called failed": (
        (
            "def ended(*words):\n"
            "    result = swap(*words)\n"
            "    failed = changed(result.status, status='failed')\n"
            "    return replace(result, status=failed, fate=None)\n"
            "bot.QuietswapClient.swap = ended"
        ),
        "delay:0",
        "stopped: the swap may still be mined\n",
    ),
    "too little": (
        "bot.QuietswapClient.swap = lambda *words: replace(swap(*words), received=1)",
        "delay:0",
        "stopped: the swap delivered too little\n",
    ),
}
"""By name: what the program changes, the fault of the relays, and why the bot stops.

It is unknown after a second instead of a minute. The other two do not come from a service and a
router that are as they should be, so the result is changed.
"""


@pytest.mark.parametrize("name", ENDS)
def test_the_bot_leaves_the_decision_to_a_person(desk: ApiClient, name: str) -> None:
    account = desk.wallet()
    change, fault, why = ENDS[name]
    program = _PROGRAM.format(change=change)
    limits = {"LIMIT_PRICE": "2500", "KEEP_WETH": "999.8"}
    with desk.fault(fault, *RELAYS):
        done = example(desk, account, 'python -c "$PROGRAM"', PROGRAM=program, **limits)
    assert done.returncode == 2, done.stdout
    assert done.stderr.startswith("stopped: ")
    assert why in done.stderr
    assert desk.history(account)["total"] == 1
