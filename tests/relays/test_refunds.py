"""Refunds that a relay reports, over real HTTP and in every form."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from quietswap.rules.chain.relay_refund import ReportedRefund
from quietswap.service.base.http_client import HttpClient
from quietswap.service.relays.mev_blocker import MevBlocker, read_refund
from quietswap.service.relays.private_rpc import PrivateRpc
from tests.defaults import RELAY
from tests.fake_web import Answer, FakeWeb, serving
from tests.manual_clock import ManualClock

HASH = "0x" + "ab" * 32


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with serving(lambda _: Answer(b"{}")) as server:
        yield server


@pytest.fixture
async def blocker(web: FakeWeb) -> AsyncIterator[MevBlocker]:
    http = HttpClient()
    yield MevBlocker(http, ManualClock(), referrer="test", base_url=web.url, **RELAY)
    await http.close()


async def test_a_refund_is_read_from_the_status_page(blocker: MevBlocker, web: FakeWeb) -> None:
    web.answer = lambda _: Answer(json.dumps({"hash": HASH, "refund": 0.0140001}).encode())
    found = await blocker.refund(HASH)
    assert found == ReportedRefund(14_000_100_000_000_000, 10**11)
    assert web.requests[0].path == f"/tx/{HASH}"
    web.answer = lambda _: Answer(b"oops", status=500)
    assert await blocker.refund(HASH) is None


async def test_a_relay_without_a_status_page_reports_no_refund(web: FakeWeb) -> None:
    private = PrivateRpc(
        HttpClient(), ManualClock(), base_url=web.url, tracking_base=web.url, **RELAY
    )
    assert await private.refund(HASH) is None
    assert web.requests == []


@pytest.mark.parametrize(
    ("page", "wei"),
    [
        ({"refund": 0.1}, 10**17),
        ({"refund": "0.1"}, 10**17),
        ({"refund": 1}, 10**18),
        ({"refund": 1e-05}, 10**13),
        ({"refund": 0.0}, None),
        ({"refund": None}, None),
        ({"refund": True}, None),
        ({"refund": -1}, None),
        ({"refund": 1e300}, None),
        ({"refund": "9" * 5000}, None),
        ({"refund": "nan"}, None),
        ({"refund": "0x1"}, None),
        ({"refund": 0.1, "hash": "0x" + "99" * 32}, None),
        ({}, None),
        (None, None),
        ([], None),
    ],
)
def test_refunds_are_read_leniently(page: Any, wei: int | None) -> None:
    found = read_refund(page, HASH)
    assert (found and found.amount_wei) == wei
