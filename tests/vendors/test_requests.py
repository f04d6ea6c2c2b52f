"""What each vendor is asked, to the letter: path, parameters, headers, body."""

import json
from dataclasses import replace

import pytest

from quietswap.rules.quotes.quote import NoRoute, RouteRequest
from quietswap.rules.tokens.token import WETH
from quietswap.service.base.http_client import HttpClient
from tests.upstream import Asked, Reply, Upstream, js
from tests.vendors.case import AMOUNT, KEY, REQUEST, USDC, WALLET, Calls, cases

VENDORS = cases()

_EVERY_REQUEST = {"host", "user-agent", "accept", "accept-encoding", "content-length"}


def own_headers(asked: Asked) -> dict[str, str]:
    """Return the headers that are not of every request, and not the type of a body."""
    names = asked.headers.keys() - _EVERY_REQUEST - {"content-type"}
    return {name: asked.headers[name] for name in names}


async def ask(http: HttpClient, upstream: Upstream, source: str, request: RouteRequest) -> None:
    """Ask once; the slippage in the answer is not for the adapter to judge."""
    upstream.will(*VENDORS[source].replies())
    await VENDORS[source].made(http, upstream.url).route(request)


@pytest.mark.parametrize("source", VENDORS)
async def test_exact_request(http: HttpClient, upstream: Upstream, source: str) -> None:
    await ask(http, upstream, source, REQUEST)
    asked: Calls = []
    for call in upstream.asked:
        asked.append((f"{call.method} {call.path}", dict(call.query)))
        assert len(call.query) == len(dict(call.query))
        assert own_headers(call) == VENDORS[source].headers
    assert asked == VENDORS[source].asked


@pytest.mark.parametrize("source", VENDORS)
async def test_base_url_may_end_in_a_slash(
    http: HttpClient, upstream: Upstream, source: str
) -> None:
    upstream.will(*VENDORS[source].replies())
    await VENDORS[source].made(http, f"{upstream.url}/").route(REQUEST)
    assert [f"{call.method} {call.path}" for call in upstream.asked] == [
        call for call, _ in VENDORS[source].asked
    ]


def written(source: str, asked: list[Asked]) -> str:
    """Return the slippage as the vendor gets it, in its own unit."""
    sent = [dict(one.query) | (one.json() if one.body else {}) for one in asked]
    [found] = [one[name] for one in sent if (name := VENDORS[source].slippage_name) in one]
    return str(found)


@pytest.mark.parametrize(
    ("bps", "percent", "fraction"),
    [(1, "0.01", "0.0001"), (50, "0.5", "0.005"), (100, "1", "0.01"), (5000, "50", "0.5")],
)
@pytest.mark.parametrize("source", VENDORS)
async def test_slippage_in_the_unit_of_the_vendor(
    http: HttpClient, upstream: Upstream, source: str, bps: int, percent: str, fraction: str
) -> None:
    units = {"bps": str(bps), "percent": percent, "fraction": fraction}
    await ask(http, upstream, source, replace(REQUEST, slippage_bps=bps))
    assert written(source, upstream.asked) == units[VENDORS[source].slippage]


SUMMARY = (
    b'{"tokenIn":"%b","tokenOut":"%b","amountIn":"%b", "route" : [ ],'
    b'"checksum":"17691095414726979128","huge":18446744073709551617,"odd":[1.50,1e-7,null],'
    b'"\\u00e4":"\\/"}' % (WETH.encode(), USDC.encode(), AMOUNT.encode())
)


@pytest.mark.parametrize("bps", [50, 2000])
async def test_kyberswap_gets_its_summary_back_byte_for_byte(
    http: HttpClient, upstream: Upstream, bps: int
) -> None:
    """It is signed by a checksum: numbers beyond 2**53 and odd spellings must survive."""
    found = b'{"code":0,"data":{"routeSummary":%b}}' % SUMMARY
    built = VENDORS["kyberswap"].replies()[1]
    upstream.will(Reply(found), built)
    adapter = VENDORS["kyberswap"].made(http, upstream.url)
    route = await adapter.route(replace(REQUEST, slippage_bps=bps))
    body = upstream.asked[1].body
    assert body.startswith(b'{"routeSummary":' + SUMMARY + b",")
    rest = {name: value for name, value in json.loads(body).items() if name != "routeSummary"}
    assert rest == {
        "sender": WALLET,
        "recipient": WALLET,
        "origin": WALLET,
        "slippageTolerance": bps,
        "deadline": 1_800_000_000,
        "source": "house",
    }
    assert upstream.asked[1].headers["content-type"] == "application/json"
    assert (route.dex, route.path) == ("kyberswap", (WETH, USDC))


@pytest.mark.parametrize("source", [name for name, case in VENDORS.items() if case.optional_key])
async def test_optional_key(http: HttpClient, upstream: Upstream, source: str) -> None:
    upstream.will(js({}, 500))
    adapter = VENDORS[source].adapter(
        http, base_url=upstream.url, client_name="house", timeout_s=5, api_key=KEY
    )
    with pytest.raises(NoRoute) as caught:
        await adapter.route(REQUEST)
    assert KEY not in f"{caught.value!r}"
    [asked] = upstream.asked
    found = {**asked.headers, **{f"?{name}": value for name, value in asked.query}}
    assert [name for name, value in found.items() if KEY in value] == [VENDORS[source].optional_key]
