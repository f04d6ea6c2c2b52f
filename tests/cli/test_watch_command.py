"""`quietswap watch`: when a price is reached, what is asked meanwhile; nothing is signed."""

import json
from typing import Any

import pytest

from quietswap.rules.errors.base import InsufficientLiquidity
from quietswap.rules.errors.requests import TokenNotSupported
from tests.api.scripted_tokens import TOKEN_ANSWERS
from tests.cli.conftest import Quietswap
from tests.client.fake_servers import FakeService, Reply, ok, refused

FAST = ("--poll", "0.2")


def priced(usdc: int) -> Reply:
    """Return a price of one WETH, in smallest units of USDC."""
    return ok(TOKEN_ANSWERS["price"]() | {"buyAmount": str(usdc)})


def paths(service: FakeService) -> list[str]:
    return [asked.path.rsplit("/", 1)[1] for asked in service.asked]


@pytest.mark.parametrize(
    ("option", "missed"), [("--above", 2_999_999_999), ("--below", 3_000_000_001)]
)
def test_one_quote_follows_the_price_that_was_waited_for(
    quietswap: Quietswap, service: FakeService, option: str, missed: int
) -> None:
    service.next("price", priced(missed), priced(missed), priced(3_000_000_000))
    result = quietswap("watch", "WETH", "USDC", option, "3000", *FAST)
    assert result.exit_code == 0, result.output
    assert paths(service) == ["price", "price", "price", "quote"]
    assert {asked.query["sources"] for asked in service.asked[:3]} == {"own"}
    assert f"at {'least' if option == '--above' else 'most'} 3,000 is reached" in result.stdout
    assert "quietswap swap 1 WETH USDC" in result.stdout


def test_the_price_is_that_of_one_token_for_the_amount(
    quietswap: Quietswap, service: FakeService
) -> None:
    """2.5 WETH for 7,500 USDC are 3,000 a WETH."""
    service.next("price", priced(7_499_999_997), priced(7_500_000_000))
    words = ("watch", "WETH", "USDC", "--above", "3000", "--amount", "2.5", "--json", *FAST)
    result = quietswap(*words)
    assert result.exit_code == 0, result.output
    assert [asked.query["sellAmount"] for asked in service.asked] == ["2500000000000000000"] * 3
    assert json.loads(result.stdout)["dexRoute"]["target"]


def test_the_printed_swap_has_the_limits_of_the_watch(
    quietswap: Quietswap, service: FakeService
) -> None:
    """What is pasted sells the amount that was quoted, and for no less."""
    words = ("--amount", str(10**18), "--raw", "--slippage-bps", "7", *FAST)
    result = quietswap("watch", "WETH", "USDC", "--above", "1", *words)
    assert result.exit_code == 0, result.output
    pasted = next(line for line in result.stdout.splitlines() if "quietswap swap" in line)
    for words_of in (f"swap {10**18} WETH USDC", "--raw", "--slippage-bps 7", "--at-least 29850"):
        assert words_of in pasted


def test_what_may_pass_is_waited_out(quietswap: Quietswap, service: FakeService) -> None:
    no_route = refused(InsufficientLiquidity(sources=[]))
    broken = Reply({"ok": False}, status=502)
    service.next("price", broken, priced(1), no_route, *[priced(3 * 10**9)] * 2)
    service.next("quote", no_route)
    result = quietswap("watch", "WETH", "USDC", "--above", "3000", *FAST)
    assert result.exit_code == 0, result.output
    assert paths(service) == ["price"] * 4 + ["quote", "price", "quote"]
    assert "trying again in" in result.stdout


def test_a_pair_without_a_price_is_refused_at_once(
    quietswap: Quietswap, service: FakeService
) -> None:
    service.next("price", refused(TokenNotSupported(token="0x" + "1" * 40, reason="unknown")))
    result = quietswap("watch", "WETH", "USDC", "--above", "3000", *FAST)
    assert result.exit_code == 1
    assert paths(service) == ["price"]


@pytest.mark.parametrize(
    "words", [(), ("--above", "1", "--below", "2"), ("--above", "0"), ("--below", "x")]
)
def test_a_watch_says_what_it_waits_for(
    quietswap: Quietswap, service: FakeService, words: tuple[Any, ...]
) -> None:
    result = quietswap("watch", "WETH", "USDC", *words, *FAST)
    assert result.exit_code == 2
    assert "--above" in result.stderr or "--below" in result.stderr
    assert service.asked == []
