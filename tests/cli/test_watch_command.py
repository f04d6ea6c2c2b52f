"""`quietswap watch`: when a price is reached, what is asked meanwhile; nothing is signed."""

import json
from typing import Any

import pytest

from quietswap.rules.errors.base import InsufficientLiquidity
from quietswap.rules.errors.requests import TokenNotSupported
from quietswap.rules.tokens.token import WETH
from tests.api.scripted_tokens import TOKEN_ANSWERS
from tests.cli.conftest import Quietswap
from tests.cli.test_token_commands import OTHER
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


def test_ether_has_the_price_of_its_weth(quietswap: Quietswap, service: FakeService) -> None:
    """And what is pasted swaps ETH, in all its steps."""
    service.next("price", priced(2_999_999_999), priced(3_000_000_000))
    result = quietswap("watch", "eth", "USDC", "--above", "3000", *FAST)
    assert result.exit_code == 0, result.output
    assert paths(service) == ["price", "price", "quote"]
    assert {asked.query["sellToken"] for asked in service.asked} == {WETH}
    assert "1 ETH is 3,000.00 USDC: at least 3,000 is reached" in " ".join(result.stdout.split())
    assert "to sign wrap, swap: 2 signatures" in " ".join(result.stdout.split())
    assert "quietswap swap 1 ETH USDC" in result.stdout
    refusal = quietswap("watch", "ETH", "WETH", "--above", "1", *FAST)
    assert (refusal.exit_code, "one to one" in refusal.output) == (2, True)


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


@pytest.mark.parametrize(
    ("option", "limit", "missed", "met", "shows"),
    [
        ("--above", "3200.004", 3_200_003_999, 3_200_004_000, "3,200.00"),
        ("--above", "3199.996", 3_199_995_100, 3_199_996_000, "3,199.995"),
        ("--below", "3200", 3_200_000_001, 3_199_999_999, "3,200.000001"),
        ("--above", "3200", 3_199_999_999, 3_200_000_001, "3,199.999999"),
    ],
)
def test_a_price_is_shown_with_the_digits_that_decide(
    quietswap: Quietswap, service: FakeService, option: str, limit: str, missed: int, met: int,
    shows: str,
) -> None:  # fmt: skip
    service.next("price", priced(missed), priced(met))
    result = quietswap("watch", "WETH", "USDC", option, limit, *FAST)
    assert f"1 WETH is {shows} USDC, waiting for" in result.stdout


def test_a_part_of_a_smallest_unit_decides_too(quietswap: Quietswap, service: FakeService) -> None:
    """3 WETH for 9,600.000001 USDC are more than 3,200 a WETH, by a third of a unit."""
    service.next("price", priced(9_600_000_001), priced(9_600_000_000))
    words = ("watch", "WETH", "USDC", "--below", "3200", "--amount", "3", *FAST)
    assert "1 WETH is 3,200.0000003 USDC, waiting for" in quietswap(*words).stdout


def test_the_rate_of_the_quote_is_on_its_side_of_the_limit(
    quietswap: Quietswap, service: FakeService
) -> None:
    quote = service._usual("quote", None)  # type: ignore[arg-type]
    quote.body["data"] |= {"buyAmount": "3200004000", "sellAmount": str(10**18)}
    service.next("price", priced(3_200_005_000))
    service.next("quote", quote)
    result = quietswap("watch", "WETH", "USDC", "--above", "3200.004", *FAST)
    assert "1 WETH = 3,200.004 USDC" in result.stdout, result.output


def test_raw_means_smallest_units_of_one_whole_token(
    quietswap: Quietswap, service: FakeService, environment: dict[str, str | None]
) -> None:
    words = ("--raw", "--above", "3000000000", *FAST)
    result = quietswap("watch", "WETH", "USDC", *words)
    assert result.exit_code == 0, result.output
    assert [asked.query["sellAmount"] for asked in service.asked] == [str(10**18)] * 2
    assert f"quietswap swap {10**18} WETH USDC" in result.stdout
    environment["QUIETSWAP_RPC_URL"] = None
    refused_one = quietswap("watch", OTHER, "USDC", *words)
    assert refused_one.exit_code == 2
    assert "--rpc-url" in refused_one.stderr


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
