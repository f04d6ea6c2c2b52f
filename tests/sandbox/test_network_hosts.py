"""Every port of the sandbox rejects a Host other than loopback (DNS rebinding)."""

import asyncio

import httpx
import pytest

from quietswap.sandbox.http_server import is_loopback
from quietswap.sandbox.network import SandboxNetwork
from tests.sandbox.network_client import payment, rpc

FOREIGN = {"Host": "evil.example"}


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]", "[::1]:9"]
)
def test_loopback_by_any_of_its_names(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        *("", "evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil"),
        *("127.0.0.1:80:80", "localhost:", "localhost:x", "::1", "0.0.0.0:1", "localhost:١"),
    ],
)
def test_any_other_name_is_foreign(host: str) -> None:
    assert not is_loopback(host)


async def test_a_foreign_name_switches_nothing(
    sandbox: SandboxNetwork, http: httpx.AsyncClient
) -> None:
    faults = sandbox.control_url + "/faults"
    refused = await http.put(f"{faults}/sushi", json={"fault": "hang"}, headers=FOREIGN)
    assert refused.status_code == 403
    assert "Host" in refused.json()["error"]
    assert (await http.get(faults)).json() == {"faults": {}}


async def test_no_part_answers_a_foreign_name(
    sandbox: SandboxNetwork, http: httpx.AsyncClient
) -> None:
    assert {"node", "relay", "backup_relay", "control", *sandbox.venues} < set(sandbox.urls)
    for url in sandbox.urls.values():
        for answer in (await http.get(url, headers=FOREIGN), await _called(http, url)):
            assert (answer.status_code, "Host" in answer.json()["error"]) == (403, True), url


async def _called(http: httpx.AsyncClient, url: str) -> httpx.Response:
    call = {"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []}
    return await http.post(url, json=call, headers={"Host": "evil.example:8545"})


async def test_a_foreign_name_sends_no_transaction(
    sandbox: SandboxNetwork, http: httpx.AsyncClient
) -> None:
    tx = payment(sandbox)
    call = {"id": 1, "method": "eth_sendRawTransaction", "params": ["0x" + tx.raw.hex()]}
    for url in (sandbox.rpc_url, sandbox.relay_url):
        assert (await http.post(url, json=call, headers=FOREIGN)).status_code == 403
    assert not sandbox.relays["relay"].pool.get(tx.hash)
    assert tx.hash not in sandbox.public
    assert await rpc(http, sandbox.rpc_url, "eth_getTransactionByHash", tx.hash) is None


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        *(("https://evil.example", 403), ("http://evil.example:3000", 403), ("null", 403)),
        *(("http://127.0.0.1.evil.example", 403), ("http://localhost:3000", 200)),
        *(("http://[::1]:3000", 200), ("chrome-extension://wallet", 200)),
    ],
)
async def test_a_page_of_another_site_sends_nothing_blindly(
    sandbox: SandboxNetwork, http: httpx.AsyncClient, origin: str, status: int
) -> None:
    blind = {"Origin": origin, "Content-Type": "text/plain"}
    before = await rpc(http, sandbox.rpc_url, "eth_blockNumber")
    mined = await http.post(sandbox.control_url + "/mine", content=b"", headers=blind)
    assert mined.status_code == status
    after = await rpc(http, sandbox.rpc_url, "eth_blockNumber")
    assert (after == before) == (status == 403)


async def test_a_request_without_a_host_is_refused(sandbox: SandboxNetwork) -> None:
    port = int(sandbox.rpc_url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n")
    assert (await reader.readline()).startswith(b"HTTP/1.1 403 ")
    writer.close()
