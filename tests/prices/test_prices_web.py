"""DefiLlama and CoinGecko behind a fake server."""

from collections.abc import AsyncIterator
from decimal import Decimal

import msgspec
import pytest

from quietswap.sandbox.contracts.pools import DAI
from quietswap.service.base.http_client import HttpClient, HttpReply
from quietswap.service.prices.usd import CoinGecko, DefiLlama
from tests.fake_web import Answer, FakeWeb, Request, serving
from tests.manual_clock import ManualClock

NOW = 1_795_000_100


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.close()


class Web:
    """DefiLlama and CoinGecko behind one fake server."""

    def __init__(self, http: HttpClient, web: FakeWeb) -> None:
        self.web = web
        self.clock = ManualClock(NOW)
        self.llama = DefiLlama(http, self.clock, url=web.url, timeout_s=1.0)
        self.gecko = CoinGecko(http, self.clock, url=web.url + "/", timeout_s=1.0)

    def says(self, body: object, **more: object) -> None:
        raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
        self.web.answer = lambda _: Answer(raw, **more)  # type: ignore[arg-type]

    def llama_says(self, **fields: object) -> None:
        coin = {"price": 1, "timestamp": NOW, "confidence": 0.99, **fields}
        self.says({"coins": {f"ethereum:{DAI.address}": coin}})

    def gecko_says(self, **fields: object) -> None:
        self.says({DAI.address.lower(): fields})


@pytest.fixture
async def web(http: HttpClient) -> AsyncIterator[Web]:
    async with serving(lambda _: Answer(b"{}")) as server:
        yield Web(http, server)


def asked(web: Web) -> Request:
    [request] = web.web.requests
    return request


async def test_what_defillama_is_asked(web: Web) -> None:
    web.says(
        b'{"coins":{"ethereum:%b":{"price":0.99981234,"timestamp":%d,"confidence":0.99}}}'
        % (DAI.address.encode(), NOW - 900)
    )
    assert await web.llama.usd(DAI.address) == Decimal("0.99981234")
    assert asked(web).path == f"/prices/current/ethereum:{DAI.address}?searchWidth=4h"


async def test_what_coingecko_is_asked(web: Web, http: HttpClient) -> None:
    web.gecko_says(usd=0.9998, last_updated_at=NOW)
    gecko = CoinGecko(http, web.clock, url=web.web.url, key="CG-secret")
    assert await gecko.usd(DAI.address) == Decimal("0.9998")
    request = asked(web)
    assert request.path == (
        "/api/v3/simple/token_price/ethereum?contract_addresses="
        f"{DAI.address.lower()}&vs_currencies=usd&include_last_updated_at=true"
    )
    assert request.headers["x-cg-demo-api-key"] == "CG-secret"


async def test_a_key_is_optional(web: Web) -> None:
    web.gecko_says(usd=2, last_updated_at=NOW)
    assert await web.gecko.usd(DAI.address) == 2
    assert not any("api-key" in name for name in asked(web).headers)


@pytest.mark.parametrize(
    "fields",
    [
        {"confidence": 0.89},
        {"confidence": None},
        {"price": 0},
        {"price": -1},
        {"price": "NaN"},
        {"price": "Infinity"},
        {"price": 1e300},
        {"price": None},
        {"price": "one"},
        {"timestamp": NOW - 901},
        {"timestamp": NOW + 901},
        {"timestamp": "now"},
    ],
    ids=str,
)
async def test_what_defillama_is_not_believed(web: Web, fields: dict[str, object]) -> None:
    web.llama_says(**fields)
    assert await web.llama.usd(DAI.address) is None


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"usd": None, "last_updated_at": NOW},
        {"usd": 1},
        {"usd": 0, "last_updated_at": NOW},
        {"usd": -1, "last_updated_at": NOW},
        {"usd": 1, "last_updated_at": NOW - 901},
    ],
    ids=str,
)
async def test_what_coingecko_is_not_believed(web: Web, fields: dict[str, object]) -> None:
    web.gecko_says(**fields)
    assert await web.gecko.usd(DAI.address) is None


async def test_an_unknown_coin_is_no_failure(web: Web) -> None:
    web.says({"coins": {}})
    assert await web.llama.usd(DAI.address) is None
    web.says({})
    assert await web.gecko.usd(DAI.address) is None
    web.gecko_says(usd=1, last_updated_at=NOW)
    assert await web.gecko.usd(DAI.address) == 1


BAD = {
    "html": Answer(b"<html>", content_type="text/html"),
    "garbage": Answer(b"{\xff"),
    "deep": Answer(b'{"coins":' + b"[" * 60_000),
    "huge": Answer(b" " * 70_000 + b"{}"),
    "500": Answer(b"{}", status=500),
    "302": Answer(b"", status=302),
    "cut": Answer(b'{"coins":{}}', cut=True),
    "silence": Answer(b"", hang=True),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_failing_service_is_left_alone_for_a_while(web: Web, name: str) -> None:
    web.web.answer = lambda _: BAD[name]
    assert await web.llama.usd(DAI.address) is None
    web.llama_says()
    assert await web.llama.usd(DAI.address) is None
    assert len(web.web.requests) == 1
    web.clock.advance(15.1)
    assert await web.llama.usd(DAI.address) == 1


async def test_a_rate_limit_is_respected_for_a_minute(web: Web) -> None:
    web.says({}, status=429)
    assert await web.gecko.usd(DAI.address) is None
    web.gecko_says(usd=1, last_updated_at=NOW)
    web.clock.advance(59)
    assert await web.gecko.usd(DAI.address) is None
    web.clock.advance(2)
    assert await web.gecko.usd(DAI.address) == 1


class Recorder:
    """An HTTP client that only notes the headers."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}

    async def get(self, _: str, *, headers: dict[str, str], **__: object) -> HttpReply:
        self.headers = headers
        return HttpReply(200, b"{}", {})


@pytest.mark.parametrize(
    ("url", "header"),
    [
        ("https://api.coingecko.com", "x-cg-demo-api-key"),
        ("https://pro-api.coingecko.com", "x-cg-pro-api-key"),
    ],
)
async def test_a_paid_key_has_a_header_of_its_own(url: str, header: str) -> None:
    recorder = Recorder()
    gecko = CoinGecko(recorder, ManualClock(), url=url, key="CG-secret")  # type: ignore[arg-type]
    assert await gecko.usd(DAI.address) is None
    assert recorder.headers[header] == "CG-secret"
