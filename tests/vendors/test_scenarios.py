"""The same scenarios, by the same names, for every aggregator, over a real HTTP server.

What an adapter cannot know to be wrong alone (a foreign router, another recipient) must be refused
by the money rules that every route meets next.
"""

from typing import Any

import pytest

from quietswap.rules.quotes.quote import NoRoute, NoRouteReason, Route
from quietswap.rules.quotes.route_policy import check_route, with_enforced_minimum
from quietswap.service.base.http_client import HttpClient
from tests.upstream import HTML, SILENCE, Reply, Upstream, js, page
from tests.vendors.case import KEY, REQUEST, STRANGER, VendorCase, cases
from tests.vendors.router import EXECUTOR

VENDORS = cases()


@pytest.fixture(params=VENDORS)
def vendor(request: pytest.FixtureRequest) -> VendorCase:
    found: VendorCase = VENDORS[request.param]
    return found


def judged(route: Route, vendor: VendorCase) -> str | None:
    """Return what the money rules say where the sandbox's Settler is genuine."""
    route = with_enforced_minimum(route, REQUEST)
    return check_route(route, REQUEST, {vendor.router}, settlers=(EXECUTOR,))


class Market:
    """One vendor that answers what it is told."""

    def __init__(self, vendor: VendorCase, http: HttpClient, upstream: Upstream) -> None:
        self.vendor = vendor
        self.http = http
        self.upstream = upstream

    async def route(self, *replies: Reply, timeout_s: float = 5.0) -> Route:
        self.upstream.will(*replies)
        adapter = self.vendor.made(self.http, self.upstream.url, timeout_s)
        return await adapter.route(REQUEST)

    async def miss(self, *replies: Reply, timeout_s: float = 5.0) -> NoRoute:
        with pytest.raises(NoRoute) as caught:
            await self.route(*replies, timeout_s=timeout_s)
        miss = caught.value
        assert 0 < len(miss.reason) <= 120
        assert not any(word in miss.reason for word in ("http", "127.0.0.1", KEY, "<"))
        return miss

    async def verdict(self, **changes: Any) -> str:
        """Return why the answer is refused, by the adapter or by the money rules."""
        try:
            route = await self.route(*self.vendor.replies(**changes))
        except NoRoute as miss:
            return miss.reason if miss.miss is NoRouteReason.BAD_REPLY else f"as {miss.miss}"
        return judged(route, self.vendor) or "accepted"


@pytest.fixture
def market(vendor: VendorCase, http: HttpClient, upstream: Upstream) -> Market:
    return Market(vendor, http, upstream)


async def test_best_route(market: Market) -> None:
    route = await market.route(*market.vendor.replies())
    vendor = market.vendor
    assert route.source == vendor.name == vendor.made(market.http, "").name
    assert (route.target, route.spender, route.value) == (vendor.router, vendor.router, 0)
    assert (route.buy_amount, route.min_buy_amount) == (3_000_000_000, 2_985_000_000)
    assert route.data[:4] != b""
    says = vendor.route_says
    assert (route.gas, route.dex, route.path) == (says.gas, says.dex or vendor.name, says.path)
    assert judged(route, vendor) is None
    assert not market.upstream.replies


async def test_no_route(market: Market) -> None:
    assert (await market.miss(market.vendor.refusal("no_route"))).miss is NoRouteReason.NO_ROUTE


async def test_unknown_token(market: Market) -> None:
    assert (
        await market.miss(market.vendor.refusal("unknown_token"))
    ).miss is NoRouteReason.TOKEN_UNKNOWN


async def test_rate_limited(market: Market) -> None:
    miss = await market.miss(js({"message": "slow down"}, 429, Retry_After="7"))
    assert (miss.miss, miss.retry_after) == (NoRouteReason.RATE_LIMITED, 7.0)


@pytest.mark.parametrize(
    ("pause", "seconds"),
    [("9" * 400, 300.0), ("-1", None), ("soon", None), ("Wed, 21 Oct 2026 07:28:00 GMT", None)],
)
async def test_rate_limited_for_odd_times(
    market: Market, pause: str, seconds: float | None
) -> None:
    miss = await market.miss(Reply(HTML, 429, {"Retry-After": pause}, "text/html"))
    assert (miss.miss, miss.retry_after) == (NoRouteReason.RATE_LIMITED, seconds)


async def test_refused(market: Market) -> None:
    assert (await market.miss(market.vendor.refusal("refused"))).miss is NoRouteReason.REFUSED


@pytest.mark.parametrize("body", [b"", b"{", b"{]}", b"\xff\xfe\x00", b'{"code": 0', b"OK"])
async def test_garbage(market: Market, body: bytes) -> None:
    assert (await market.miss(Reply(body))).miss is NoRouteReason.UNAVAILABLE


@pytest.mark.parametrize("value", [None, 1, "text", [], {}, [[]], {"data": []}, {"code": "0"}])
async def test_other_json(market: Market, value: Any) -> None:
    miss = await market.miss(js(value))
    assert miss.miss is NoRouteReason.BAD_REPLY


@pytest.mark.parametrize("status", [200, 403, 404, 500, 503, 530])
async def test_html(market: Market, status: int) -> None:
    """A gateway asks for a browser, or is broken: the source is away, it has refused nobody."""
    assert (await market.miss(page(status))).miss is NoRouteReason.UNAVAILABLE


@pytest.mark.parametrize("status", [500, 502, 503, 504])
async def test_server_error(market: Market, status: int) -> None:
    miss = await market.miss(js({"code": 500, "error": "oops"}, status))
    assert miss.miss is NoRouteReason.UNAVAILABLE


async def test_timeout(market: Market) -> None:
    assert (await market.miss(SILENCE, timeout_s=0.05)).miss is NoRouteReason.TIMED_OUT


async def test_foreign_router(market: Market) -> None:
    assert "not a pinned router" in await market.verdict(target=STRANGER)


async def test_spender_differs(market: Market) -> None:
    """Where the protocol names no spender it is the router: then it is one approved elsewhere."""
    if market.vendor.spenders:
        verdict = await market.verdict(spender=STRANGER)
        assert f"the spender {STRANGER}" in verdict or "the router of the route" in verdict
    else:
        routers = [vendor.router for vendor in VENDORS.values()]
        elsewhere = next(router for router in routers if router != market.vendor.router)
        assert "not a pinned router" in await market.verdict(target=elsewhere)


async def test_short_minimum(market: Market) -> None:
    assert "enforces only" in await market.verdict(enforced=2)


@pytest.mark.parametrize(
    "vendor", [name for name, case in VENDORS.items() if case.minimum], indirect=True
)
async def test_short_minimum_in_the_reply(market: Market) -> None:
    """Where the source reports the minimum itself, it must keep the slippage that was asked."""
    fields = {market.vendor.minimum: "1"}
    assert "more slippage" in await market.verdict(enforced=1, fields=fields)


async def test_foreign_recipient(market: Market) -> None:
    assert "not the wallet" in await market.verdict(recipient=STRANGER)


@pytest.mark.parametrize("value", ["1", "1000000000000000000", "0x1", "0xde0b6b3a7640000"])
async def test_value_not_zero(market: Market, value: str) -> None:
    assert "wei with the transaction" in await market.verdict(value=value)


@pytest.mark.parametrize("value", ["-1", "0.1", "zero", "0xzz", "9" * 90])
async def test_value_is_no_amount(market: Market, value: str) -> None:
    assert await market.verdict(value=value) != "accepted"
