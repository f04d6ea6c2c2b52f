"""The HTTP client against a real server that does everything wrong."""

import asyncio
import itertools
import os
import ssl
import sys
from pathlib import Path

import pytest
import trustme

from quietswap.sandbox.ports import free_port
from quietswap.service.base.http_client import ConnectionFailed, HttpClient, HttpError, HttpTimeout
from tests.upstream import (
    HANG_UP,
    SILENCE,
    Reply,
    Upstream,
    js,
)
from tests.waiting import WITHIN_S


async def test_get_sends_what_it_is_given(http: HttpClient, upstream: Upstream) -> None:
    upstream.will(js({"a": 1}, x_limit="30"))
    reply = await http.get(
        f"{upstream.url}/v1/swap",
        params={"a": "1.5", "b": "x y&z=ü"},
        headers={"x-key": "secret"},
        timeout_s=WITHIN_S,
    )
    asked = upstream.asked[0]
    assert (asked.method, asked.path) == ("GET", "/v1/swap")
    assert asked.query == [("a", "1.5"), ("b", "x y&z=ü")]
    assert asked.headers["x-key"] == "secret"
    assert asked.headers["user-agent"] == "quietswap-test"
    assert asked.headers["accept-encoding"] == "gzip"
    assert not asked.headers.keys() & {"cookie", "referer"}
    assert (reply.status, reply.json(), reply.headers["x-limit"]) == (200, {"a": 1}, "30")


async def test_parameters_follow_those_of_the_url(http: HttpClient, upstream: Upstream) -> None:
    upstream.will(js(1))
    await http.get(f"{upstream.url}/?key=k%20y", params={"a": "+&"}, timeout_s=WITHIN_S)
    assert upstream.asked[0].query == [("key", "k y"), ("a", "+&")]


async def test_post_sends_the_very_bytes(http: HttpClient, upstream: Upstream) -> None:
    upstream.will(js(True))
    body = b'{"big":123456789012345678901234567890,"float":0.1000}'
    await http.post(f"{upstream.url}/", body, headers={"x-a": "b"}, timeout_s=WITHIN_S)
    assert upstream.asked[0].body == body
    assert upstream.asked[0].headers["content-type"] == "application/json"


def sockets() -> list[list[str]]:
    return [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's table of sockets")
async def test_an_idle_connection_is_kept_and_probed(http: HttpClient, upstream: Upstream) -> None:
    """Routers on the way would forget a quiet one; a dead one would swallow the next request."""
    upstream.will(js(1))
    await http.get(upstream.url, timeout_s=WITHIN_S)
    port = f":{int(upstream.url.rpartition(':')[2]):04X}"
    [timers] = [line[5] for line in sockets() if line[2].endswith(port) and line[3] == "01"]
    kind, jiffies = timers.split(":")
    assert (kind, int(jiffies, 16) <= 15 * os.sysconf("SC_CLK_TCK")) == ("02", True)


async def test_connections_are_reused(http: HttpClient, upstream: Upstream) -> None:
    upstream.will(*[js(1)] * 5)
    for _ in range(5):
        await http.get(upstream.url, timeout_s=WITHIN_S)
    assert upstream.connections == 1


async def test_any_status_is_an_answer(http: HttpClient, upstream: Upstream) -> None:
    upstream.will(js({"error": "no"}, 500))
    reply = await http.get(upstream.url, timeout_s=WITHIN_S)
    assert (reply.status, reply.json()) == (500, {"error": "no"})


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_not_followed(
    http: HttpClient, upstream: Upstream, status: int
) -> None:
    upstream.will(Reply(b"", status, {"Location": f"{upstream.url}/elsewhere"}), js("followed"))
    reply = await http.get(f"{upstream.url}/here", timeout_s=WITHIN_S)
    assert reply.status == status
    assert [asked.path for asked in upstream.asked] == ["/here"]


async def test_cookies_are_not_kept(http: HttpClient, upstream: Upstream) -> None:
    upstream.will(js(1, set_cookie="track=me"), js(1))
    for _ in range(2):
        await http.get(upstream.url, timeout_s=WITHIN_S)
    assert "cookie" not in upstream.asked[1].headers


async def test_nobody_there_is_certainly_not_sent(http: HttpClient) -> None:
    with pytest.raises(ConnectionFailed) as caught:
        await http.post(f"http://127.0.0.1:{free_port()}/key", b"{}", timeout_s=WITHIN_S)
    assert caught.value.not_sent


async def test_no_such_name_is_certainly_not_sent(http: HttpClient) -> None:
    with pytest.raises(ConnectionFailed) as caught:
        await http.post("http://nowhere.invalid/key", b"{}", timeout_s=WITHIN_S)
    assert caught.value.not_sent


@pytest.mark.parametrize("name", ["127.0.0.1", "elsewhere.example"])
async def test_untrusted_certificate_is_certainly_not_sent(http: HttpClient, name: str) -> None:
    """Neither a right name from an unknown authority nor a wrong one is talked to."""
    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(100))
        writer.close()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert(name).configure_cert(context)
    server = await asyncio.start_server(listen, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(ConnectionFailed) as caught:
        await http.post(f"https://127.0.0.1:{port}/", b"raw transaction", timeout_s=WITHIN_S)
    assert caught.value.not_sent
    assert b"".join(heard) == b""
    server.close()
    await server.wait_closed()


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "http://[bad/", "", "/relative"])
async def test_unusable_url_is_certainly_not_sent(http: HttpClient, url: str) -> None:
    with pytest.raises(ConnectionFailed) as caught:
        await http.get(url, timeout_s=WITHIN_S)
    assert caught.value.not_sent


async def test_unusable_header_is_certainly_not_sent(http: HttpClient, upstream: Upstream) -> None:
    with pytest.raises(ConnectionFailed) as caught:
        await http.get(upstream.url, headers={"x-key": "two\nlines"}, timeout_s=WITHIN_S)
    assert caught.value.not_sent
    assert "two" not in str(caught.value)


async def test_hanging_up_after_the_request_is_not_called_unsent(
    http: HttpClient, upstream: Upstream
) -> None:
    upstream.will(HANG_UP)
    with pytest.raises(ConnectionFailed) as caught:
        await http.post(upstream.url, b"{}", timeout_s=WITHIN_S)
    assert not caught.value.not_sent
    assert upstream.asked[0].body == b"{}"


async def test_reused_connection_that_breaks_is_not_called_unsent(
    http: HttpClient, upstream: Upstream
) -> None:
    upstream.will(js(1), HANG_UP)
    await http.get(upstream.url, timeout_s=WITHIN_S)
    with pytest.raises(ConnectionFailed) as caught:
        await http.post(upstream.url, b"{}", timeout_s=WITHIN_S)
    assert not caught.value.not_sent


@pytest.mark.parametrize("repeatable", [False, True])
async def test_idle_connection_that_was_closed_is_replaced(
    http: HttpClient, upstream: Upstream, repeatable: bool
) -> None:
    """Servers close idle connections without a word: the next request arrives, and once."""
    upstream.will(Reply(b"1", then="close"), js(2))
    await http.get(upstream.url, timeout_s=WITHIN_S)
    await asyncio.wait_for(upstream.left.wait(), WITHIN_S)
    reply = await http.post(
        upstream.url, b"raw transaction", timeout_s=WITHIN_S, repeatable=repeatable
    )
    assert reply.json() == 2
    assert [asked.method for asked in upstream.asked] == ["GET", "POST"]
    assert upstream.connections == 2


async def test_silence_times_out(http: HttpClient, upstream: Upstream) -> None:
    upstream.will(SILENCE)
    with pytest.raises(HttpTimeout):
        await http.get(upstream.url, timeout_s=0.1)


async def test_endless_drip_times_out(http: HttpClient, upstream: Upstream) -> None:
    upstream.will(Reply(chunks=itertools.repeat(b" "), pause=0.01))
    with pytest.raises(HttpTimeout):
        await http.get(upstream.url, timeout_s=1.0)
    await asyncio.wait_for(upstream.left.wait(), WITHIN_S)


async def test_cancelling_closes_the_connection(http: HttpClient, upstream: Upstream) -> None:
    """At once for the caller; on the wire not later than the timeout would have."""
    upstream.will(SILENCE)
    task = asyncio.create_task(http.get(upstream.url, timeout_s=3.0))
    await asyncio.wait_for(upstream.came.wait(), WITHIN_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(upstream.left.wait(), WITHIN_S)


async def test_connections_are_limited(upstream: Upstream) -> None:
    """All five calls run at once; without the limit each would open a connection of its own."""
    client = HttpClient(max_connections=2)
    slow = [Reply(chunks=iter([b"1", b" "]), pause=0.1, then="close") for _ in range(5)]
    upstream.will(*slow)
    calls = [client.get(upstream.url, timeout_s=WITHIN_S) for _ in range(5)]
    answers = await asyncio.gather(*calls)
    assert [answer.json() for answer in answers] == [1] * 5
    assert upstream.connections == 5
    assert upstream.most_at_once <= 2
    await client.close()


async def test_no_error_names_the_url(http: HttpClient, upstream: Upstream) -> None:
    """The text, the arguments and the whole chain of causes: a URL may hold a key."""
    upstream.will(HANG_UP, SILENCE, Reply(b"x" * 99), Reply(b"", length=9, then="close"))
    urls = [upstream.url] * 4 + [f"http://127.0.0.1:{free_port()}", "ftp://127.0.0.1"]
    for url in urls:
        with pytest.raises(HttpError) as caught:
            await http.get(f"{url}/sesame", timeout_s=1.0, max_bytes=50)
        error: BaseException | None = caught.value
        assert error is not None
        assert error.__suppress_context__ or error.__context__ is None
        assert error.__cause__ is None
        assert "sesame" not in repr(error) + str(error.__dict__)


async def test_closing_twice_and_using_it_again(http: HttpClient, upstream: Upstream) -> None:
    upstream.will(js(1), js(2))
    await http.get(upstream.url, timeout_s=WITHIN_S)
    await http.close()
    await http.close()
    assert (await http.get(upstream.url, timeout_s=WITHIN_S)).json() == 2


async def test_a_short_process_ends_in_peace(upstream: Upstream) -> None:
    """The library's thread must not meet the end of the interpreter: that aborts the process."""
    script = (
        "import asyncio, sys\n"
        "from quietswap.service.base.http_client import HttpClient\n"
        "async def main():\n"
        "    http = HttpClient()\n"
        "    await asyncio.gather(*(http.get(sys.argv[1], timeout_s=60) for _ in range(8)))\n"
        "    await http.close()\n"
        "asyncio.run(main())\n"
    )
    upstream.will(*[js({"a": "x" * 8000})] * 96)

    async def ended() -> int | None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", script, upstream.url, stderr=asyncio.subprocess.DEVNULL
        )
        return await process.wait()

    assert [await ended() for _ in range(12)] == [0] * 12
