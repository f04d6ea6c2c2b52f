"""Figures that are none: strings, floats, hex, negative, beyond 2**256, of another token."""

import json
from typing import Any

import pytest

from quietswap.rules.quotes.quote import NoRoute, NoRouteReason, Route
from quietswap.service.base.http_client import HttpClient
from tests.upstream import Upstream, js
from tests.vendors.case import DAI, REQUEST, SOLD, cases

VENDORS = cases()


def pairs(field: str) -> pytest.MarkDecorator:
    found = [(name, path) for name, case in VENDORS.items() for path in getattr(case, field)]
    return pytest.mark.parametrize(("source", "path"), found)


async def answered(http: HttpClient, upstream: Upstream, source: str, **fields: Any) -> Route:
    replies = VENDORS[source].replies(fields=fields)
    return await VENDORS[source].made(http, upstream.will(*replies).url).route(REQUEST)


async def missed(http: HttpClient, upstream: Upstream, source: str, **fields: Any) -> NoRoute:
    with pytest.raises(NoRoute) as caught:
        await answered(http, upstream, source, **fields)
    assert len(caught.value.reason) <= 120
    return caught.value


NO_AMOUNTS: list[Any] = [
    *("-1", -1, "0", 0, "", "0x10", "3e9", "1.0", " 1", "1 ", "+1", "1_000", "\u0661", "NaN"),
    *(1.5, 3e9, 1e300, None, True, [], {}, ["1"], {"hex": "0x1"}),
    *(2**256, str(2**256), -(2**256), "9" * 5000, 10**400),
]


@pairs("amounts")
async def test_what_is_no_amount(
    http: HttpClient, upstream: Upstream, source: str, path: str
) -> None:
    is_output = VENDORS[source].amounts[path] != SOLD
    for value in NO_AMOUNTS:
        miss = await missed(http, upstream, source, **{path: value})
        is_nothing = is_output and value in ("0", 0)
        expected = NoRouteReason.NO_ROUTE if is_nothing else NoRouteReason.BAD_REPLY
        assert miss.miss is expected, repr(value)[:40]


@pairs("amounts")
async def test_a_whole_number_is_an_amount(
    http: HttpClient, upstream: Upstream, source: str, path: str
) -> None:
    """Written as JSON number it is the same as in a string."""
    plain = await answered(http, upstream, source)
    number = VENDORS[source].amounts[path]
    assert await answered(http, upstream, source, **{path: number}) == plain
    assert await answered(http, upstream, source, **{path: str(number)}) == plain


@pytest.mark.parametrize(
    ("source", "path"),
    [
        (name, path)
        for name, case in VENDORS.items()
        for path in case.amounts
        if case.amounts[path] == SOLD
    ],
)
async def test_another_amount_than_asked(
    http: HttpClient, upstream: Upstream, source: str, path: str
) -> None:
    for value in (REQUEST.sell_amount - 1, str(REQUEST.sell_amount + 1), "1"):
        miss = await missed(http, upstream, source, **{path: value})
        assert (miss.miss, miss.reason) == (
            NoRouteReason.BAD_REPLY,
            "it sells another amount than asked",
        )


@pairs("gas")
async def test_odd_gas_is_no_gas(
    http: HttpClient, upstream: Upstream, source: str, path: str
) -> None:
    """Gas moves no money: without a figure the route is as good as before."""
    for value in (-1, 0, "-5", "0x5208", "x", 1e30, 2.5, None, True, [], "9" * 20, 10**9):
        route = await answered(http, upstream, source, **{path: value})
        assert route.gas is None, value
    for value in (21_000, "21000", 21_000.0):
        assert (await answered(http, upstream, source, **{path: value})).gas == 21_000


@pairs("addresses")
async def test_what_is_no_address(
    http: HttpClient, upstream: Upstream, source: str, path: str
) -> None:
    whole = VENDORS[source].router
    odd = ["", "0x", whole[:-1], f"{whole}0", whole[2:], f"0x{'g' * 40}", f" {whole}"]
    for value in (*odd, None, 5, True, [whole], {"address": whole}):
        assert (
            await missed(http, upstream, source, **{path: value})
        ).miss is NoRouteReason.BAD_REPLY


@pairs("tokens")
async def test_answer_for_another_token(
    http: HttpClient, upstream: Upstream, source: str, path: str
) -> None:
    for value in (DAI, DAI.lower(), "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", "WETH", 1):
        assert (
            await missed(http, upstream, source, **{path: value})
        ).miss is NoRouteReason.BAD_REPLY


@pytest.mark.parametrize("field", ["tokenFrom", "tokenTo"])
async def test_sushi_answers_for_another_token(
    http: HttpClient, upstream: Upstream, field: str
) -> None:
    assert (await missed(http, upstream, "sushi", **{field: 0})).miss is NoRouteReason.BAD_REPLY


@pytest.mark.parametrize("field", ["tokenFrom", "tokenTo"])
async def test_sushi_index_that_points_nowhere(
    http: HttpClient, upstream: Upstream, field: str
) -> None:
    """The tokens in the calldata are checked all the same."""
    plain = await answered(http, upstream, "sushi")
    for value in (-1, 3, 10**30, "0", 1.0, True, None):
        assert await answered(http, upstream, "sushi", **{field: value}) == plain


@pairs("calldata")
async def test_what_is_no_calldata(
    http: HttpClient, upstream: Upstream, source: str, path: str
) -> None:
    too_long = "0x" + "00" * 130_000
    for value in ("", "0x", "0x123", "0xzzzzzzzz", "0x010203", "e21fd0e9", too_long, None, 5, []):
        assert (
            await missed(http, upstream, source, **{path: value})
        ).miss is NoRouteReason.BAD_REPLY


@pytest.mark.parametrize(
    ("impact", "percent"),
    [(0.0012, "0.1200"), (-0.002, "-0.200"), ("x", None), (None, None), ("1e9999", None)],
)
async def test_sushi_impact_is_a_fraction(
    http: HttpClient, upstream: Upstream, impact: Any, percent: str | None
) -> None:
    route = await answered(http, upstream, "sushi", priceImpact=impact)
    assert (None if route.impact_percent is None else str(route.impact_percent)) == percent


@pytest.mark.parametrize(
    ("fee", "net"), [(0.01, 2_999_700_000), ("0.1", 2_997_000_000), (None, 3_000_000_000)]
)
async def test_velora_promise_is_net_of_the_partner_fee(
    http: HttpClient, upstream: Upstream, fee: Any, net: int
) -> None:
    route = await answered(http, upstream, "velora", **{"priceRoute.partnerFee": fee})
    assert (route.buy_amount, route.min_buy_amount) == (net, net * 9950 // 10_000)


@pytest.mark.parametrize("fee", [-1, 100, "1000", 1e30])
async def test_velora_fee_that_is_none(http: HttpClient, upstream: Upstream, fee: Any) -> None:
    miss = await missed(http, upstream, "velora", **{"priceRoute.partnerFee": fee})
    assert miss.miss is NoRouteReason.BAD_REPLY


async def test_velora_net_amount_is_taken_where_it_is_given(
    http: HttpClient, upstream: Upstream
) -> None:
    price, tx = _velora()
    answer = {"priceRoute": {**price, "destAmountAfterFee": "2999999999"}, "txParams": tx}
    upstream.will(js(answer))
    route = await VENDORS["velora"].made(http, upstream.url).route(REQUEST)
    assert route.buy_amount == 2_999_999_999


async def test_velora_router_of_the_price_must_be_that_of_the_transaction(
    http: HttpClient, upstream: Upstream
) -> None:
    miss = await missed(http, upstream, "velora", **{"priceRoute.contractAddress": DAI})
    assert miss.miss is NoRouteReason.BAD_REPLY


def _velora() -> tuple[dict[str, Any], dict[str, Any]]:
    [reply] = VENDORS["velora"].replies()
    answer = json.loads(reply.body)
    return answer["priceRoute"], answer["txParams"]
