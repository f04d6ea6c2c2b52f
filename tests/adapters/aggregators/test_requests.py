"""What each vendor is asked, to the letter: path, parameters, headers, body."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from quietswap.http_client import HttpClient
from quietswap.quoting.quote import NoRoute, RouteRequest
from quietswap.tokens.token import WETH
from quietswap.vendors.kyberswap import adapter as kyberswap
from quietswap.vendors.openocean import adapter as openocean
from quietswap.vendors.sushi import adapter as sushi
from quietswap.vendors.velora import adapter as velora
from tests.adapters.aggregators.bodies import REQUEST, USDC, WALLET
from tests.adapters.aggregators.vendors import KEY, VENDORS
from tests.adapters.upstream import Asked, Reply, Upstream, js

AMOUNT = "1000000000000000000"
Calls = list[tuple[str, Mapping[str, str]]]

ASKED: dict[str, Calls] = {
    "kyberswap": [
        (
            "GET /ethereum/api/v1/routes",
            {
                "tokenIn": WETH,
                "tokenOut": USDC,
                "amountIn": AMOUNT,
                "gasInclude": "true",
                "excludeRFQSources": "true",
                "origin": WALLET,
            },
        ),
        ("POST /ethereum/api/v1/route/build", {}),
    ],
    "velora": [
        (
            "GET /swap",
            {
                "srcToken": WETH,
                "srcDecimals": "18",
                "destToken": USDC,
                "destDecimals": "6",
                "amount": AMOUNT,
                "side": "SELL",
                "network": "1",
                "userAddress": WALLET,
                "slippage": "50",
                "version": "6.2",
                "partner": "house",
                "maxImpact": "100",
                "ignoreBadUsdPrice": "true",
                "includeContractMethods": (
                    "swapExactAmountIn,swapExactAmountInOnUniswapV2,swapExactAmountInOnUniswapV3,"
                    "swapExactAmountInOnCurveV1,swapExactAmountInOnCurveV2"
                ),
            },
        )
    ],
    "sushi": [
        (
            "GET /swap/v7/1",
            {
                "tokenIn": WETH,
                "tokenOut": USDC,
                "amount": AMOUNT,
                "maxSlippage": "0.005",
                "sender": WALLET,
                "recipient": WALLET,
                "referrer": "house",
            },
        )
    ],
    "openocean": [
        (
            "GET /v4/1/swap",
            {
                "inTokenAddress": WETH,
                "outTokenAddress": USDC,
                "amountDecimals": AMOUNT,
                "gasPriceDecimals": "2000000000",
                "slippage": "0.5",
                "account": WALLET,
                "sender": WALLET,
                "disableRfq": "true",
            },
        )
    ],
    "zeroex": [
        (
            "GET /swap/allowance-holder/quote",
            {
                "chainId": "1",
                "sellToken": WETH,
                "buyToken": USDC,
                "sellAmount": AMOUNT,
                "taker": WALLET,
                "slippageBps": "50",
                "gasPrice": "2000000000",
            },
        )
    ],
    "oneinch": [
        (
            "GET /swap/v6.1/1/swap",
            {
                "src": WETH,
                "dst": USDC,
                "amount": AMOUNT,
                "from": WALLET,
                "origin": WALLET,
                "slippage": "0.5",
                "disableEstimate": "true",
                "allowPartialFill": "false",
                "compatibility": "true",
                "includeTokensInfo": "true",
            },
        )
    ],
}
HEADERS = {
    "kyberswap": {"x-client-id": "house"},
    "zeroex": {"0x-version": "v2", "0x-api-key": KEY},
    "oneinch": {"authorization": f"Bearer {KEY}"},
}
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
        assert own_headers(call) == HEADERS.get(source, {})
    assert asked == ASKED[source]


@pytest.mark.parametrize("source", VENDORS)
async def test_base_url_may_end_in_a_slash(
    http: HttpClient, upstream: Upstream, source: str
) -> None:
    upstream.will(*VENDORS[source].replies())
    await VENDORS[source].made(http, f"{upstream.url}/").route(REQUEST)
    assert [f"{call.method} {call.path}" for call in upstream.asked] == [
        call for call, _ in ASKED[source]
    ]


def written(source: str, asked: list[Asked]) -> str:
    """Return the slippage as the vendor gets it, in its own unit."""
    if source == "kyberswap":
        return str(asked[1].json()["slippageTolerance"])
    [name] = {"slippage", "slippageBps", "maxSlippage"} & dict(asked[0].query).keys()
    return dict(asked[0].query)[name]


@pytest.mark.parametrize(
    ("bps", "percent", "fraction"),
    [(1, "0.01", "0.0001"), (50, "0.5", "0.005"), (100, "1", "0.01"), (5000, "50", "0.5")],
)
@pytest.mark.parametrize("source", VENDORS)
async def test_slippage_in_the_unit_of_the_vendor(
    http: HttpClient, upstream: Upstream, source: str, bps: int, percent: str, fraction: str
) -> None:
    units = {"openocean": percent, "oneinch": percent, "sushi": fraction}
    await ask(http, upstream, source, replace(REQUEST, slippage_bps=bps))
    assert written(source, upstream.asked) == units.get(source, str(bps))


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


OPTIONAL_KEYS: list[tuple[Any, str]] = [
    (kyberswap.KyberSwap, "x-api-key"),
    (velora.Velora, "x-api-key"),
    (openocean.OpenOcean, "apikey"),
    (sushi.Sushi, "?apiKey"),
]


@pytest.mark.parametrize(("adapter", "place"), OPTIONAL_KEYS)
async def test_optional_key(http: HttpClient, upstream: Upstream, adapter: Any, place: str) -> None:
    upstream.will(js({}, 500))
    with pytest.raises(NoRoute) as caught:
        await adapter(http, base_url=upstream.url, api_key=KEY).route(REQUEST)
    assert KEY not in f"{caught.value!r}"
    [asked] = upstream.asked
    found = {**asked.headers, **{f"?{name}": value for name, value in asked.query}}
    assert [name for name, value in found.items() if KEY in value] == [place]
