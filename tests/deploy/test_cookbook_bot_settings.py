"""The trading bot of docs/cookbook.md names what is missing or wrong in its variables."""

import pytest

from tests import forked
from tests.deploy.files import ROOT
from tests.deploy.recipes import client, example
from tests.deploy.test_commands import environment
from tests.deploy.test_cookbook_bot import BOT
from tests.spec.api_client import ApiClient


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
            ("POLL_SECONDS", text, "a number from 0.1 to 60, not")
            for text in ("abc", "61", "-1", "sNaN")
        ),
        ("QUIETSWAP_PRIVATE_KEY", "0x1234", "a private key"),
        ("QUIETSWAP_PRIVATE_KEY", "0x" + "00" * 32, "a private key"),
        ("QUIETSWAP_URL", "127.0.0.1:8080", "http:// or https:// address"),
        ("QUIETSWAP_RPC_URL", "node", "http:// or https:// address"),
    ],
)
def test_the_bot_names_the_variable_that_is_wrong(
    desk: ApiClient, name: str, text: str, says: str
) -> None:
    limits = {"LIMIT_PRICE": "2500", "KEEP_WETH": "999.9"}
    env = environment(desk.town, **client(desk, desk.wallet()) | limits | {name: text})
    done = forked.run(BOT.split()[1:], env, folder=ROOT)
    assert done.returncode == 1
    assert says in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert name in done.stderr
    assert (text in done.stderr) == says.endswith("not")
