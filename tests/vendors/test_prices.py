"""Indicative prices of every aggregator: what is asked, and how each answer is read."""

from typing import Any

import pytest

from quietswap.rules.quotes.indicative_price import SourcePriceRequest
from quietswap.rules.quotes.quote import NoRoute, NoRouteReason
from quietswap.rules.quotes.scoring import SourcePrice
from quietswap.rules.tokens.token import WETH
from quietswap.service.base.http_client import HttpClient
from tests.upstream import HTML, SILENCE, Reply, Upstream, js, page
from tests.vendors.case import REQUEST, USDC, cases

VENDORS = cases()

ASK = SourcePriceRequest(REQUEST.sell, REQUEST.buy, 10**18, 2_000_000_000)
SWAP = {"sell": WETH.lower(), "buy": USDC.lower(), "amount": str(10**18)}


def price_body(source: str, **changes: Any) -> dict[str, Any]:
    """Return the smallest answer of a price endpoint; `out` in smallest units."""
    terms = SWAP | {"out": "3000000000"} | changes
    sell, buy, amount, out = (terms[name] for name in ("sell", "buy", "amount", "out"))
    return VENDORS[source].price(sell, buy, amount, out)


class PriceDesk:
    """One vendor's adapter in front of a server that answers what it is told."""

    def __init__(self, http: HttpClient, upstream: Upstream) -> None:
        self.http, self.upstream = http, upstream

    async def ask(
        self, source: str, *replies: Reply, request: SourcePriceRequest = ASK, timeout_s: float = 30
    ) -> SourcePrice:
        self.upstream.will(*replies)
        return await VENDORS[source].made(self.http, self.upstream.url, timeout_s).price(request)

    async def miss(self, source: str, reply: Reply, timeout_s: float = 30) -> NoRoute:
        with pytest.raises(NoRoute) as caught:
            await self.ask(source, reply, timeout_s=timeout_s)
        return caught.value


@pytest.fixture
def desk(http: HttpClient, upstream: Upstream) -> PriceDesk:
    return PriceDesk(http, upstream)


@pytest.mark.parametrize("source", VENDORS)
async def test_one_request_without_a_wallet(desk: PriceDesk, source: str) -> None:
    price = await desk.ask(source, js(price_body(source)))
    (asked,) = desk.upstream.asked
    path, query = VENDORS[source].price_asked
    says = VENDORS[source].price_says
    assert (asked.method, asked.path, dict(asked.query)) == ("GET", path, query)
    assert (price.buy_amount, price.gas, price.impact_percent) == (says.out, says.gas, says.impact)
    assert price.gas_estimate == 150_000, "a figure below a plain swap's is not believed"


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"sell": USDC}, "another token"),
    ({"buy": WETH}, "another token"),
    ({"amount": "5"}, "another amount"),
    ({"out": "-1"}, "not a positive integer"),
    ({"out": None}, ""),
)


@pytest.mark.parametrize(
    ("source", "changes", "word"),
    [
        (source, *wrong)
        for source in VENDORS
        for wrong in WRONG
        if price_body(source, **wrong[0]) != price_body(source)
    ],
)
async def test_an_answer_to_another_question_is_refused(
    desk: PriceDesk, source: str, changes: dict[str, Any], word: str
) -> None:
    miss = await desk.miss(source, js(price_body(source, **changes)))
    expected = (
        NoRouteReason.NO_ROUTE
        if miss.reason == "an answer without data"
        else NoRouteReason.BAD_REPLY
    )
    assert miss.miss is expected
    assert word in miss.reason


@pytest.mark.parametrize("source", VENDORS)
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("no_route", NoRouteReason.NO_ROUTE),
        ("unknown_token", NoRouteReason.TOKEN_UNKNOWN),
        ("refused", NoRouteReason.REFUSED),
    ],
)
async def test_a_refusal_is_read_like_that_of_a_route(
    desk: PriceDesk, source: str, answer: str, reason: NoRouteReason
) -> None:
    assert (await desk.miss(source, VENDORS[source].refusal(answer))).miss is reason


@pytest.mark.parametrize("source", VENDORS)
async def test_an_outage_is_an_outage(desk: PriceDesk, source: str) -> None:
    assert (await desk.miss(source, page(503))).miss is NoRouteReason.UNAVAILABLE
    assert (await desk.miss(source, Reply(HTML))).miss is NoRouteReason.UNAVAILABLE
    assert (await desk.miss(source, js({}, 429))).miss is NoRouteReason.RATE_LIMITED
    assert (await desk.miss(source, SILENCE, timeout_s=0.2)).miss is NoRouteReason.TIMED_OUT
