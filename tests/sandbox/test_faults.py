"""The registry of faults, and each HTTP fault as a client receives it."""

import asyncio
import contextlib
import gzip
import io
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from quietswap.sandbox import faults
from quietswap.sandbox.faults import ActiveFaults, Fault, UnknownFault
from quietswap.sandbox.http_server import Answer, ComponentServer, HttpRequest, json_reply
from tests import loopback
from tests.waiting import WITHIN_S


async def _echo(request: HttpRequest) -> Answer:
    return json_reply({"path": request.path, "query": request.query, "body": request.body.decode()})


@pytest.fixture
def active_faults() -> ActiveFaults:
    return ActiveFaults()


@pytest.fixture
async def part(active_faults: ActiveFaults) -> AsyncIterator[ComponentServer]:
    served = ComponentServer("sushi", active_faults, _echo)
    await served.start()
    yield served
    await served.stop()


@pytest.fixture
async def client(part: ComponentServer) -> AsyncIterator[httpx.AsyncClient]:
    async with loopback.AsyncClient(base_url=part.url, timeout=WITHIN_S, trust_env=False) as http:
        yield http


@pytest.mark.parametrize(
    ("part", "text", "fault"),
    [
        ("kyberswap", "lie:2.0", Fault("lie", "2.0")),
        ("sushi", "html", Fault("html", "403")),
        ("sushi", "html:200", Fault("html", "200")),
        ("relay", "refuse:nonce: next 8", Fault("refuse", "nonce: next 8")),
        ("backup_relay", "failed_then_mine", Fault("failed_then_mine", "3")),
        ("node", "flap:0.25", Fault("flap", "0.25")),
        ("prices", "2x", Fault("2x")),
    ],
)
def test_a_fault_is_read(part: str, text: str, fault: Fault) -> None:
    assert faults.parse(part, text) == fault
    assert faults.parse_option(f"{part}={text}") == (part, fault)


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("uniswap=hang", "there is no part uniswap; there are kyberswap,"),
        ("velora=lag:3", "velora has no fault lag; it has hang,"),
        ("sushi=spender_differs", "sushi has no fault spender_differs"),
        ("velora=lie", "write lie:FACTOR"),
        ("velora=lie:twice", "write lie:FACTOR"),
        ("velora=lie:-1", "write lie:FACTOR"),
        ("velora=hang:3", "write hang"),
        ("velora=delay:1.5", "write delay:MS"),
        ("node=lag:0", "write lag:BLOCKS"),
        ("node=flap:1.5", "write flap:RATE"),
        ("sushi=html:99", "write html[:STATUS]"),
        ("relay=refuse", "write refuse:TEXT"),
        ("velora", "write PART=FAULT"),
    ],
)
def test_an_unknown_fault_is_refused_and_the_message_helps(option: str, says: str) -> None:
    with pytest.raises(UnknownFault) as refusal:
        faults.parse_option(option)
    assert says in str(refusal.value)


def test_every_fault_is_described_once_for_every_part() -> None:
    rows = list(faults.described())
    assert len(rows) == len(faults.REGISTRY)
    assert all(text for _, _, text in rows)
    named = [(k.name, part) for k in faults.REGISTRY for part in k.parts]
    assert len(named) == len(set(named))


def test_a_part_shows_one_fault_at_a_time(active_faults: ActiveFaults) -> None:
    active_faults.put("velora", "hang")
    active_faults.put("velora", "lie:1.5")
    active_faults.put("node", "lag:3")
    assert active_faults.active() == {"node": "lag:3", "velora": "lie:1.5"}
    active_faults.clear("velora")
    assert active_faults.of("velora") is None
    with pytest.raises(UnknownFault):
        active_faults.clear("uniswap")


def test_a_group_stands_for_its_parts(active_faults: ActiveFaults) -> None:
    active_faults.put("prices", "stale")
    assert active_faults.active() == {"coingecko": "stale", "defillama": "stale"}
    active_faults.clear("coingecko")
    assert active_faults.active() == {"defillama": "stale"}
    assert ActiveFaults([faults.parse_option("relays=lose")]).shows("backup_relay", "lose")
    with pytest.raises(UnknownFault):
        active_faults.put("venues", "spender_differs")


async def test_without_a_fault_the_part_answers(client: httpx.AsyncClient) -> None:
    reply = await client.post("/a/b?x=1&x=2&y=%20z", content=b"hello")
    assert reply.json() == {"path": "/a/b", "query": {"x": "1", "y": " z"}, "body": "hello"}
    again = await client.get("/again")
    assert again.json()["path"] == "/again"


@pytest.mark.parametrize(
    ("fault", "status", "start"),
    [
        ("500", 500, b"Internal"),
        ("429", 429, b"error code: 1015"),
        ("html", 403, b"<!DOCTYPE html>"),
        ("html:200", 200, b"<!DOCTYPE html>"),
        ("garbage", 200, b'{"code":0,"data"'),
        ("redirect", 302, b""),
        ("deep_json", 200, b"[[[["),
    ],
)
async def test_faults_that_are_whole_answers(
    client: httpx.AsyncClient, active_faults: ActiveFaults, fault: str, status: int, start: bytes
) -> None:
    active_faults.put("sushi", fault)
    reply = await client.get("/")
    assert reply.status_code == status
    assert reply.content.startswith(start)
    active_faults.clear("sushi")
    assert (await client.get("/")).status_code == 200


async def test_garbage_is_not_json(client: httpx.AsyncClient, active_faults: ActiveFaults) -> None:
    active_faults.put("sushi", "garbage")
    with pytest.raises(ValueError, match=r"decode|Unterminated|Invalid"):
        json.loads((await client.get("/")).content)


async def test_the_gzip_bomb_is_small_and_unpacks_to_256_mb(
    client: httpx.AsyncClient, active_faults: ActiveFaults
) -> None:
    active_faults.put("sushi", "gzip_bomb")
    async with client.stream("GET", "/") as reply:
        packed = b"".join([part async for part in reply.aiter_raw()])
    assert len(packed) < 400_000
    with gzip.open(io.BytesIO(packed)) as bomb:
        size = sum(len(chunk) for chunk in iter(lambda: bomb.read(1 << 24), b""))
    assert size == 256 * 1024 * 1024


@pytest.mark.parametrize("fault", ["hang", "timeout"])
async def test_silence_lasts_longer_than_a_patient_client(
    client: httpx.AsyncClient, active_faults: ActiveFaults, fault: str
) -> None:
    active_faults.put("sushi", fault)
    with pytest.raises(httpx.ReadTimeout):
        await client.get("/", timeout=httpx.Timeout(WITHIN_S, read=0.2))


@pytest.mark.parametrize("fault", ["drip", "huge_body"])
async def test_endless_bodies_begin_like_an_answer(
    client: httpx.AsyncClient, active_faults: ActiveFaults, fault: str
) -> None:
    active_faults.put("sushi", fault)
    async with client.stream("GET", "/") as reply:
        assert reply.status_code == 200
        assert int(reply.headers["content-length"]) > 60_000_000
        assert await anext(reply.aiter_raw())


async def test_half_an_answer_breaks_off(
    client: httpx.AsyncClient, active_faults: ActiveFaults
) -> None:
    """The client meets the end of the connection, or its reset, whichever it reads first."""
    active_faults.put("sushi", "half_answer")
    with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        await client.get("/")


async def test_a_delay_is_kept(client: httpx.AsyncClient, active_faults: ActiveFaults) -> None:
    active_faults.put("sushi", "delay:60")
    start = asyncio.get_running_loop().time()
    assert (await client.get("/")).status_code == 200
    assert asyncio.get_running_loop().time() - start >= 0.06


async def test_a_part_that_is_down_comes_back_on_its_port(
    client: httpx.AsyncClient, active_faults: ActiveFaults, part: ComponentServer
) -> None:
    active_faults.put("sushi", "down")
    await part.settled()
    with pytest.raises(httpx.ConnectError):
        await client.get("/")
    active_faults.clear("sushi")
    await part.settled()
    assert (await client.get("/")).status_code == 200


async def test_a_part_can_start_out_down() -> None:
    active_faults = ActiveFaults([faults.parse_option("velora=down")])
    served = ComponentServer("velora", active_faults, _echo)
    await served.start()
    try:
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", int(served.url.rsplit(":")[-1]))
    finally:
        await served.stop()


async def test_stopping_ends_requests_that_hang(active_faults: ActiveFaults) -> None:
    served = ComponentServer("velora", active_faults, _echo)
    await served.start()
    active_faults.put("velora", "hang")
    reader, writer = await asyncio.open_connection("127.0.0.1", int(served.url.rsplit(":")[-1]))
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    await writer.drain()
    await served.stop()
    with contextlib.suppress(ConnectionResetError):
        assert await asyncio.wait_for(reader.read(), WITHIN_S) == b""
    writer.close()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", b"413"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"411"),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000 + b"\r\n\r\n", b"431"),
    ],
)
async def test_what_is_no_request_is_refused(
    part: ComponentServer, sent: bytes, status: bytes
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(part.url.rsplit(":")[-1]))
    writer.write(sent)
    answer = await reader.read()
    assert answer.split(b" ")[1] == status
    writer.close()
    await writer.wait_closed()
