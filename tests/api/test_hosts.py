"""Only known names in Host are answered."""

import json
from typing import Any

import pytest

from quietswap.service.api.middleware.headers import (
    LOOPBACK,
    InvalidHost,
    TrustedHostsMiddleware,
    checked_host,
)
from quietswap.service.base.loopback import is_loopback
from tests.contract import _plain
from tests.virtual_time import run


def answer(hosts: list[str], names: tuple[str, ...] = LOOPBACK, *, addresses: bool = False) -> Any:
    """Return status and body of a request with these Host headers."""
    sent = _sent(hosts, names, addresses=addresses)
    return sent[0]["status"], json.loads(sent[1]["body"])


def _sent(
    hosts: list[str], names: tuple[str, ...] = LOOPBACK, *, addresses: bool = False
) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        raise AssertionError("nothing is read")

    headers = [(b"host", host.encode("latin-1")) for host in hosts]
    run(
        TrustedHostsMiddleware(app, names, addresses=addresses)(
            {"type": "http", "headers": headers}, receive, send
        )
    )
    return sent


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:8080", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:65535", "[::1]",
     "[::1]:8080", "localhost."],
)  # fmt: skip
def test_the_names_of_loopback_are_answered_with_any_port(host: str) -> None:
    assert answer([host])[0] == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8080", "localhost.evil.example", "evil.example#localhost",
     "localhost@evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[::2]", "[::1", "::1", "",
     ":8080", "localhost:80:80", "localhost/", "127.1", "\xe9.example"],
)  # fmt: skip
def test_a_name_that_was_rebound_is_refused(host: str) -> None:
    status, body = answer([host])
    assert (status, body["error"]) == (421, "HOST_NOT_ALLOWED")
    assert body["details"] == {"provided": host}
    assert "server.allowed_hosts" in body["suggestion"]
    _plain("HOST_NOT_ALLOWED").validate(body)


def test_a_refusal_has_the_headers_of_every_answer() -> None:
    headers = dict(_sent(["evil.example"])[0]["headers"])
    assert headers[b"cache-control"] == b"no-store"
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert len(headers[b"x-request-id"]) == 16


@pytest.mark.parametrize("hosts", [[], ["localhost", "evil.example"], ["localhost", "localhost"]])
def test_exactly_one_host_is_named(hosts: list[str]) -> None:
    assert answer(hosts)[0] == 421


def test_listed_names_replace_those_of_loopback_and_addresses_pass() -> None:
    names = ("api.example",)
    said = {
        host: answer([host], names, addresses=True)[0]
        for host in ("api.example:443", "10.1.2.3:8080", "[fd00::1]", "localhost", "x.api.example")
    }
    assert list(said.values()) == [200, 200, 200, 421, 421]


@pytest.mark.parametrize("text", ["", "*", "*.example", "a:1", "https://a", "A", "::1", "[x]"])
def test_what_is_no_host_cannot_be_listed(text: str) -> None:
    with pytest.raises(InvalidHost):
        checked_host(text)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_where_loopback_is(host: str) -> None:
    assert is_loopback(host)
    assert not is_loopback("0.0.0.0")
