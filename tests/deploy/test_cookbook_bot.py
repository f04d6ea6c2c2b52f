"""The trading bot of docs/cookbook.md sells within its limits, and stops where it says so."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.deploy.files import ROOT
from tests.deploy.recipes import client, example, lines
from tests.deploy.test_commands import bash, environment
from tests.e2e.conftest import Town
from tests.spec.api_client import ETHER, ApiClient
from tests.waiting import LONG_S

BOT = "python examples/trading_bot.py"


def test_the_bot_sells_in_parts(desk: ApiClient, town: Town, folder: Path) -> None:
    account = desk.wallet()
    before = desk.held(account, "WETH")
    done = bash(lines("A trading bot", folder), town, folder, **client(desk, account))
    received = re.findall(r"^confirmed 0x[0-9a-f]{64} received (\d+)$", done.stdout, re.M)
    assert len(received) == 3
    assert all(int(amount) >= 2500 * 10**6 // 10 for amount in received)
    assert before - desk.held(account, "WETH") == 3 * ETHER // 10
    assert "sold 0.3 of 0.3 WETH" in done.stdout


def test_the_bot_refuses_a_bad_price_and_signs_nothing(desk: ApiClient) -> None:
    account = desk.wallet()
    done = example(desk, account, BOT, LIMIT_PRICE="4000", PAUSE_SECONDS="0.1")
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("refused: the minimum") == 5
    assert "sold 0 of 0.3 WETH" in done.stdout
    assert desk.rpc("eth_getTransactionCount", account.address, "latest") == "0x0"
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
    done = example(desk, desk.wallet(), f"python -c '{_IS_GOOD}'", LIMIT_PRICE="1")
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
    done = example(desk, desk.wallet(), BOT, QUIETSWAP_API_KEY="qs_none", LIMIT_PRICE="1")
    assert done.returncode == 2
    assert done.stderr.startswith("stopped: ")
    assert "UNAUTHORIZED" in done.stderr


def test_the_bot_names_the_limit_that_is_missing(desk: ApiClient) -> None:
    done = example(desk, desk.wallet(), BOT)
    assert done.returncode == 1
    assert done.stderr.startswith("set LIMIT_PRICE")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("LIMIT_PRICE", text) for text in ("0", "-1", "nan", "Infinity", "2500 USDC")),
        *((name, "0,1") for name in ("TOTAL_WETH", "PART_WETH", "PAUSE_SECONDS")),
    ],
)
def test_the_bot_names_the_setting_that_is_no_amount(desk: ApiClient, name: str, text: str) -> None:
    done = example(desk, desk.wallet(), BOT, **{"LIMIT_PRICE": "2500"} | {name: text})
    assert done.returncode == 1
    assert done.stderr == f"{name} must be a number above 0, not {text!r}\n"


def test_the_bot_first_follows_what_is_open(desk: ApiClient) -> None:
    """An earlier run has submitted an order; the next one waits for its end before it sells."""
    account = desk.wallet()
    with desk.no_blocks():
        left = desk.order(account)["orderId"]
        running = subprocess.Popen(
            BOT.split(), cwd=ROOT, stdout=subprocess.PIPE, text=True,
            env=environment(
                desk.town, LIMIT_PRICE="2500", TOTAL_WETH="0.1", PYTHONUNBUFFERED="1",
                **client(desk, account),
            ),
        )  # fmt: skip
        assert running.stdout is not None
        first = running.stdout.readline()
        assert running.poll() is None
    said, _ = running.communicate(timeout=LONG_S)
    assert first == f"open from an earlier run: {left}\n"
    assert said.splitlines()[0] == f"confirmed {left}", said
    assert said.splitlines()[-1] == "sold 0.1 of 0.1 WETH", said
    assert running.returncode == 0
