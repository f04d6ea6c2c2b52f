"""The trading bot of docs/cookbook.md sells within its limits, and stops where it says so."""

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pytest
from eth_account.signers.local import LocalAccount

from quietswap.sandbox.contracts.pools import WETH
from tests.deploy.files import ROOT
from tests.deploy.recipes import client, example, lines
from tests.deploy.test_commands import bash, environment
from tests.e2e.conftest import Town
from tests.spec.api_client import ETHER, ApiClient
from tests.waiting import LONG_S

BOT = "python examples/trading_bot.py"
KEPT = 1000
"""KEEP_WETH of the bots that `started` runs."""
RELAYS = ("relay", "backup_relay")


@contextmanager
def started(
    desk: ApiClient, account: LocalAccount, program: str | None = None
) -> Iterator["subprocess.Popen[str]"]:
    """Run the bot, or a program that changes it, beside the test; its two streams are one."""
    env = environment(
        desk.town, LIMIT_PRICE="2500", KEEP_WETH=str(KEPT), **client(desk, account)
    )  # fmt: skip
    words = BOT.split() if program is None else ["python", "-c", program]
    running = subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env
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
        parts = re.findall(r"^sold (0\.08\d+) WETH for ([\d.]+) USDC$", done.stdout, re.M)
        assert len(parts) == received, done.stdout
        assert all(Decimal(usdc) >= 2500 * Decimal(weth) for weth, usdc in parts)
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


def test_no_service_is_retried_for_a_while(desk: ApiClient) -> None:
    limits = {"LIMIT_PRICE": "1", "KEEP_WETH": "999.9", "PAUSE_SECONDS": "0.1"}
    done = example(desk, desk.wallet(), BOT, QUIETSWAP_URL="http://127.0.0.1:1", **limits)
    assert done.returncode == 1
    assert done.stdout.count("later: the service at http://127.0.0.1:1 does not answer") == 5
    assert done.stderr == ""


def test_a_reader_that_stops_reading_ends_the_bot(desk: ApiClient) -> None:
    account = desk.wallet()
    limits = {"LIMIT_PRICE": "2500", "KEEP_WETH": "999.8"}
    done = example(desk, account, f"set -o pipefail; {BOT} | head -n 2", **limits)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout.startswith("to sell: 0.2 WETH; to keep: 999.8\napproval ")


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
    quote = client.quote(bot.request(client, account.address, bot.PART))
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


def test_what_leaves_the_wallet_while_an_approval_waits_is_not_sold(desk: ApiClient) -> None:
    account = desk.wallet()
    desk.give(account, WETH, KEPT * ETHER + ETHER // 10)
    with started(desk, account) as running:
        with desk.no_blocks():
            said(running, "approval")
            desk.give(account, WETH, KEPT * ETHER)
        assert said(running, "refused") == "refused: no more than 0 WETH is left to sell"
        assert said(running, "left") == "left to sell: 0 WETH"
        assert running.wait(LONG_S) == 0
    assert desk.history(account)["total"] == 0


def test_a_transaction_that_waits_is_let_pass_first(desk: ApiClient) -> None:
    """The quote counts past it, but no balance shows yet what it does."""
    account = desk.wallet()
    desk.give(account, WETH, KEPT * ETHER + ETHER // 10)
    desk.approve(account, desk.quote(account))
    with desk.no_blocks():
        empty = {"type": 2, "chainId": 1, "nonce": 0, "to": account.address, "value": 0,
                 "gas": 21_000, "maxFeePerGas": 10**11, "maxPriorityFeePerGas": 10**9}  # fmt: skip
        raw = account.sign_transaction(empty).raw_transaction
        desk.rpc("eth_sendRawTransaction", "0x" + bytes(raw).hex())
        with started(desk, account) as running:
            waits = "refused: another transaction of the wallet waits for its block"
            assert said(running, "refused") == waits
    assert desk.history(account)["total"] == 0


_FALLS_BEHIND = """
import sys
from urllib.request import Request, urlopen
sys.path.insert(0, "examples")
import trading_bot as bot
balance = bot.node_calls.token_balance
def late(token, wallet, block="latest"):
    if block != "latest":
        lag = Request("CONTROL/faults/node", b'{"fault": "lag:64"}', method="PUT")
        urlopen(lag).close()
    return balance(token, wallet, block)
bot.node_calls.token_balance = late
sys.exit(bot.main())
"""
"""The node falls behind after it has told the nonce, before it is asked for the balance, by more
blocks than it catches up while the client asks again."""


def test_nonce_and_balance_are_of_one_block(desk: ApiClient) -> None:
    """A balance of an older block does not show what the transactions below the nonce did."""
    account = desk.wallet()
    desk.give(account, WETH, KEPT * ETHER + ETHER // 10)
    desk.approve(account, desk.quote(account))
    desk.mine(3)
    control = str(desk.town.control.base_url).rstrip("/")
    program = _FALLS_BEHIND.replace("CONTROL", control)
    with desk.fault("delay:0", "node"), started(desk, account, program) as running:
        assert said(running, "refused").startswith("refused: your node cannot show block ")
    assert desk.history(account)["total"] == 0


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
        "was submitted and may still be mined as long as nonce",
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
