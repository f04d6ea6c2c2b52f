"""What `quietswap quote` says of a quote, and how refusals name what was typed."""

import json
import re
from typing import Any

import pytest

from quietswap.rules.errors.base import InsufficientLiquidity, NotFound
from tests.cli.conftest import Quietswap
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import FakeService, Reply, refused
from tests.orders.test_inclusion import TWO_BLOCKS


def told(text: str) -> str:
    return " ".join(text.split())


def quote_of(service: FakeService, **changes: Any) -> Reply:
    reply = service._usual("quote", None)  # type: ignore[arg-type]
    reply.body["data"] |= changes
    return reply


def test_a_quote_names_rate_validity_and_one_percentage(
    quietswap: Quietswap, service: FakeService
) -> None:
    quote = quote_of(service, priceImpact=0.31, executableUntil="2027-01-15T08:30:00.000Z")
    quote.body["data"]["sources"] = [
        {"source": "kyberswap", "outcome": "won", "latencyMs": 5, "referenceBps": -31}
    ]
    service.next("quote", quote)
    result = quietswap("quote", "1", "WETH", "USDC")
    assert result.exit_code == 0, result.output
    text = told(result.stdout)
    sold, bought = quote.body["data"]["sellAmount"], quote.body["data"]["buyAmount"]
    rate = int(bought) * 10**12 / int(sold)
    assert f"1 WETH = {rate:,.2f} USDC" in text
    assert "price impact 0.31 %" in text
    assert "price impact is how far below the market's price that is" in text
    assert text.count("%") == 1
    assert "about 30 seconds to sign and submit it; no block executes it after 2027-01-15" in text
    assert "to pools" not in text


def test_a_source_with_a_route_is_no_line_of_a_refusal(
    quietswap: Quietswap, service: FakeService
) -> None:
    rows = [
        {"source": "kyberswap", "outcome": "answered", "reason": None},
        {"source": "velora", "outcome": "no_route", "reason": None},
    ]
    service.next("quote", refused(InsufficientLiquidity(sources=rows, message="no quote of 3")))
    output = quietswap("quote", "WETH", "--receive", "9", "USDC").output
    assert "velora: no route" in output
    assert "kyberswap" not in output


def test_the_steps_from_ether_and_their_commands(
    quietswap: Quietswap, service: FakeService
) -> None:
    allowance = {"spender": "0x6131B5fae19EA4f9D964eAc0408E4408b66337b5", "actual": "0"}
    needs = {"actual": "0", "needed": "1"}
    issues = {"allowance": allowance | {"needed": "1"}, "balance": {"token": "WETH"} | needs}
    service.next("quote", quote_of(service, issues=issues))
    text = told(quietswap("quote", "1", "ETH", "USDC").stdout)
    assert "wrap, approve, swap: 3 signatures, each after the block of the one" in text
    assert "quietswap swap 1 ETH USDC" in text
    assert "may move 0 WETH" in text
    assert "the wallet holds" not in text, "the wallet needs no WETH yet"


def test_the_steps_to_ether_and_their_commands(quietswap: Quietswap, service: FakeService) -> None:
    service.next("quote", quote_of(service, sellAmount="1000000000", issues={}))
    text = told(quietswap("quote", "1000", "USDC", "ETH").stdout)
    assert "swap, unwrap: 2 signatures" in text
    assert "quietswap swap 1000 USDC ETH" in text


def test_a_quote_without_ether_lists_no_steps(quietswap: Quietswap) -> None:
    result = quietswap("quote", "1", "WETH", "USDC")
    assert (result.exit_code, "signature" in result.stdout) == (0, False)


def test_a_router_without_a_deadline_is_named(quietswap: Quietswap, service: FakeService) -> None:
    service.next("quote", quote_of(service, executableUntil=None))
    assert "its router has no deadline" in told(quietswap("quote", "1", "WETH", "USDC").stdout)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--rpc-url", "node"), "--rpc-url must be an http:// or https:// address"),
        (("--url", "http://x/?a=1"), "--url must be a base address, without ? and #"),
        (("--ca-file", __file__), f"--ca-file {__file__}: no certificate in PEM format"),
    ],
)
def test_a_refusal_names_the_option(
    quietswap: Quietswap, options: tuple[str, ...], says: str
) -> None:
    result = quietswap("quote", "1", "WETH", "USDC", *options)
    assert result.exit_code == 2
    assert says in told(result.output)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--max-fee", "0.000001"), "--max-fee"),
        (("--nonce", "7"), "swap without --nonce"),
        (("--max-impact", "0.0001"), "--max-impact"),
        (("--approve", "never"), "--approve is never"),
    ],
)
def test_a_declined_swap_names_options_in_text_and_json(
    quietswap: Quietswap, node: FakeChain, options: tuple[str, ...], says: str
) -> None:
    swap = ("swap", "1", "WETH", "USDC", "--yes", *options)
    text, machine = quietswap(*swap), quietswap(*swap, "--json")
    assert (text.exit_code, machine.exit_code) == (1, 1)
    messages = text.stdout.partition("✗")[2], json.loads(machine.stdout)["message"]
    for message in map(told, messages):
        assert says in message
        assert re.findall("[a-z]+_[a-z]+", message) == []
    assert node.sent == []


def wait_of(service: FakeService, usual: str) -> None:
    reply = service._usual("inclusion", None)  # type: ignore[arg-type]
    reply.body["data"]["usualWait"] = usual
    service.next("inclusion", reply)


def test_a_quote_says_how_long_orders_wait(quietswap: Quietswap, service: FakeService) -> None:
    wait_of(service, TWO_BLOCKS)
    assert f"in a block {TWO_BLOCKS}" in told(quietswap("quote", "1", "WETH", "USDC").stdout)
    assert "in a block not known yet" in told(quietswap("quote", "1", "WETH", "USDC").stdout)


def test_a_quote_needs_no_record_of_a_service(quietswap: Quietswap, service: FakeService) -> None:
    """An older service has none; with --json none is asked for."""
    service.next("inclusion", refused(NotFound(path="/api/v1/inclusion")))
    result = quietswap("quote", "1", "WETH", "USDC")
    assert (result.exit_code, "in a block" in result.stdout) == (0, False)
    asked = len(service.asked)
    assert quietswap("quote", "1", "WETH", "USDC", "--json").exit_code == 0
    assert [each.path for each in service.asked[asked:]].count("/api/v1/inclusion") == 0
