"""In how many words the vendors say no: documented or seen refusals, and what they are read as.

The first two kinds are the market's answer and reach the user as such, so nothing else may be
taken for them.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest

from quietswap.http_client import HttpClient
from quietswap.quoting.quote import NoRoute, NoRouteReason
from tests.adapters.aggregators.bodies import REQUEST
from tests.adapters.aggregators.vendors import KEY, VENDORS
from tests.adapters.upstream import Upstream, js

Words = list[tuple[int, Any]]
SAID: dict[str, dict[NoRouteReason, Words]] = {
    "kyberswap": {
        NoRouteReason.NO_ROUTE: [
            (400, {"code": 4008}),
            (422, {"code": 4009}),
            (200, {"code": 4010}),
            (422, {"code": 4222, "message": "quoted amount is smaller than estimated"}),
            (422, {"code": 4227, "message": "estimate gas failed: return amount is not enough"}),
        ],
        NoRouteReason.TOKEN_UNKNOWN: [(400, {"code": 4011, "message": "token not found"})],
        NoRouteReason.REFUSED: [
            *((401, {}), (403, {"code": 4008}), (451, {})),
            *[(400, {"code": code}) for code in (4000, 4001, 4002, 4003, 4005, 4007, 40010)],
            (422, {"code": 4221, "message": "weth not found"}),
            (400, {"message": "token not found"}),
        ],
        NoRouteReason.UNAVAILABLE: [
            (200, {"code": 500}),
            (400, {"code": 4990, "message": "request was cancelled"}),
            (500, {"code": 4008}),
        ],
        NoRouteReason.BAD_REPLY: [
            (400, {"code": "4008"}),
            (400, {}),
            (200, {"code": 0, "data": None}),
        ],
    },
    "velora": {
        NoRouteReason.NO_ROUTE: [
            (400, {"error": "No routes found with enough liquidity"}),
            (400, {"errorType": "PricingError", "details": "something"}),
            (400, {"error": "ESTIMATED_LOSS_GREATER_THAN_MAX_IMPACT", "value": "99%"}),
            (400, {"error": "the rate has changed, please re-query the latest price"}),
            (400, {"error": "Too much slippage on quote, please try again"}),
            (400, {"errorType": "StalePriceRoute", "details": "Stale priceRoute"}),
            (400, {"error": "Bad USD Price"}),
        ],
        NoRouteReason.TOKEN_UNKNOWN: [
            (400, {"error": "Invalid srcToken"}),
            (400, {"errorType": "InvalidInput", "details": "Invalid destToken"}),
            (404, {"error": "Token not found"}),
        ],
        NoRouteReason.RATE_LIMITED: [
            (400, {"error": "Rate limited"}),
            (400, {"error": "Rate limit reached"}),
        ],
        NoRouteReason.REFUSED: [
            (403, {"error": "Forbidden"}),
            (422, {"error": "Partner not allowed"}),
            (422, {"errorType": "UnsupportedChain", "details": "Unsupported chain"}),
            (400, {"error": "Not enough WETH balance"}),
        ],
        NoRouteReason.TIMED_OUT: [(408, {}), (400, {"error": "Price Timeout"})],
        NoRouteReason.UNAVAILABLE: [(500, {"error": "No routes found with enough liquidity"})],
        NoRouteReason.BAD_REPLY: [
            (400, {"error": {"text": "No routes found with enough liquidity"}}),
            (400, {}),
        ],
    },
    "sushi": {
        NoRouteReason.NO_ROUTE: [
            (200, {"status": "NoWay"}),
            (200, {"status": "Partial", "amountIn": "1"}),
        ],
        NoRouteReason.TOKEN_UNKNOWN: [
            (404, {"detail": "Token not found"}),
            (422, {"detail": "bad tokenIn"}),
        ],
        NoRouteReason.RATE_LIMITED: [(429, {}), (529, {})],
        NoRouteReason.REFUSED: [
            (401, {"code": "invalid-api-key"}),
            (403, {}),
            (422, {"code": "422-04", "detail": "Insufficient allowance"}),
        ],
        NoRouteReason.UNAVAILABLE: [(500, {"detail": "Token not found"}), (503, {})],
        NoRouteReason.BAD_REPLY: [
            (422, {"code": "422-04"}),
            (200, {"status": "Success"}),
            (200, {"status": "noway"}),
            (200, {}),
        ],
    },
    "openocean": {
        NoRouteReason.NO_ROUTE: [
            (200, {"code": 200}),
            (200, {"code": 200, "data": None}),
            (200, {"code": 200, "data": {"outAmount": "0"}}),
            (200, {"code": 200, "data": {"inAmount": "1"}}),
            (400, {"code": 400, "error": "No route"}),
            (200, {"code": 400, "errorMsg": "Insufficient liquidity"}),
        ],
        NoRouteReason.TOKEN_UNKNOWN: [(200, {"code": 400, "error": "Token not found"})],
        NoRouteReason.RATE_LIMITED: [(200, {"code": 429}), (429, {"code": 429})],
        NoRouteReason.REFUSED: [
            (401, {}),
            (403, {"code": 403}),
            (200, {"code": 400, "error": "gasPrice is missing"}),
        ],
        NoRouteReason.UNAVAILABLE: [(200, {"code": 500, "error": "oops"}), (502, {})],
        NoRouteReason.BAD_REPLY: [(400, {"code": 0})],
    },
    "zeroex": {
        NoRouteReason.NO_ROUTE: [(200, {"liquidityAvailable": False, "zid": "0x1"})],
        NoRouteReason.TOKEN_UNKNOWN: [
            (400, {"name": "TOKEN_NOT_SUPPORTED"}),
            (422, {"name": "BUY_TOKEN_NOT_AUTHORIZED_FOR_TRADE"}),
            (422, {"name": "SELL_TOKEN_NOT_AUTHORIZED_FOR_TRADE"}),
        ],
        NoRouteReason.RATE_LIMITED: [(429, {})],
        NoRouteReason.REFUSED: [
            (400, {"name": "USER_NOT_AUTHORIZED"}),
            (401, {}),
            (403, {"name": "TAKER_NOT_AUTHORIZED_FOR_TRADE"}),
            (403, {"name": "SOMETHING_NEW"}),
            (400, {"name": "INPUT_INVALID", "data": {"details": [{"field": "taker"}]}}),
            (400, {"name": "SWAP_VALIDATION_FAILED", "message": "validation failed"}),
            (451, {}),
        ],
        NoRouteReason.UNAVAILABLE: [
            (500, {"name": "INTERNAL_SERVER_ERROR"}),
            (500, {"name": "UNCATEGORIZED"}),
        ],
        NoRouteReason.BAD_REPLY: [
            (400, {"name": ["TOKEN_NOT_SUPPORTED"]}),
            (200, {"liquidityAvailable": True}),
            (200, {"liquidityAvailable": "false"}),
        ],
    },
    "oneinch": {
        NoRouteReason.NO_ROUTE: [
            (400, {"error": "Bad Request", "description": "insufficient liquidity"})
        ],
        NoRouteReason.TOKEN_UNKNOWN: [(400, {"description": "cannot sync token"})],
        NoRouteReason.RATE_LIMITED: [
            (429, {"error": "The limit of requests per second has been exceeded"})
        ],
        NoRouteReason.REFUSED: [
            (401, {"message": "Unauthorized"}),
            (403, {"description": "blocked"}),
            (400, {"description": "cannot estimate"}),
            (400, {"description": "Not enough allowance. Amount: 1. Allowance: 0."}),
            (400, {"description": "Not enough 0x balance. Amount: 1. Balance: 0."}),
        ],
        NoRouteReason.UNAVAILABLE: [(500, {"description": "insufficient liquidity"}), (503, {})],
        NoRouteReason.BAD_REPLY: [
            (400, {"error": ["insufficient liquidity"]}),
            (200, {"error": "insufficient liquidity"}),
        ],
    },
}


KINDS = [(source, miss) for source, misses in SAID.items() for miss in misses]


@pytest.mark.parametrize(("source", "miss"), KINDS)
async def test_what_it_is_read_as(
    http: HttpClient, upstream: Upstream, source: str, miss: NoRouteReason
) -> None:
    for status, body in SAID[source][miss]:
        upstream.will(js(body, status))
        with pytest.raises(NoRoute) as caught:
            await VENDORS[source].made(http, upstream.url).route(REQUEST)
        assert caught.value.miss is miss, body
    assert len(upstream.asked) == len(SAID[source][miss])


async def test_the_second_call_of_kyberswap_may_say_no_as_well(
    http: HttpClient, upstream: Upstream
) -> None:
    found = VENDORS["kyberswap"].replies()[0]
    for miss, words in SAID["kyberswap"].items():
        for status, body in words:
            upstream.will(found, js(body, status))
            with pytest.raises(NoRoute) as caught:
                await VENDORS["kyberswap"].made(http, upstream.url).route(REQUEST)
            assert caught.value.miss is miss, body


SENTENCE = "estimate gas failed: return amount is not enough"
SENTENCES: dict[str, tuple[int, Callable[[str], Any]]] = {
    "kyberswap": (422, lambda text: {"code": 4227, "message": text}),
    "velora": (400, lambda text: {"error": text}),
    "sushi": (422, lambda text: {"code": "422-04", "detail": text}),
    "openocean": (200, lambda text: {"code": 400, "error": text}),
    "zeroex": (400, lambda text: {"name": "SWAP_VALIDATION_FAILED", "message": text}),
    "oneinch": (400, lambda text: {"description": text}),
}


@pytest.mark.parametrize("source", SENTENCES)
async def test_its_sentence_is_quoted(http: HttpClient, upstream: Upstream, source: str) -> None:
    reason = await reason_of(http, upstream, source, SENTENCE)
    assert re.search(f"^vendor: “[A-Z_ ]*{SENTENCE}”", reason), reason


@pytest.mark.parametrize("source", SENTENCES)
@pytest.mark.parametrize(
    "text",
    [
        "” verified by simulation “",
        "two\nlines\r\x1b[2J\u202e\u200b",
        "<b onclick='x'>",
        "x" * 10**5,
        f"the key {KEY} is not known",
        "",
        "\ud800",
    ],
    ids=["closes the quotation", "controls", "markup", "long", "our key", "empty", "surrogate"],
)
async def test_a_hostile_sentence_is_bounded_and_stays_quoted(
    http: HttpClient, upstream: Upstream, source: str, text: str
) -> None:
    reason = await reason_of(http, upstream, source, text)
    assert 0 < len(reason) <= 120
    assert reason.isprintable()
    assert not set("<>'`") & set(reason)
    assert KEY not in reason
    assert reason.count("“") == reason.count("”") == reason.count("vendor: “") <= 1


async def reason_of(http: HttpClient, upstream: Upstream, source: str, text: str) -> str:
    status, body = SENTENCES[source]
    upstream.will(js(body(text), status))
    vendor = VENDORS[source]
    adapter = vendor.adapter(
        http, base_url=upstream.url, client_name="house", timeout_s=5, api_key=KEY
    )
    with pytest.raises(NoRoute) as caught:
        await adapter.route(REQUEST)
    return caught.value.reason
