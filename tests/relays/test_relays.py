"""Both relays over real HTTP: what they send, what they conclude, and what never leaks."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from quietswap.rules.relays import EndpointType, ShareMode
from quietswap.service.base.http_client import HttpClient
from quietswap.service.relays.answers import RelayOutcome
from quietswap.service.relays.mev_blocker import MevBlocker, read_status
from quietswap.service.relays.private_rpc import PrivateRpc
from quietswap.service.relays.relay import Relay
from quietswap.service.settings import RelayConfig as RelaySettings
from tests.defaults import RELAY
from tests.fake_web import Answer, FakeWeb, Request, serving
from tests.manual_clock import ManualClock

RAW = bytes.fromhex("02f8aabbccdd")
HASH = "0x" + "ab" * 32
FAST, SAFE = EndpointType.FAST, ShareMode.SHARE_SAFE


def accepts(_: Request) -> Answer:
    return Answer(json.dumps({"jsonrpc": "2.0", "id": 1, "result": HASH}).encode())


def refuses(_: Request) -> Answer:
    error = {"code": -32000, "message": "invalid sender 02f8aabbccdd"}
    return Answer(json.dumps({"error": error}).encode())


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.close()


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with serving(accepts) as server:
        yield server


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def blocker(http: HttpClient, web: FakeWeb, clock: ManualClock) -> MevBlocker:
    return MevBlocker(
        http, clock, referrer="quiet swap", base_url=web.url, timeout_s=1.0, name=RELAY["name"]
    )


@pytest.fixture
def private(http: HttpClient, web: FakeWeb, clock: ManualClock) -> PrivateRpc:
    return PrivateRpc(
        http,
        clock,
        name="Backup",
        base_url=f"{web.url}/v1/secret-key",
        tracking_base="https://track.test/tx/",
        timeout_s=1.0,
    )


async def submit(relay: Relay) -> RelayOutcome:
    """Send the sample bytes and return the outcome."""
    return (await relay.submit(RAW, FAST, SAFE)).outcome


SHARED = {ShareMode.SHARE_ALL: "shareAll=1&", ShareMode.SHARE_SAFE: "shareSafe=1&"}


@pytest.mark.parametrize("kind", EndpointType)
@pytest.mark.parametrize("share", ShareMode)
async def test_the_bytes_go_to_the_issued_endpoint(
    blocker: MevBlocker, web: FakeWeb, kind: EndpointType, share: ShareMode
) -> None:
    shared = "" if kind is EndpointType.FULLPRIVACY else SHARED.get(share, "")
    path = f"/{kind.value}?{shared}referrer=quiet+swap"
    answer = await blocker.submit(RAW, kind, share)
    assert answer.outcome is RelayOutcome.ACCEPTED
    assert blocker.endpoint(kind, share) == web.url + path
    (request,) = web.requests
    assert (request.method, request.path) == ("POST", path)
    assert json.loads(request.body) == {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "eth_sendRawTransaction",
        "params": ["0x02f8aabbccdd"],
    }


async def test_the_backup_is_called_by_its_key_and_shown_without(
    private: PrivateRpc, web: FakeWeb
) -> None:
    assert await submit(private) is RelayOutcome.ACCEPTED
    assert web.requests[0].path == "/v1/secret-key"
    assert private.endpoint(FAST, SAFE) == web.url
    assert private.tracking_url(HASH) == f"https://track.test/tx/{HASH}"
    assert await private.status_hint(HASH) is None


async def test_a_password_is_sent_and_never_shown(
    http: HttpClient, web: FakeWeb, clock: ManualClock
) -> None:
    url = web.url.replace("//", "//user:p%40ss@")
    first = MevBlocker(http, clock, referrer="r", base_url=url, **RELAY)
    backup = PrivateRpc(http, clock, base_url=f"{url}/key", tracking_base="https://t.test", **RELAY)
    for relay in (first, backup):
        assert await submit(relay) is RelayOutcome.ACCEPTED
        await relay.cancel(HASH)
        await relay.status_hint(HASH)
        await relay.probe(1)
    assert {r.headers["authorization"] for r in web.requests} == {"Basic dXNlcjpwQHNz"}
    assert first.endpoint(FAST, SAFE) == f"{web.url}/fast?shareSafe=1&referrer=r"
    assert first.tracking_url(HASH) == f"{web.url}/tx/{HASH}"
    assert backup.endpoint(FAST, SAFE) == web.url


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://relay.test", "https://relay.test"),
        ("https://relay.test:8443/path", "https://relay.test:8443/path"),
        ("https://key@relay.test", "https://relay.test"),
        ("https://user:p@ss@relay.test", "https://relay.test"),
        ("https://:p@[2001:db8::1]:8443", "https://[2001:db8::1]:8443"),
    ],
)
def test_what_is_shown_of_a_url(http: HttpClient, clock: ManualClock, url: str, shown: str) -> None:
    relay = MevBlocker(http, clock, referrer="r", base_url=url, **RELAY)
    assert relay.endpoint(EndpointType.FULLPRIVACY, SAFE) == f"{shown}/fullprivacy?referrer=r"
    private = PrivateRpc(http, clock, base_url=url, tracking_base="https://t.test", **RELAY)
    assert private.endpoint(FAST, SAFE) == shown.removesuffix("/path")


async def test_a_cancellation_is_asked_for_and_believed_of_nobody(
    blocker: MevBlocker, private: PrivateRpc, web: FakeWeb
) -> None:
    for relay in (blocker, private):
        await relay.cancel(HASH)
    assert [r.path for r in web.requests] == ["/fast", "/v1/secret-key"]
    assert json.loads(web.requests[0].body)["method"] == "eth_cancelTransaction"
    web.answer = lambda _: Answer(b"", cut=True, status=500)
    await blocker.cancel(HASH)


async def test_a_refusal_says_why_in_our_words(blocker: MevBlocker, web: FakeWeb) -> None:
    web.answer = refuses
    answer = await blocker.submit(RAW, FAST, SAFE)
    assert answer.outcome is RelayOutcome.INVALID
    assert answer.reason == "it cannot recover the sender"


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"", hang=True),
        Answer(b'{"result": 200}', cut=True),
        Answer(b"<html>bad gateway</html>", status=502, content_type="text/html"),
        Answer(b'{"result": 200}' + b" " * 100_000),
        Answer(b"moved", status=302),
    ],
)
async def test_an_answer_that_is_lost_or_spoilt_is_silence(
    blocker: MevBlocker, web: FakeWeb, answer: Answer
) -> None:
    web.answer = lambda _: answer
    assert await submit(blocker) is RelayOutcome.UNKNOWN
    assert len(web.requests) == 1


async def test_no_connection_means_not_sent(http: HttpClient, clock: ManualClock) -> None:
    async with serving(accepts) as gone:
        url = gone.url
    relay = MevBlocker(http, clock, referrer="r", base_url=url, **RELAY)
    assert await submit(relay) is RelayOutcome.NOT_SENT


async def test_three_timeouts_in_a_row_open_the_circuit(
    blocker: MevBlocker, web: FakeWeb, clock: ManualClock
) -> None:
    web.answer = lambda _: Answer(b"", hang=True)
    for _ in range(3):
        assert blocker.is_up
        assert await submit(blocker) is RelayOutcome.UNKNOWN
    assert not blocker.is_up
    assert await submit(blocker) is RelayOutcome.NOT_SENT
    await blocker.cancel(HASH)
    assert await blocker.status_hint(HASH) is None
    assert len(web.requests) == 3
    clock.advance(30)
    assert blocker.is_up
    assert await submit(blocker) is RelayOutcome.UNKNOWN
    assert not blocker.is_up


async def test_an_answer_closes_the_circuit_again(
    blocker: MevBlocker, web: FakeWeb, clock: ManualClock
) -> None:
    hang = Answer(b"", hang=True)
    for answer in (hang, hang, None, hang, hang):
        web.answer = refuses if answer is None else lambda _: hang
        await submit(blocker)
    assert blocker.is_up
    web.answer = lambda _: hang
    await submit(blocker)
    clock.advance(30)
    web.answer = accepts
    assert await submit(blocker) is RelayOutcome.ACCEPTED
    web.answer = lambda _: hang
    await submit(blocker)
    assert blocker.is_up


async def test_nothing_said_or_logged_holds_the_bytes_or_the_key(
    private: PrivateRpc, web: FakeWeb
) -> None:
    answers: list[Any] = [refuses(web.requests), Answer(b"", hang=True), Answer(b"x", cut=True)]
    with capture_logs() as lines:
        for answer in answers:
            web.answer = lambda _, answer=answer: answer
            said = repr(await private.submit(RAW, FAST, SAFE))
            assert RAW.hex() not in said
            assert "secret-key" not in said
    assert len(lines) == 3
    assert RAW.hex() not in str(lines)
    assert "secret-key" not in str(lines)


async def test_cancelling_a_submission_does_not_count_against_the_relay(
    blocker: MevBlocker, web: FakeWeb
) -> None:
    asked = asyncio.Event()

    def hangs(_: Request) -> Answer:
        asked.set()
        return Answer(b"", hang=True)

    web.answer = hangs
    for _ in range(5):
        task = asyncio.create_task(submit(blocker))
        await asked.wait()
        asked.clear()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert blocker.is_up


@pytest.mark.parametrize("url", ["http://relay.test", "ftp://relay.test", "relay.test", "https://"])
def test_a_url_that_would_not_be_private_is_refused(
    http: HttpClient, clock: ManualClock, url: str
) -> None:
    with pytest.raises(ValueError, match="https"):
        MevBlocker(http, clock, referrer="r", base_url=url, **RELAY)
    with pytest.raises(ValueError, match="https"):
        PrivateRpc(http, clock, base_url=url, tracking_base="https://t.test", **RELAY)


def test_the_default_is_mev_blocker_itself(http: HttpClient, clock: ManualClock) -> None:
    relay = MevBlocker(http, clock, referrer="r", base_url=RelaySettings().url, **RELAY)
    assert relay.name == "MEV Blocker"
    assert relay.tracking_url(HASH) == f"https://rpc.mevblocker.io/tx/{HASH}"


async def test_the_status_page_is_a_hint_in_our_words(blocker: MevBlocker, web: FakeWeb) -> None:
    page = {"status": "FAILED", "simulationError": "execution reverted: secret"}
    web.answer = lambda _: Answer(json.dumps(page).encode())
    expected = "it says the transaction failed, and that its simulation failed"
    assert await blocker.status_hint(HASH) == expected
    assert web.requests[0].path == f"/tx/{HASH}"


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ({"status": "INCLUDED", "refund": 0.1}, "it says the transaction is included"),
        ({"status": "unknown"}, "it does not know the transaction"),
        ({"status": "PENDING"}, None),
        ({"status": 5}, None),
        ({}, None),
        (None, None),
        ([], None),
    ],
)
def test_status_pages_are_read_leniently(page: Any, expected: str | None) -> None:
    assert read_status(page) == expected


@pytest.mark.parametrize("kind", list(EndpointType))
def test_only_noreverts_promises_to_drop_reverts(kind: EndpointType) -> None:
    """Sources of 2026-10 say that /fullprivacy has no revert protection."""
    promised = MevBlocker.drops_reverts(object.__new__(MevBlocker), kind)
    assert promised is (kind is EndpointType.NOREVERTS)
