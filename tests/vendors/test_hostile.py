"""A vendor that attacks: every adapter names it as failed, in time and with flat memory."""

import asyncio
import copy
import functools
import itertools
import operator
from collections.abc import Iterator
from typing import Any

import pytest

from quietswap.rules.quotes.quote import NoRoute, NoRouteReason
from quietswap.service.base.http_client import HttpClient
from tests.upstream import HANG_UP, Reply, Upstream, flat_memory, js, zipped
from tests.vendors.case import REQUEST, Terms, VendorCase, cases
from tests.waiting import WITHIN_S

VENDORS = cases()

MIB = 2**20


@pytest.fixture(params=VENDORS)
def vendor(request: pytest.FixtureRequest) -> VendorCase:
    found: VendorCase = VENDORS[request.param]
    return found


async def missed(
    vendor: VendorCase,
    http: HttpClient,
    upstream: Upstream,
    *replies: Reply,
    timeout_s: float = 5.0,
) -> NoRouteReason:
    adapter = vendor.made(http, upstream.will(*replies).url, timeout_s)
    with flat_memory(), pytest.raises(NoRoute) as caught:
        await adapter.route(REQUEST)
    assert 0 < len(caught.value.reason) <= 120
    return caught.value.miss


async def test_body_over_a_megabyte(
    vendor: VendorCase, http: HttpClient, upstream: Upstream
) -> None:
    """It would be an honest answer but for its size."""
    first, *rest = vendor.replies()
    huge = Reply(first.body[:-1] + b',"x":"' + b"a" * MIB + b'"}')
    assert await missed(vendor, http, upstream, huge, *rest) is NoRouteReason.UNAVAILABLE


async def test_fifty_megabytes(vendor: VendorCase, http: HttpClient, upstream: Upstream) -> None:
    endless = Reply(chunks=itertools.repeat(b" " * 65536, 800))
    assert await missed(vendor, http, upstream, endless) is NoRouteReason.UNAVAILABLE


async def test_gzip_bomb(vendor: VendorCase, http: HttpClient, upstream: Upstream) -> None:
    bomb = zipped(b" " * (30 * MIB))
    assert await missed(vendor, http, upstream, bomb) is NoRouteReason.UNAVAILABLE


@pytest.mark.parametrize("opening", [b"[", b'{"data":', b'{"error":[', b'{"priceRoute":'])
@pytest.mark.parametrize("status", [200, 400])
async def test_deep_json(
    vendor: VendorCase,
    http: HttpClient,
    upstream: Upstream,
    no_recursion_limit: None,
    opening: bytes,
    status: int,
) -> None:
    """As in a process with py_ecc, which raises the recursion limit when it is imported."""
    deep = Reply(opening * 100_000, status)
    assert await missed(vendor, http, upstream, deep) is NoRouteReason.UNAVAILABLE


@pytest.mark.parametrize("status", [200, 400])
async def test_deep_json_under_the_usual_limit(
    vendor: VendorCase,
    http: HttpClient,
    upstream: Upstream,
    usual_recursion_limit: None,
    status: int,
) -> None:
    """The decoder may stop at the first bracket, because no vendor answers with an array."""
    miss = await missed(vendor, http, upstream, Reply(b"[" * 100_000, status))
    assert miss in (NoRouteReason.UNAVAILABLE, NoRouteReason.BAD_REPLY)


async def test_deep_words(vendor: VendorCase, http: HttpClient, upstream: Upstream) -> None:
    """As deep as is read at all, where a text is looked for."""
    nested = b"[" * 190 + b"]" * 190
    names = (b"error", b"details", b"description", b"detail", b"name", b"errorMsg")
    body = b"{" + b",".join(b'"%s":%s' % (name, nested) for name in names) + b"}"
    assert await missed(vendor, http, upstream, Reply(body, 400)) is not NoRouteReason.NO_ROUTE


async def test_endless_drip(vendor: VendorCase, http: HttpClient, upstream: Upstream) -> None:
    drip = Reply(chunks=itertools.repeat(b" "), pause=0.01)
    miss = await missed(vendor, http, upstream, drip, timeout_s=0.5)
    assert miss is NoRouteReason.TIMED_OUT


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_redirect(
    vendor: VendorCase, http: HttpClient, upstream: Upstream, status: int
) -> None:
    """Not followed, though an honest answer waits there."""
    there = Reply(b"", status, {"Location": upstream.url + "/elsewhere"})
    miss = await missed(vendor, http, upstream, there, *vendor.replies())
    assert miss is NoRouteReason.UNAVAILABLE
    assert len(upstream.asked) == 1


@pytest.mark.parametrize("kind", ["text/html", "text/plain", "application/octet-stream"])
async def test_wrong_content_type(
    vendor: VendorCase, http: HttpClient, upstream: Upstream, kind: str
) -> None:
    first, *rest = vendor.replies()
    first.content_type = kind
    assert await missed(vendor, http, upstream, first, *rest) is NoRouteReason.UNAVAILABLE


async def test_hanging_up(vendor: VendorCase, http: HttpClient, upstream: Upstream) -> None:
    assert await missed(vendor, http, upstream, HANG_UP) is NoRouteReason.UNAVAILABLE


async def test_body_cut_short(vendor: VendorCase, http: HttpClient, upstream: Upstream) -> None:
    first, *rest = vendor.replies()
    short = Reply(first.body, length=len(first.body) + 1, then="close")
    assert await missed(vendor, http, upstream, short, *rest) is NoRouteReason.UNAVAILABLE


async def test_nobody_there(vendor: VendorCase, http: HttpClient) -> None:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()
    await server.wait_closed()
    with pytest.raises(NoRoute) as caught:
        await vendor.made(http, url).route(REQUEST)
    assert caught.value.miss is NoRouteReason.UNAVAILABLE


async def test_calldata_no_transaction_can_hold(
    vendor: VendorCase, http: HttpClient, upstream: Upstream
) -> None:
    fields = dict.fromkeys(vendor.calldata, "0x" + "00" * 200_000)
    replies = vendor.replies(fields=fields)
    assert await missed(vendor, http, upstream, *replies) is NoRouteReason.BAD_REPLY


ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1.5,
    1e300,
    "",
    "x",
    "0x",
    "9" * 90,
    [],
    {},
    [[]],
    [None],
    {"a": 1},
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return where every value of a body stands, the body itself included."""
    yield path
    inner = enumerate(value) if isinstance(value, list) else ()
    for key, item in value.items() if isinstance(value, dict) else inner:
        yield from _paths(item, (*path, key))


def _with(body: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    changed = copy.deepcopy(body)
    inner = functools.reduce(operator.getitem, path[:-1], changed)
    inner[path[-1]] = odd
    return changed


def _oddities(bodies: list[Any]) -> Iterator[list[Any]]:
    for at, body in enumerate(bodies):
        for path, odd in itertools.product(list(_paths(body)), ODD):
            yield [*bodies[:at], _with(body, path, odd), *bodies[at + 1 :]]


async def test_any_field_may_hold_anything(
    vendor: VendorCase, http: HttpClient, upstream: Upstream
) -> None:
    """Every field of the honest answer, replaced by every odd value: a route or a miss, no crash.

    And no oddity can make the promise better than it was, or the router another one.
    """
    bodies = vendor.body(Terms(target=vendor.router))
    adapter = vendor.made(http, upstream.url)
    routes = misses = 0
    for changed in _oddities(bodies):
        upstream.will(*(js(body) for body in changed))
        try:
            route = await adapter.route(REQUEST)
        except NoRoute:
            misses += 1
        else:
            routes += 1
            assert 0 < route.buy_amount <= 3_000_000_000
            assert (route.target, route.path[0]) == (vendor.router, REQUEST.sell.address)
    fields = sum(1 for body in bodies for _ in _paths(body))
    assert min(routes, misses) > fields


async def test_both_kyberswap_calls_are_bounded(http: HttpClient, upstream: Upstream) -> None:
    """The second answer is read as suspiciously as the first."""
    vendor = VENDORS["kyberswap"]
    first = vendor.replies()[0]
    for second in (zipped(b" " * (30 * MIB)), Reply(b"[" * 100_000), js([], 200), js({}, 500)):
        miss = await missed(vendor, http, upstream, first, second)
        assert miss in (NoRouteReason.UNAVAILABLE, NoRouteReason.BAD_REPLY)


async def test_the_caller_can_give_up(
    vendor: VendorCase, http: HttpClient, upstream: Upstream
) -> None:
    """The losers of a round are cancelled; that must be no miss of theirs."""
    adapter = vendor.made(http, upstream.will(Reply(silent=True)).url, timeout_s=1.0)
    task = asyncio.create_task(adapter.route(REQUEST))
    await asyncio.wait_for(upstream.came.wait(), WITHIN_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
