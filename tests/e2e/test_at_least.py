"""`minBuyAmount` in the place of `sellAmount`: the least that is sold for it, in few quotes."""

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from typing import Any

import httpx
import pytest
from eth_account.signers.local import LocalAccount

from quietswap.sandbox.contracts.pools import TOKENS, SandboxToken
from tests.e2e.conftest import Town
from tests.e2e.test_metrics import scrape, total
from tests.example_counts import LONG, examples
from tests.spec.api_client import ApiClient, Signed
from tests.spec.wire import data, order_body, refused, sign

SHORT = ("WETH USDC", "USDC DAI", "DAI WBTC")
PAIRS = (*SHORT, "USDC WETH", "WBTC USDC", "USDT WETH") if LONG else SHORT
LEAST_USD, MOST_USD = Decimal(1), Decimal(300_000)
"""Of what is bought: from dust to a tenth of the deepest pool."""
HALVINGS = 8 if LONG else 5
MOST_ABOVE = Decimal("0.01")
"""Five halvings of a tenth leave 0.3 % of it."""
PATH = "/api/v1/quote"


@pytest.fixture(scope="module")
def desk(town: Town) -> Iterator[ApiClient]:
    with ApiClient(town) as client:
        yield client


def ask(wallet: LocalAccount, sell: SandboxToken, buy: SandboxToken, **more: int) -> dict[str, str]:
    tokens = {"sellToken": sell.address, "buyToken": buy.address, "userAddress": wallet.address}
    return tokens | {name: str(amount) for name, amount in more.items()}


def goals(buy: SandboxToken, count: int) -> list[int]:
    """Return amounts of a token whose values grow by the same factor, from dust to a tenth."""
    step = (MOST_USD / LEAST_USD) ** (Decimal(1) / (count - 1))
    return [buy.units(LEAST_USD * step**n / buy.usd) for n in range(count)]


def quotes_made(api: httpx.Client) -> int:
    return int(total(scrape(api), "quietswap_quote_phase_seconds_count", phase="verification"))


def least_by_quotes(
    desk: ApiClient, wallet: LocalAccount, pair: list[SandboxToken], goal: int, enough: int
) -> int:
    """Return by bisection, in exact quotes, the least amount of those that reach the goal."""
    short = enough * 9 // 10
    for _ in range(HALVINGS):
        middle = (short + enough) // 2
        quote = data(desk.api.get(PATH, params=ask(wallet, *pair, sellAmount=middle)))
        if int(quote["minBuyAmount"]) >= goal:
            enough = middle
        else:
            short = middle
    return enough


@pytest.mark.parametrize("symbols", PAIRS)
def test_the_least_sell_amount_is_found_in_three_quotes(desk: ApiClient, symbols: str) -> None:
    pair, wallet = [TOKENS[name] for name in symbols.split()], desk.wallet()
    figures: list[tuple[Decimal, Decimal, int]] = []
    for goal in goals(pair[1], examples(60, 3)):
        desk.api = desk.another()  # each client has 300 requests in a minute
        before = quotes_made(desk.api)
        quote = data(desk.api.get(PATH, params=ask(wallet, *pair, minBuyAmount=goal)))
        made = quotes_made(desk.api) - before
        sold, minimum = int(quote["sellAmount"]), int(quote["minBuyAmount"])
        assert minimum >= goal
        assert 1 <= made <= 3
        least = least_by_quotes(desk, wallet, pair, goal, sold)
        assert sold <= least * (1 + MOST_ABOVE)
        figures.append((Decimal(sold) / least - 1, Decimal(minimum) / goal - 1, made))
    above, over, counts = zip(*figures, strict=True)
    mean = sum(above) / len(above)
    print(
        f"{symbols}: {len(figures)} amounts; sold above the least: most {max(above):.3%}, mean"
        f" {mean:.3%}; minimum above the goal: most {max(over):.3%}; quotes: most {max(counts)},"
        f" mean {Decimal(sum(counts)) / len(counts):.2f}"
    )


def test_such_a_quote_is_signed_and_delivers_what_was_asked_for(desk: ApiClient) -> None:
    wallet, goal = desk.wallet(), 250 * 10**6
    pair = TOKENS["WETH"], TOKENS["USDC"]
    quote = data(desk.api.get(PATH, params=ask(wallet, *pair, minBuyAmount=goal, slippageBps=100)))
    desk.approve(wallet, quote)
    raw = sign(wallet, quote["mevProtection"]["transactionParams"])
    order = data(desk.submit(Signed(quote, raw, order_body(wallet, quote, raw, 100))))["order"]
    status = desk.follow(order["orderId"])
    assert status["status"] == "confirmed", status
    assert int(status["received"]["amount"]) >= goal
    assert status["orderParams"]["amount"] == quote["sellAmount"]


def test_a_minimum_that_no_quote_reaches_names_the_closest_quote(desk: ApiClient) -> None:
    """It is no bound of the pools: another amount may have more, and this one costs nearly all."""
    goal = 50_000_000 * 10**6  # more USDC than all pools hold
    query = ask(desk.wallet(), TOKENS["WETH"], TOKENS["USDC"], minBuyAmount=goal)
    answer = refused(desk.api.get(PATH, params=query), 404, "INSUFFICIENT_LIQUIDITY")
    closest = re.search(
        rf"no quote of 3 has a minimum of minBuyAmount {goal}: the closest has (\d+), for a"
        r" sellAmount of (\d+), at a price impact of (\d+\.\d\d) %",
        answer["message"],
    )
    assert closest, answer["message"]
    least, amount, impact = closest.groups()
    exact = ask(desk.wallet(), TOKENS["WETH"], TOKENS["USDC"], sellAmount=int(amount))
    quote = data(desk.api.get(PATH, params=exact))
    assert int(quote["minBuyAmount"]) == pytest.approx(int(least), rel=0.001)
    assert 90 < float(impact) < 100
    assert {row["source"] for row in answer["details"]["sources"]} >= {"uniswap", "kyberswap"}


@pytest.mark.parametrize(
    ("goal", "bps"),
    product((1, 2, 1000), (1, 50, 5000)) if LONG else [(1, 5000), (2, 1), (1000, 50)],
)
@pytest.mark.parametrize("symbols", ["WETH USDC", "USDC WETH", "DAI WBTC"])
def test_dust_is_quoted_too(desk: ApiClient, symbols: str, goal: int, bps: int) -> None:
    """Of USDC for WETH the least that can be sold buys far more than the goal."""
    pair = [TOKENS[name] for name in symbols.split()]
    query = ask(desk.wallet(), *pair, minBuyAmount=goal, slippageBps=bps)
    quote = data(desk.another().get(PATH, params=query))
    assert int(quote["minBuyAmount"]) >= goal
    assert symbols != "USDC WETH" or quote["sellAmount"] == "1"


def test_a_minimum_without_a_route_is_named(desk: ApiClient) -> None:
    goal = 10**33
    query = ask(desk.wallet(), TOKENS["WETH"], TOKENS["USDC"], minBuyAmount=goal)
    answer = refused(desk.api.get(PATH, params=query), 404, "INSUFFICIENT_LIQUIDITY")
    assert f"has a minimum of minBuyAmount {goal}: " in answer["message"]


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "", "x", str(2**256)])
def test_a_minimum_follows_the_rules_of_amounts(desk: ApiClient, text: str) -> None:
    query = ask(desk.wallet(), TOKENS["WETH"], TOKENS["USDC"]) | {"minBuyAmount": text}
    answer = refused(desk.api.get(PATH, params=query), 400, "INVALID_AMOUNT")
    assert answer["details"] == {"field": "minBuyAmount", "provided": text}


def test_exactly_one_of_the_two_amounts_is_given(desk: ApiClient) -> None:
    plain = ask(desk.wallet(), TOKENS["WETH"], TOKENS["USDC"])
    both = plain | {"sellAmount": "5", "minBuyAmount": "7"}
    answer = refused(desk.api.get(PATH, params=both), 400, "INVALID_PARAMETER")
    assert answer["details"] == {"parameter": "minBuyAmount", "provided": "7", "max": None}
    assert "sellAmount is given, too" in answer["message"]
    neither = refused(desk.api.get(PATH, params=plain), 400, "INVALID_AMOUNT")
    assert neither["details"] == {"field": "sellAmount", "provided": ""}


def test_tokens_are_refused_under_the_names_of_this_direction(desk: ApiClient) -> None:
    query = ask(desk.wallet(), TOKENS["WETH"], TOKENS["USDC"], minBuyAmount=5)
    query["buyToken"] = desk.wallet().address  # no token
    answer = refused(desk.api.get(PATH, params=query), 404, "TOKEN_NOT_SUPPORTED")
    assert answer["details"]["reason"] == "buyToken is not an ERC-20 on mainnet"


def test_a_stream_has_no_routes_of_the_amounts_that_were_tried(desk: ApiClient) -> None:
    query = ask(desk.wallet(), TOKENS["WETH"], TOKENS["USDC"], minBuyAmount=250 * 10**6)
    answer = desk.api.get(f"{PATH}/stream", params=query)
    assert [line for line in answer.text.splitlines() if line.startswith("event")] == [
        "event: answer"
    ]
    events: list[Any] = answer.text.strip().split("\n\n")
    assert '"minBuyAmount":"25' in events[-1]
