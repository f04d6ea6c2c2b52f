"""KyberSwap alone: two calls, its own header when to come back, and pools that live in a block."""

import json

import pytest

from quietswap.rules.quotes.quote import NoRoute, NoRouteReason
from quietswap.service.base.http_client import HttpClient
from quietswap.service.server.factories import make_adapter
from quietswap.service.settings import QuotesConfig, Settings
from tests.upstream import SILENCE, Reply, Upstream, js, page
from tests.vendors.case import REQUEST, cases
from tests.waiting import WITHIN_S

VENDORS = cases()

KYBERSWAP = VENDORS["kyberswap"]


async def missed(http: HttpClient, upstream: Upstream, *replies: Reply) -> NoRoute:
    patience_s = 3.0 if SILENCE in replies else WITHIN_S
    adapter = KYBERSWAP.made(http, upstream.will(*replies).url, timeout_s=patience_s)
    with pytest.raises(NoRoute) as caught:
        await adapter.route(REQUEST)
    return caught.value


@pytest.mark.parametrize(
    ("reply", "miss"),
    [
        (js({"code": 4222, "message": "quoted amount is smaller"}, 422), NoRouteReason.NO_ROUTE),
        (js({"code": 4008}, 400), NoRouteReason.NO_ROUTE),
        (js({"code": 4011}, 400), NoRouteReason.TOKEN_UNKNOWN),
        (js({}, 429), NoRouteReason.RATE_LIMITED),
        (js({}, 403), NoRouteReason.REFUSED),
        (page(), NoRouteReason.UNAVAILABLE),
        (SILENCE, NoRouteReason.TIMED_OUT),
        (js({"code": 0}), NoRouteReason.BAD_REPLY),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_found_but_not_built(
    http: HttpClient, upstream: Upstream, reply: Reply, miss: NoRouteReason
) -> None:
    found = KYBERSWAP.replies()[0]
    assert (await missed(http, upstream, found, reply)).miss is miss
    assert [asked.method for asked in upstream.asked] == ["GET", "POST"]


async def test_not_found_is_not_built(http: HttpClient, upstream: Upstream) -> None:
    await missed(http, upstream, KYBERSWAP.refusal("no_route"), KYBERSWAP.replies()[1])
    assert [asked.method for asked in upstream.asked] == ["GET"]


@pytest.mark.parametrize("takes", [False, True])
async def test_proprietary_amms_are_excluded_unless_the_operator_takes_them(
    http: HttpClient, upstream: Upstream, takes: bool
) -> None:
    """A route through one is marked, also if the vendor names one that it was to leave out."""
    offer, built = KYBERSWAP.replies()
    body = json.loads(offer.body)
    body["data"]["routeSummary"]["route"][1][1]["exchange"] = "fermi-prop"
    adapter = KYBERSWAP.made(http, upstream.will(js(body), built).url)
    adapter.takes_proprietary_amms = takes  # type: ignore[attr-defined]
    route = await adapter.route(REQUEST)
    assert route.proprietary_amms == ("fermi-prop",)
    excluded = dict(upstream.asked[0].query).get("excludedSources")
    assert (excluded is None) is takes


def test_the_operator_decides_on_proprietary_amms() -> None:
    for takes in (False, True):
        settings = Settings(quotes=QuotesConfig(proprietary_amms=takes))
        adapter = make_adapter(settings, "kyberswap", HttpClient())
        assert adapter.takes_proprietary_amms is takes  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"x-ratelimit-reset-after": "4"}, 4.0),
        ({"x-ratelimit-reset-after": "9" * 400}, 300.0),
        ({"x-ratelimit-reset-after": "4", "retry-after": "6"}, 6.0),
        ({"x-ratelimit-reset-after": "soon"}, None),
        ({}, None),
    ],
)
async def test_when_to_come_back(
    http: HttpClient, upstream: Upstream, headers: dict[str, str], seconds: float | None
) -> None:
    miss = await missed(http, upstream, Reply(b"{}", 429, headers))
    assert (miss.miss, miss.retry_after) == (NoRouteReason.RATE_LIMITED, seconds)
