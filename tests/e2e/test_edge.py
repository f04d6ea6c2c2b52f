"""What the server itself keeps from the application: slow, huge and malformed heads."""

import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.conftest import Town
from tests.e2e.serving import Served, serving
from tests.waiting import WITHIN_S, wait_until

pytestmark = pytest.mark.xdist_group("edge")

HEAD = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(scope="module")
def served(town: Town, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(town, tmp_path_factory.mktemp("edge")) as found:
        yield found


def told(served: Served, text: str) -> bytes:
    """Send bytes on a connection of their own; return the answer once the server has cut it."""
    port = int(served.url.rstrip("/").rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=WITHIN_S) as client:
        client.sendall(text.encode("latin-1"))
        answer = b""
        while chunk := client.recv(65536):
            answer += chunk
        return answer


def test_slow_clients_are_cut(served: Served) -> None:
    said = ["", "G", HEAD, f"{HEAD}\r\n"]
    with ThreadPoolExecutor(len(said)) as threads:
        results = list(threads.map(lambda text: told(served, text), said))
    for text, answer in zip(said, results, strict=True):
        assert answer.startswith(b"HTTP/1.1 200") if text.endswith("\r\n\r\n") else answer == b""


def test_one_address_holds_a_bounded_number_of_connections(town: Town, tmp_path: Path) -> None:
    """Renewed heads that never end keep nobody out, also of the same address."""
    with (
        serving(town, tmp_path, SERVER__CONNECTIONS_PER_ADDRESS="20") as served,
        ExitStack() as held,
    ):
        port = int(served.url.rstrip("/").rpartition(":")[2])
        for _ in range(80):
            one = held.enter_context(socket.create_connection(("127.0.0.1", port)))
            one.sendall(HEAD.encode())

        def closed() -> int:
            lines = (line for line in served.lines() if line["event"] == "connections_closed")
            return sum(int(str(line["count"])) for line in lines)

        wait_until(lambda: closed() >= 60, "they are all open")
        assert told(served, f"{HEAD}Connection: close\r\n\r\n").startswith(b"HTTP/1.1 200")
        figures = served.town.api.get("/metrics").text
        assert re.search(r"^quietswap_connections_closed_total [6-9]\d", figures, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("NONSENSE\r\n\r\n", b"400"),
        ("GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", b"400"),
        (f"{HEAD}Content-Length: $C]40T\r\n\r\n", b"400"),
        (f"{HEAD}X-Long: {'a' * 300_000}\r\n\r\n", b"431"),
        (HEAD + "".join(f"X-{n}: a\r\n" for n in range(150)) + "\r\n", b"431"),
    ],
)
def test_a_head_nobody_can_read_is_refused_without_a_body(
    served: Served, text: str, status: bytes
) -> None:
    answer = told(served, text)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert answer.endswith(b"\r\n\r\n")


def test_a_huge_body_is_refused_before_it_comes(served: Served) -> None:
    head = "POST /api/v1/mev/orders HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    head += f"X-API-Key: {served.key}\r\nContent-Type: application/json\r\n"
    answer = told(served, f"{head}Content-Length: 99999999\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"PAYLOAD_TOO_LARGE" in answer


def test_two_lengths_of_one_body_begin_no_second_request(served: Served) -> None:
    head = "POST /api/v1/mev/orders HTTP/1.1\r\nHost: localhost\r\n"
    head += f"X-API-Key: {served.key}\r\nContent-Type: application/json\r\n"
    framed = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n"
    answer = told(served, head + framed + f"{HEAD}\r\n")
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost", b"200"), ("127.0.0.1:1", b"200"), ("evil.example", b"421"), ("", b"421")],
)
def test_a_service_on_loopback_answers_to_its_own_names_alone(
    served: Served, host: str, status: bytes
) -> None:
    answer = told(served, f"GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert (b'"HOST_NOT_ALLOWED"' in answer) == (status == b"421")
