"""A POST counts as not sent only where no byte of its body left the process, on real sockets."""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager

import pytest
import trustme

from quietswap.rules.relays import EndpointType, ShareMode
from quietswap.sandbox.ports import free_port
from quietswap.service.base.http_client import (
    ConnectionFailed,
    HttpClient,
    HttpTimeout,
    RequestBody,
)
from quietswap.service.relays.answers import RelayOutcome
from quietswap.service.relays.mev_blocker import MevBlocker
from tests.manual_clock import ManualClock
from tests.upstream import SILENCE, Upstream, js
from tests.waiting import WITHIN_S

BODY = b"raw transaction"
Listen = Callable[[asyncio.StreamReader], Awaitable[bytes]]


@asynccontextmanager
async def resetting(listen: Listen) -> AsyncIterator[tuple[int, "asyncio.Future[bytes]"]]:
    """Serve one connection: read by `listen`, then send a TCP reset. Yield port and bytes read."""
    heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.set_result(await listen(reader))
        linger = struct.pack("ii", 1, 0)  # close() sends RST instead of FIN
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    async with await asyncio.start_server(reset, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], heard


@pytest.mark.parametrize("times", [1, 200_000], ids=["whole_body", "part_of_the_body"])
async def test_a_reset_after_the_first_bytes_is_never_called_unsent(
    http: HttpClient, times: int
) -> None:
    """The library reports it as a connect error, though the server has bytes of the body."""
    async with resetting(lambda reader: reader.readuntil(BODY)) as (port, heard):
        with pytest.raises(ConnectionFailed) as caught:
            await http.post(f"http://127.0.0.1:{port}/", BODY * times, timeout_s=WITHIN_S)
        assert not caught.value.not_sent
        assert (await heard).endswith(BODY)


async def test_a_reset_in_the_tls_handshake_is_certainly_not_sent(http: HttpClient) -> None:
    async with resetting(lambda reader: reader.readexactly(1)) as (port, heard):
        with pytest.raises(ConnectionFailed) as caught:
            await http.post(f"https://127.0.0.1:{port}/", BODY, timeout_s=WITHIN_S)
        assert caught.value.not_sent
        assert await heard == b"\x16", "a TLS handshake record"


async def test_a_tls_handshake_without_an_answer_is_certainly_not_sent() -> None:
    """The connection is accepted, but the server never takes part in the handshake."""
    http = HttpClient(connect_timeout_s=0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with pytest.raises(ConnectionFailed) as caught:
            await http.post(
                f"https://127.0.0.1:{listener.getsockname()[1]}/", BODY, timeout_s=WITHIN_S
            )
        assert caught.value.not_sent
    await http.close()


async def test_a_timeout_after_the_body_is_no_connect_failure(
    http: HttpClient, upstream: Upstream
) -> None:
    upstream.will(SILENCE)
    with pytest.raises(HttpTimeout):
        await http.post(upstream.url, BODY, timeout_s=2.0)
    await asyncio.wait_for(upstream.came.wait(), WITHIN_S)


def test_a_body_is_either_read_or_withheld() -> None:
    """A read that begins after the failure was reported must not send anything."""
    withheld = RequestBody(BODY)
    late = iter(withheld)
    assert withheld.withhold()
    assert list(late) == []
    read = RequestBody(BODY)
    assert list(read) == [BODY]
    assert not read.withhold()


async def test_a_get_never_claims_that_it_was_not_sent(http: HttpClient) -> None:
    with pytest.raises(ConnectionFailed) as caught:
        await http.get(f"http://127.0.0.1:{free_port()}/", timeout_s=WITHIN_S)
    assert not caught.value.not_sent


async def test_a_repeatable_post_sends_the_same_request(
    http: HttpClient, upstream: Upstream
) -> None:
    upstream.will(js(1), js(2))
    for repeatable in (False, True):
        await http.post(
            upstream.url, BODY, headers={"x-key": "1"}, timeout_s=WITHIN_S, repeatable=repeatable
        )
    one, other = upstream.asked
    assert one == other
    assert one.body == BODY
    assert one.headers["content-type"] == "application/json"


@pytest.mark.parametrize("method", ["get", "post"])
async def test_without_the_proof_a_missing_connection_is_still_named(
    http: HttpClient, upstream: Upstream, method: str
) -> None:
    """Nobody listens, no such name, or the packets are lost; not a reset or a silent server."""
    with ExitStack() as stack:
        full = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):  # they fill the queue: the system drops further packets
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        lossy = HttpClient(connect_timeout_s=0.2)
        for client, place in (
            (http, f"127.0.0.1:{free_port()}"),
            (http, "nowhere.invalid"),
            (lossy, f"127.0.0.1:{full.getsockname()[1]}"),
        ):
            with pytest.raises(ConnectionFailed, match="no connection") as caught:
                await asked(client, method, f"http://{place}/", WITHIN_S)
            assert not caught.value.not_sent
        await lossy.close()
    async with resetting(lambda reader: reader.readuntil(b"\r\n\r\n")) as (port, _):
        with pytest.raises(ConnectionFailed, match="the connection failed"):
            await asked(http, method, f"http://127.0.0.1:{port}/", WITHIN_S)
    upstream.will(SILENCE)
    with pytest.raises(HttpTimeout):
        await asked(http, method, upstream.url, 2.0)


async def asked(http: HttpClient, method: str, url: str, timeout_s: float) -> None:
    if method == "get":
        await http.get(url, timeout_s=timeout_s)
    else:
        await http.post(url, BODY, timeout_s=timeout_s, repeatable=True)


async def submitted(http: HttpClient, url: str) -> RelayOutcome:
    relay = MevBlocker(
        http, ManualClock(0), referrer="r", name="R", base_url=url, timeout_s=WITHIN_S
    )
    return (await relay.submit(BODY, EndpointType.FAST, ShareMode.NONE)).outcome


async def test_what_a_relay_concludes_from_a_lost_connection(http: HttpClient) -> None:
    """Only NOT_SENT lets the same bytes be posted again as if nothing had happened."""
    assert await submitted(http, f"http://127.0.0.1:{free_port()}") is RelayOutcome.NOT_SENT
    assert await submitted(http, "https://nowhere.invalid") is RelayOutcome.NOT_SENT
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    async with await asyncio.start_server(lambda *_: None, "127.0.0.1", 0, ssl=context) as server:
        port = server.sockets[0].getsockname()[1]
        assert await submitted(http, f"https://127.0.0.1:{port}") is RelayOutcome.NOT_SENT
    async with resetting(lambda reader: reader.readuntil(b'"params"')) as (port, _):
        assert await submitted(http, f"http://127.0.0.1:{port}") is RelayOutcome.UNKNOWN
