"""The sender calls only addresses that it checked."""

import asyncio
import ssl

import pytest
import trustme

from quietswap.rules.webhooks.addresses import IpAddress
from quietswap.rules.webhooks.webhook import DeliveryFailed, WebhookUrlRefused
from quietswap.service.webhooks import sender as sender_module
from quietswap.service.webhooks.resolver import SystemResolver
from tests.webhooks.receiver import Receiver, answer, receiving
from tests.webhooks.senders import NAME, Rebinding, Silent, sender, serving
from tests.webhooks.test_addresses import REFUSED


async def test_it_connects_to_the_address_with_the_name(receiver: Receiver, url: str) -> None:
    resolver = Rebinding(["127.0.0.1"])
    assert await sender(resolver).post(url, {"webhook-id": "evt_1"}, b'{"a":1}') == 200
    (got,) = receiver.requests
    assert (got.line, got.body) == ("POST /in?x=1 HTTP/1.1", b'{"a":1}')
    assert got.server_name == NAME  # SNI
    assert got.headers["host"] == f"{NAME}:{receiver.port}"
    assert got.headers["webhook-id"] == "evt_1"
    assert got.headers["content-type"] == "application/json"
    assert resolver.asked == [NAME]


@pytest.mark.parametrize("text", [text for texts in REFUSED.values() for text in texts])
async def test_no_address_of_the_table_is_called(text: str, receiver: Receiver) -> None:
    names = sender(Rebinding([text]), private=False)
    url = f"https://{NAME}:{receiver.port}/"
    with pytest.raises(WebhookUrlRefused, match="not public"):
        await names.check(url)
    with pytest.raises(WebhookUrlRefused, match="not public"):
        await names.post(url, {}, b"{}")
    host = f"[{text.partition('%')[0]}]" if ":" in text else text
    literal = sender(SystemResolver(), private=False)
    with pytest.raises(WebhookUrlRefused, match="not public"):
        await literal.post(f"https://{host}:{receiver.port}/", {}, b"{}")
    assert receiver.connections == 0


async def test_one_bad_address_among_good_ones_refuses_all(receiver: Receiver, url: str) -> None:
    mixed = Rebinding(["93.184.215.14", "127.0.0.1"])
    with pytest.raises(WebhookUrlRefused, match="loopback"):
        await sender(mixed, private=False).post(url, {}, b"{}")
    assert receiver.connections == 0


async def test_a_name_that_is_rebound_before_the_delivery_is_refused(
    receiver: Receiver, url: str
) -> None:
    rebinding = Rebinding(["93.184.215.14"], ["127.0.0.1"])
    guarded = sender(rebinding, private=False)
    await guarded.check(url)  # public at creation
    with pytest.raises(WebhookUrlRefused, match="loopback"):
        await guarded.post(url, {}, b"{}")
    assert receiver.connections == 0


async def test_a_name_that_is_rebound_during_the_delivery_changes_nothing(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One lookup only: what is connected to is what was checked."""
    rebinding = Rebinding(["93.184.215.14"], ["127.0.0.1"])
    connected: list[str] = []

    async def connecting(_url: object, address: IpAddress, _context: object) -> object:
        connected.append(str(address))
        raise ConnectionRefusedError

    monkeypatch.setattr(sender_module, "connect", connecting)
    with pytest.raises(DeliveryFailed, match="refused"):
        await sender(rebinding, private=False).post(url, {}, b"{}")
    assert connected == ["93.184.215.14"]
    assert rebinding.asked == [NAME]


async def test_the_allow_list_is_checked_before_any_lookup(url: str) -> None:
    resolver = Rebinding(["127.0.0.1"])
    listed = sender(resolver, hosts=["other.example.com"])
    with pytest.raises(WebhookUrlRefused, match="list of allowed hosts"):
        await listed.post(url, {}, b"{}")
    with pytest.raises(WebhookUrlRefused, match="list of allowed hosts"):
        await listed.check(url)
    assert resolver.asked == []
    assert await sender(hosts=["*.example.com"]).post(url, {}, b"{}") == 200


async def test_http_reaches_loopback_only_and_only_where_it_is_allowed() -> None:
    async with receiving() as plain:
        url = f"http://localhost:{plain.port}/"
        assert await sender().post(url, {}, b"{}") == 200
        with pytest.raises(WebhookUrlRefused, match="https://"):
            await sender(private=False).check(url)
        with pytest.raises(WebhookUrlRefused, match="http only to loopback"):
            await sender(Rebinding(["10.0.0.1"])).check(url)
        with pytest.raises(WebhookUrlRefused, match="http only to loopback"):
            await sender(Rebinding(["127.0.0.1", "93.184.215.14"])).check(url)


async def test_dns_that_hangs_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender_module, "_RESOLVE_S", 0.05)
    silent = sender(Silent(), wait=0.05)
    with pytest.raises(DeliveryFailed, match="no complete answer"):
        await silent.post(f"https://{NAME}/", {}, b"{}")
    with pytest.raises(WebhookUrlRefused, match="resolved in time"):
        await silent.check(f"https://{NAME}/")


async def test_a_name_without_an_address() -> None:
    unknown = sender(SystemResolver())
    with pytest.raises(WebhookUrlRefused, match="its host has no address"):
        await unknown.check("https://no-such-host.invalid/")
    with pytest.raises(DeliveryFailed, match="its host has no address"):
        await unknown.post("https://no-such-host.invalid/", {}, b"{}")
    with pytest.raises(DeliveryFailed, match="its host has no address"):
        await sender(Rebinding([])).post(f"https://{NAME}/", {}, b"{}")


@pytest.mark.parametrize("case", ["other name", "unknown authority"])
async def test_a_bad_certificate_is_refused(case: str) -> None:
    context = serving("other.example.com")
    if case == "unknown authority":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trustme.CA().issue_cert(NAME).configure_cert(context)
    async with receiving(context) as bad:
        with pytest.raises(DeliveryFailed, match="certificate is not trusted"):
            await sender().post(f"https://{NAME}:{bad.port}/", {}, b"{}")
        assert bad.requests == []


async def test_a_receiver_without_tls_gets_nothing() -> None:
    async def in_clear(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(400))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(in_clear, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(DeliveryFailed, match="TLS handshake"):
        await sender().post(f"https://{NAME}:{port}/", {}, b"{}")
    server.close()


async def test_the_next_address_is_taken_where_one_refuses(receiver: Receiver, url: str) -> None:
    both = Rebinding(["127.0.0.2", "127.0.0.1"])  # the receiver listens on the second only
    assert await sender(both).post(url, {}, b"{}") == 200
    assert len(receiver.requests) == 1


async def test_a_header_cannot_bring_another_one(url: str) -> None:
    with pytest.raises(ValueError, match="line break"):
        await sender().post(url, {"webhook-id": "a\r\nX: y"}, b"{}")


async def test_a_port_without_a_listener(receiver: Receiver) -> None:
    async with receiving() as gone:
        port = gone.port
    with pytest.raises(DeliveryFailed, match="refused"):
        await sender().post(f"https://{NAME}:{port}/", {}, b"{}")
