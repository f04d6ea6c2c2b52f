"""Bodies that are too large, too deep, broken, or not what they say they are."""

import asyncio
import itertools
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from quietswap.service.base.http_client import (
    HttpClient,
    HttpError,
    HttpReply,
    InvalidBody,
    UnexpectedShape,
)
from tests.upstream import HTML, Reply, Upstream, flat_memory, js, page, zipped
from tests.waiting import WITHIN_S

MIB = 2**20


async def test_body_at_the_cap_is_read(http: HttpClient, upstream: Upstream) -> None:
    upstream.will(Reply(b"1" * 1000), Reply(b"1" * 1001))
    reply = await http.get(upstream.url, timeout_s=WITHIN_S, max_bytes=1000)
    assert len(reply.body) == 1000
    with pytest.raises(InvalidBody, match="larger than 1000 bytes"):
        await http.get(upstream.url, timeout_s=WITHIN_S, max_bytes=1000)


async def test_fifty_megabytes_are_cut_early(http: HttpClient, upstream: Upstream) -> None:
    upstream.will(Reply(chunks=itertools.repeat(b"[" * 65536, 800)))
    with flat_memory(), pytest.raises(InvalidBody, match="larger than"):
        await http.get(upstream.url, timeout_s=WITHIN_S)
    await asyncio.wait_for(upstream.left.wait(), WITHIN_S)
    assert upstream.sent < 20 * MIB  # what was on its way when the connection was closed


async def test_gzip_bomb_is_cut_early(http: HttpClient, upstream: Upstream) -> None:
    bomb = zipped(b"[" * (100 * MIB))
    assert len(bomb.body) < 200_000
    upstream.will(*[bomb] * 5)
    with flat_memory():
        for _ in range(5):
            with pytest.raises(InvalidBody, match="larger than"):
                await http.get(upstream.url, timeout_s=WITHIN_S)


async def test_gzip_is_read(http: HttpClient, upstream: Upstream) -> None:
    upstream.will(zipped(b'{"a": 1}'))
    assert (await http.get(upstream.url, timeout_s=WITHIN_S)).json() == {"a": 1}


async def test_broken_gzip(http: HttpClient, upstream: Upstream) -> None:
    upstream.will(Reply(b"not gzip", headers={"Content-Encoding": "gzip"}))
    with pytest.raises(InvalidBody):
        await http.get(upstream.url, timeout_s=WITHIN_S)


async def test_body_cut_short(http: HttpClient, upstream: Upstream) -> None:
    upstream.will(Reply(b'{"a"', length=100, then="close"))
    with pytest.raises(InvalidBody, match="cut short"):
        await http.get(upstream.url, timeout_s=WITHIN_S)


async def test_no_http_at_all(http: HttpClient) -> None:
    async def shout(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 ftp ready\r\n")
        writer.close()

    server = await asyncio.start_server(shout, "127.0.0.1", 0)
    with pytest.raises(HttpError):
        await http.get(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", timeout_s=WITHIN_S)
    server.close()
    await server.wait_closed()


@pytest.mark.usefixtures("no_recursion_limit")
@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"\\"":['])
@pytest.mark.parametrize("shape", [Any, dict[str, msgspec.Raw], msgspec.Raw])
async def test_deep_json(
    http: HttpClient, upstream: Upstream, opening: bytes, shape: type[Any]
) -> None:
    """10^5 levels: refused with neither a crash nor memory."""
    upstream.will(Reply(opening * 100_000))
    reply = await http.get(upstream.url, timeout_s=WITHIN_S)
    with flat_memory(), pytest.raises(InvalidBody):
        reply.read(shape)


def test_nothing_that_the_service_imports_raises_the_limit() -> None:
    code = "import sys, quietswap.service.server.asgi; print(sys.getrecursionlimit())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert int(done.stdout) == 1_000


@pytest.mark.usefixtures("usual_recursion_limit")
@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"\\"":['])
@pytest.mark.parametrize("shape", [Any, dict[str, msgspec.Raw], msgspec.Raw])
def test_the_decoder_stops_by_itself_under_the_usual_limit(opening: bytes, shape: Any) -> None:
    with pytest.raises(InvalidBody):
        HttpReply(200, opening * 100_000, {}).read(shape)


@pytest.mark.usefixtures("no_recursion_limit")
@pytest.mark.parametrize(
    ("body", "deep"),
    [
        (b"[" * 200 + b"]" * 200, False),
        (b"[" * 201 + b"]" * 201, True),
        (b"[" + b"[]," * 5000 + b"[]]", False),
        (b'["' + b"[{" * 5000 + b'"]', False),
        (b'["\\"' + b"[" * 5000 + b'"]', False),
        (b'["\\\\",' + b"[" * 201 + b"]" * 202, True),
    ],
    ids=["limit", "beyond", "wide", "in_a_string", "behind_an_escaped_quote", "escaped_escape"],
)
async def test_depth_is_counted_outside_strings(body: bytes, deep: bool) -> None:
    reply = HttpReply(200, body, {})
    if deep:
        with pytest.raises(InvalidBody):
            reply.json()
    else:
        assert isinstance(reply.json(), list)


@pytest.mark.parametrize(
    "reply",
    [page(), Reply(HTML), Reply(HTML, content_type=None)],
    ids=["honest", "disguised", "untyped"],
)
async def test_html_is_not_json(http: HttpClient, upstream: Upstream, reply: Reply) -> None:
    upstream.will(reply)
    with pytest.raises(InvalidBody, match="a web page"):
        (await http.get(upstream.url, timeout_s=WITHIN_S)).json()


@pytest.mark.parametrize("kind", ["text/plain", "application/octet-stream", "image/png"])
async def test_wrong_content_type(http: HttpClient, upstream: Upstream, kind: str) -> None:
    upstream.will(Reply(b"{}", content_type=kind))
    with pytest.raises(InvalidBody, match="not JSON"):
        (await http.get(upstream.url, timeout_s=WITHIN_S)).json()


@pytest.mark.parametrize(
    "kind",
    ["application/json; charset=utf-8", "application/problem+json", "APPLICATION/JSON", None],
)
async def test_right_content_types(http: HttpClient, upstream: Upstream, kind: str | None) -> None:
    upstream.will(Reply(b"{}", content_type=kind))
    assert (await http.get(upstream.url, timeout_s=WITHIN_S)).json() == {}


@pytest.mark.parametrize("body", [b"", b"{", b'{"a":1}x', b"\xff\xfe", b'"\xff"', b"NaN"])
async def test_broken_json(http: HttpClient, upstream: Upstream, body: bytes) -> None:
    upstream.will(Reply(body))
    with pytest.raises(InvalidBody, match="not JSON"):
        (await http.get(upstream.url, timeout_s=WITHIN_S)).json()


async def test_other_shape_is_told_apart(http: HttpClient, upstream: Upstream) -> None:
    upstream.will(js({"a": "text"}))
    reply = await http.get(upstream.url, timeout_s=WITHIN_S)
    with pytest.raises(UnexpectedShape, match=r"\$\[\.\.\.\]"):
        reply.read(dict[str, int])


async def test_big_numbers_survive(http: HttpClient, upstream: Upstream) -> None:
    upstream.will(Reply(b"[115792089237316195423570985008687907853269984665640564039457584007913]"))
    found = (await http.get(upstream.url, timeout_s=WITHIN_S)).json()
    assert found == [115792089237316195423570985008687907853269984665640564039457584007913]


async def test_a_million_digits_cost_nothing(http: HttpClient, upstream: Upstream) -> None:
    upstream.will(Reply(b"[" + b"9" * 900_000 + b"]"))
    reply = await http.get(upstream.url, timeout_s=WITHIN_S)
    with pytest.raises(InvalidBody):
        reply.json()


async def test_subtrees_can_be_kept_verbatim(http: HttpClient, upstream: Upstream) -> None:
    body = b'{"keep": {"z": 1.50, "a": 18446744073709551617, "z": null}}'
    upstream.will(Reply(body))
    kept = (await http.get(upstream.url, timeout_s=WITHIN_S)).read(dict[str, msgspec.Raw])
    assert msgspec.json.encode(kept) == body.replace(b'"keep": ', b'"keep":')
