"""In how many words the vendors say no: documented or seen refusals, and what they are read as.

The first two kinds are the market's answer and reach the user as such, so nothing else may be
taken for them.
"""

import re

import pytest

from quietswap.rules.quotes.quote import NoRoute, NoRouteReason
from quietswap.service.base.http_client import HttpClient
from tests.upstream import Upstream, js
from tests.vendors.case import KEY, REQUEST, cases

VENDORS = cases()

KINDS = [(source, miss) for source, case in VENDORS.items() for miss in case.said]


@pytest.mark.parametrize(("source", "miss"), KINDS)
async def test_what_it_is_read_as(
    http: HttpClient, upstream: Upstream, source: str, miss: NoRouteReason
) -> None:
    for status, body in VENDORS[source].said[miss]:
        upstream.will(js(body, status))
        with pytest.raises(NoRoute) as caught:
            await VENDORS[source].made(http, upstream.url).route(REQUEST)
        assert caught.value.miss is miss, body
    assert len(upstream.asked) == len(VENDORS[source].said[miss])


async def test_the_second_call_of_kyberswap_may_say_no_as_well(
    http: HttpClient, upstream: Upstream
) -> None:
    found = VENDORS["kyberswap"].replies()[0]
    for miss, words in VENDORS["kyberswap"].said.items():
        for status, body in words:
            upstream.will(found, js(body, status))
            with pytest.raises(NoRoute) as caught:
                await VENDORS["kyberswap"].made(http, upstream.url).route(REQUEST)
            assert caught.value.miss is miss, body


SENTENCE = "the pool has moved since"


@pytest.mark.parametrize("source", VENDORS)
async def test_its_sentence_is_quoted(http: HttpClient, upstream: Upstream, source: str) -> None:
    reason = await reason_of(http, upstream, source, SENTENCE)
    assert re.search(f"^vendor: “[A-Z_ ]*{SENTENCE}”", reason), reason


@pytest.mark.parametrize("source", VENDORS)
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
    status, body = VENDORS[source].sentence
    upstream.will(js(body(text), status))
    vendor = VENDORS[source]
    adapter = vendor.adapter(
        http, base_url=upstream.url, client_name="house", timeout_s=5, api_key=KEY
    )
    with pytest.raises(NoRoute) as caught:
        await adapter.route(REQUEST)
    return caught.value.reason
