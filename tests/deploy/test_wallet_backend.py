"""The server and the wallet of the cookbook, where an answer is lost or a body is hostile."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from eth_account.signers.local import LocalAccount

from quietswap.sandbox.contracts.pools import USDC, WETH
from quietswap.sandbox.ports import free_port
from tests.deploy.files import ROOT
from tests.deploy.recipes import client, example
from tests.deploy.test_commands import environment
from tests.spec.api_client import ApiClient
from tests.spec.wire import sign
from tests.waiting import LONG_S, wait_until

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLwSw"


@contextmanager
def running(desk: ApiClient, account: LocalAccount, name: str, port: str) -> Iterator[str]:
    """Run a server of `examples/`, and return its address."""
    number = free_port()
    env = environment(
        desk.town, WEBHOOK_SECRET=SECRET, **{port: str(number)}, **client(desk, account)
    )  # fmt: skip
    url = f"http://127.0.0.1:{number}"
    with subprocess.Popen([sys.executable, f"examples/{name}"], cwd=ROOT, env=env) as server:
        try:
            wait_until(lambda: _answers(url), "the server does not answer", every_s=0.1)
            yield url
        finally:
            server.kill()


def _answers(url: str) -> bool:
    try:
        return httpx.post(url, content=b"{}").status_code > 0
    except httpx.TransportError:
        return False


@pytest.fixture
def account(desk: ApiClient) -> LocalAccount:
    return desk.wallet()


@pytest.fixture
def backend(desk: ApiClient, account: LocalAccount) -> Iterator[str]:
    with running(desk, account, "wallet_backend.py", "BACKEND_PORT") as url:
        yield url


def signed_swap(desk: ApiClient, account: LocalAccount, backend: str) -> dict[str, str]:
    """Return what the wallet hands over, with an approval that the chain has already."""
    pair = {"sellToken": WETH.address, "buyToken": USDC.address, "sellAmount": str(10**16)}
    quote = httpx.post(f"{backend}/quotes", json=pair | {"wallet": account.address}).json()
    router = {"sellToken": WETH.address, "dexRoute": {"target": quote["transaction"]["to"]}}
    desk.approve(account, router)
    return {"quoteId": quote["quoteId"], "signedTransaction": sign(account, quote["transaction"])}


def test_the_same_bytes_again_are_the_same_order(
    desk: ApiClient, account: LocalAccount, backend: str
) -> None:
    body = signed_swap(desk, account, backend)
    first, again = (httpx.post(f"{backend}/orders", json=body, timeout=LONG_S) for _ in range(2))
    assert (first.status_code, again.status_code) == (200, 200), again.text
    assert first.json()["orderId"] == again.json()["orderId"]
    assert first.json()["txHash"] == again.json()["txHash"]
    assert desk.history(account)["total"] == 1


def test_a_lost_answer_is_asked_for_again(desk: ApiClient, account: LocalAccount) -> None:
    """The relay's part is over, but the wallet hears nothing of it the first time."""
    script = """
import sys
sys.path.insert(0, "examples")
import wallet_app as app
fetch, lost = app.fetch, []
def losing(url, headers, body=None):
    answer = fetch(url, headers, body)
    if url.endswith("/orders") and len(lost) < int(sys.argv[1]):
        lost.append(answer)
        raise app.NoAnswer("no answer: timed out")
    return answer
app.fetch, app.PATIENCE = losing, 0
app.main()
"""
    ends = {"2": "is still open", "3": "is submitted: look for it before you sign again"}
    with running(desk, account, "wallet_backend.py", "BACKEND_PORT") as url:
        for orders, (times, says) in enumerate(ends.items(), 1):
            done = example(
                desk, account, f'python -c "$SCRIPT" {times}', SCRIPT=script, BACKEND_URL=url,
                POLL_SECONDS="0.2",
            )  # fmt: skip
            assert done.stderr.endswith(f"{says}\n")
            assert done.returncode == 1  # no webhook tells this server how the order ends
            assert desk.history(account)["total"] == orders


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"sellToken":"x","buyToken":"x","wallet":"x","sellAmount":Infinity}', 400),
        (b'{"sellToken":"x","buyToken":"x","wallet":"x","sellAmount":1e30}', 400),
        (b"[" * 100_000, 400),
        (b"[]", 400),
    ],
)
def test_a_hostile_body_is_answered(backend: str, body: bytes, status: int) -> None:
    assert httpx.post(f"{backend}/quotes", content=body).status_code == status


def status_for(server: str, length: bytes) -> bytes:
    """Return the status for a POST that gives this length, and sends no body."""
    at = httpx.URL(server)
    with socket.create_connection((at.host, at.port or 0), timeout=LONG_S) as connection:
        connection.sendall(b"POST /quotes HTTP/1.1\r\nContent-Length: " + length + b"\r\n\r\n")
        return connection.makefile("rb").readline().split()[1]


@pytest.mark.parametrize("length", [b"abc", b"-1", b"9" * 5000, b"9999999"])
def test_a_hostile_length_is_answered(backend: str, length: bytes) -> None:
    assert status_for(backend, length) == b"413"


def test_a_receiver_is_not_held_up_by_a_connection(desk: ApiClient, account: LocalAccount) -> None:
    with running(desk, account, "webhook_receiver.py", "WEBHOOK_PORT") as url:
        at = httpx.URL(url)
        with socket.create_connection((at.host, at.port or 0)):
            assert httpx.post(url, content=b"{}").status_code == 401
        assert status_for(url, b"1000000") == b"413"
