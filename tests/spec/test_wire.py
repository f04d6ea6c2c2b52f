"""What no HTTP client would send: the running server still answers in the envelope."""

import json
import socket
from urllib.parse import urlsplit

import pytest

from tests.spec.api_client import ApiClient
from tests.spec.coverage import shows
from tests.waiting import WITHIN_S

JSON = b"Content-Type: application/json\r\n"
BLANKS = b"10000\r\n" + b" " * 65_536 + b"\r\n"
CASES = {
    b"GET /api/v1/%zz": (404, "NOT_FOUND", b""),
    b"GET /api/v1/mev/orders/%ff": (404, "ORDER_NOT_FOUND", b""),
    b"GET /api/v1/mev/orders/%00": (404, "ORDER_NOT_FOUND", b""),
    b"GET /api/v1/mev/orders/user/%ff%00": (400, "INVALID_ADDRESS", b""),
    b"GET http://elsewhere/api/v1/mev/orders/x": (404, "ORDER_NOT_FOUND", b""),
    b"GET /api/v1/quote?sellToken=%zz": (400, "INVALID_PARAMETER", b""),
    b"GET /api/v1/quote?sellAmount=1&sellAmount=2": (400, "INVALID_PARAMETER", b""),
    b"OPTIONS *": (404, "NOT_FOUND", b""),
    b"TRACE /api/v1/quote": (405, "METHOD_NOT_ALLOWED", b""),
    b"BREW /api/v1/quote": (405, "METHOD_NOT_ALLOWED", b""),
    b"POST /api/v1/mev/orders": (415, "UNSUPPORTED_MEDIA_TYPE", b"Content-Length: 2\r\n\r\n{}"),
    b"POST /api/v1/mev/wrap/quote": (
        413, "PAYLOAD_TOO_LARGE", JSON + b"Content-Length: 2000000\r\n\r\n",
    ),
    b"POST /api/v1/mev/wrap/order": (
        413, "PAYLOAD_TOO_LARGE",
        JSON + b"Transfer-Encoding: chunked\r\n\r\n" + BLANKS * 17 + b"0\r\n\r\n",
    ),
    b"POST /api/v1/mev/orders?x": (
        422, "VALIDATION_ERROR", JSON + b"Content-Length: 9\r\n\r\n{\"a\":\"\xff\"}",
    ),
}  # fmt: skip


def answered(desk: ApiClient, raw: bytes) -> tuple[int, dict[str, str]]:
    """Send bytes and return the status and the body of the answer."""
    place = urlsplit(desk.town.facts["baseUrl"])
    received = b""
    with socket.create_connection((place.hostname, place.port), timeout=WITHIN_S) as connection:
        connection.sendall(raw)
        while not received.endswith(b"}"):
            piece = connection.recv(65_536)
            assert piece, received
            received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"content-type: application/json" in head.lower()
    told: dict[str, str] = json.loads(body)
    return int(head.split()[1]), told


@shows("field: error envelope.*")
@pytest.mark.parametrize("line", CASES)
def test_odd_bytes_are_answered_in_the_envelope(desk: ApiClient, line: bytes) -> None:
    status, code, rest = CASES[line]
    head = b" HTTP/1.1\r\nHost: localhost\r\nX-API-Key: " + desk.secret.encode() + b"\r\n"
    told_status, told = answered(desk, line + head + (rest or b"\r\n"))
    assert (told_status, told["ok"], told["error"]) == (status, False, code)
    assert told["message"]
