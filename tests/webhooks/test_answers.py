"""Every kind of answer that a receiver may give."""

import asyncio

import pytest

from quietswap.rules.webhooks.webhook import DeliveryFailed
from quietswap.service.webhooks.sender import MAX_BODY, MAX_HEAD
from tests.webhooks.receiver import OK, Received, Receiver, always, answer, receiving
from tests.webhooks.senders import sender

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_not_followed(receiver: Receiver, url: str, status: int) -> None:
    async with receiving() as elsewhere:
        place = f"http://127.0.0.1:{elsewhere.port}/secret"
        receiver.answering = always(answer(status, f"Location: {place}"))
        assert await sender().post(url, {}, b"{}") == status
        assert elsewhere.connections == 0


@pytest.mark.parametrize(
    ("head", "part"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n", b"x" * 4096),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 4096),
        (CHUNKED, b"1000\r\n" + b"x" * 4096 + b"\r\n"),
        (CHUNKED, b"1;" + b"x" * 16_000 + b"\r\nx\r\n"),
    ],
    ids=["declared", "until the end", "chunked", "chunk extensions"],
)  # fmt: skip
async def test_an_answer_of_a_gigabyte_is_cut(
    receiver: Receiver, url: str, head: bytes, part: bytes
) -> None:
    sent = 0

    async def endless(_: Received, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(head)
        while sent < 1_000_000_000 and not writer.is_closing():
            writer.write(part)
            await writer.drain()
            sent += len(part)

    receiver.answering = endless
    assert await sender().post(url, {}, b"{}") == 200
    assert sent < 100_000_000  # the buffers of both sockets, not the gigabyte


async def test_headers_without_end_are_cut(receiver: Receiver, url: str) -> None:
    receiver.answering = always(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 2 * MAX_HEAD + b"\r\n\r\n")
    with pytest.raises(DeliveryFailed, match="headers of the answer exceed"):
        await sender().post(url, {}, b"{}")


CUT = "closed before the end"
BROKEN = {
    "nothing": (b"", CUT),
    "half a head": (b"HTTP/1.1 200 OK\r\nContent-Le", CUT),
    "half a body": (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", CUT),
    "half a chunk": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nhalf", CUT),
    "no last chunk": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", CUT),
    "bad chunk": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "chunk"),
    "not HTTP": (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "not HTTP/1.1"),
    "HTTP/2": (b"HTTP/2 200\r\n\r\n", "not HTTP/1.1"),
    "bad length": (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "Content-Length"),
    "only interim": (b"HTTP/1.1 100 Continue\r\n\r\n" * 9, "interim"),
    "another protocol": (b"HTTP/1.1 101 Switching\r\n\r\n", "protocol"),
}


@pytest.mark.parametrize("case", BROKEN)
async def test_a_broken_answer_is_no_delivery(receiver: Receiver, url: str, case: str) -> None:
    raw, reason = BROKEN[case]
    receiver.answering = always(raw)
    with pytest.raises(DeliveryFailed, match=reason):
        await sender().post(url, {}, b"{}")


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, 200),
        (b"HTTP/1.0 202\r\n\r\n", 202),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2;a=b\r\nok\r\n0\r\n\r\n", 200),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n" + b"x" * MAX_BODY, 200),
        (answer(410), 410),
        (answer(503, "Retry-After: 1"), 503),
    ],
)
async def test_complete_answers_count_by_their_status(
    receiver: Receiver, url: str, raw: bytes, status: int
) -> None:
    receiver.answering = always(raw)
    assert await sender().post(url, {}, b"{}") == status


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"])
async def test_a_receiver_that_hangs_is_left(receiver: Receiver, url: str, said: bytes) -> None:
    left = asyncio.Event()

    async def hanging(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        await left.wait()

    receiver.answering = hanging
    with pytest.raises(DeliveryFailed, match=r"no complete answer in 0\.5 s"):
        await sender(wait=0.5).post(url, {}, b"{}")
    left.set()
