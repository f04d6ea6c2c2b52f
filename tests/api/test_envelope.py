"""No answer of any kind leaves the envelope."""

from typing import Any

import httpx
import pytest

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.contract.errors import ERRORS, status_of
from quietswap.rules.errors.base import RequestError
from quietswap.rules.errors.requests import ValidationError
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.api import json
from quietswap.service.api.operation import ApiOptions
from quietswap.service.server.app import create_api
from quietswap.service.server.openapi import EXAMPLES
from quietswap.service.server.routes import OPERATIONS
from tests import loopback
from tests.api import requests
from tests.api.scripted_use_cases import HandClock, ScriptedUseCases

NAMES = {
    requests.QUOTE: "swap_quote",
    requests.STREAM: "swap_quote_stream",
    requests.ORDERS: "swap_order",
    requests.ORDER: "order_status",
    requests.CANCEL: "order_cancel",
    requests.HISTORY: "order_history",
    requests.WRAP_INFO: "wrap_info",
    requests.WRAP_QUOTE: "wrap_quote",
    requests.WRAP_ORDER: "wrap_order",
    requests.EVENTS: "event_stream",
    requests.USAGE: "usage",
}
OPS = {path: next(op for op in OPERATIONS if op.name == name) for path, name in NAMES.items()}
OUTAGES = (StoreUnavailable("the database is away"), NodeUnavailable("the node is away"))


def refused(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """Check the envelope and return it."""
    assert answer.headers["content-type"] == "application/json"
    body: dict[str, Any] = answer.json()
    assert (answer.status_code, body["error"]) == (status, code)
    assert body["ok"] is False
    assert body["message"]
    assert "data" not in body
    return body


def catalogue(base: type[RequestError] = RequestError) -> list[type[RequestError]]:
    """Return every error class with a code."""
    found = [leaf for kind in base.__subclasses__() for leaf in (kind, *catalogue(kind))]
    return [kind for kind in found if "code" in vars(kind)]


def test_every_error_has_a_status_and_an_example() -> None:
    codes = {kind.code for kind in catalogue()}
    assert codes == set(ERRORS) == set(EXAMPLES)


LISTED = [(path, code) for path in requests.ALL for code in OPS[path].codes]


@pytest.mark.parametrize(("path", "code"), LISTED)
async def test_what_a_use_case_refuses_is_told_with_its_status(
    client: httpx.AsyncClient, inside: ScriptedUseCases, path: str, code: str
) -> None:
    error = inside.fails = EXAMPLES[code]
    answer = await requests.ask(client, path)
    body = refused(answer, status_of(code, NAMES[path]), code)
    assert body.get("details") == error.details
    assert body.get("suggestion") == error.suggestion
    assert body["message"] == error.message


@pytest.mark.parametrize("path", [requests.ORDERS, requests.WRAP_ORDER])
async def test_a_nonce_too_low_is_a_conflict_except_for_wraps(
    client: httpx.AsyncClient, inside: ScriptedUseCases, path: str
) -> None:
    inside.fails = EXAMPLES["NONCE_TOO_LOW"]
    answer = await requests.ask(client, path)
    body = refused(answer, 400 if path == requests.WRAP_ORDER else 409, "NONCE_TOO_LOW")
    assert body["details"] == {"provided": 6, "expected": 7}


async def test_absent_details_and_suggestions_are_absent(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.fails = EXAMPLES["ORDER_NOT_FOUND"]
    body = (await requests.ask(client, requests.ORDER)).json()
    assert body.keys() == {"ok", "error", "message"}


@pytest.mark.parametrize("path", requests.ALL)
async def test_an_internal_failure_tells_a_request_id_and_no_cause(
    client: httpx.AsyncClient, inside: ScriptedUseCases, logged: list[Any], path: str
) -> None:
    cause = inside.fails = RuntimeError("password=hunter2")
    answer = await requests.ask(client, path)
    body = refused(answer, 500, "INTERNAL_SERVER_ERROR")
    assert body["details"] == {"requestId": answer.headers["x-request-id"]}
    assert "hunter2" not in answer.text
    (entry,) = logged
    assert (entry["event"], entry["route"]) == ("request_failed", NAMES[path])
    assert entry["request"] == answer.headers["x-request-id"]
    assert entry["exc_info"] is cause


@pytest.mark.parametrize("path", requests.ALL)
async def test_what_the_caller_did_wrong_is_no_entry_in_the_log(
    client: httpx.AsyncClient, inside: ScriptedUseCases, logged: list[Any], path: str
) -> None:
    inside.fails = EXAMPLES["RATE_LIMIT_EXCEEDED"]
    await requests.ask(client, path)
    assert logged == []


@pytest.mark.parametrize("path", requests.ALL)
@pytest.mark.parametrize("outage", OUTAGES, ids=["store", "chain"])
async def test_an_outage_is_a_503_with_the_code_the_endpoint_has_for_it(
    client: httpx.AsyncClient,
    inside: ScriptedUseCases,
    logged: list[Any],
    path: str,
    outage: Exception,
) -> None:
    inside.fails = outage
    answer = await requests.ask(client, path)
    if path in (requests.ORDERS, requests.CANCEL, requests.WRAP_ORDER):
        body = refused(answer, 503, "PROVIDER_UNAVAILABLE")
        assert body["details"] == {"reason": "STORE_UNAVAILABLE"}
        assert "same signed transaction" in body["suggestion"]
        assert "Nothing was sent" not in answer.text
    else:
        refused(answer, 503, "SERVICE_UNAVAILABLE")
    assert str(outage) not in answer.text
    (entry,) = logged
    assert (entry["event"], entry["reason"]) == ("request_unserved", str(outage))
    assert entry["request"] == answer.headers["x-request-id"]


async def test_a_database_that_is_away_while_the_key_is_looked_up_is_an_outage_too(
    inside: ScriptedUseCases, clock: HandClock
) -> None:
    async def authenticate(_: str) -> None:
        raise StoreUnavailable("away")

    inside._authenticate = authenticate  # type: ignore[method-assign,assignment]
    app = create_api(inside.use_cases(), ApiOptions(), clock)
    transport = httpx.ASGITransport(app=app)
    async with loopback.AsyncClient(transport=transport, base_url="http://edge") as client:
        client.headers["X-API-Key"] = "any"
        refused(await requests.ask(client, requests.QUOTE), 503, "SERVICE_UNAVAILABLE")
        refused(await requests.ask(client, requests.ORDER), 503, "SERVICE_UNAVAILABLE")
        refused(await requests.ask(client, requests.ORDERS), 503, "PROVIDER_UNAVAILABLE")
        refused(await client.get("/api/v1/nothing"), 503, "SERVICE_UNAVAILABLE")


@pytest.mark.parametrize(
    "path",
    ["/api/v1/", "/api/v1/quote/", "/api/v2/quote", "/api/v1/mev/orders/", "/api/v1/mev/orders/a/b",
     "/api/%ff", "/api/%00", "/api/v1/%"],
)  # fmt: skip
async def test_an_unknown_path_is_not_found(client: httpx.AsyncClient, path: str) -> None:
    refused(await client.get(path), 404, "NOT_FOUND")


@pytest.mark.parametrize("path", ["/", "/favicon.ico", "/admin", "/api"])
async def test_outside_the_api_nothing_is_found_without_a_key(
    stranger: httpx.AsyncClient, path: str
) -> None:
    refused(await stranger.get(path), 404, "NOT_FOUND")


@pytest.mark.parametrize("path", requests.ALL)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"])
async def test_another_method_is_not_allowed_and_the_right_one_is_named(
    client: httpx.AsyncClient, path: str, method: str
) -> None:
    right = OPS[path].method
    answer = await client.request(method, path)
    if method == right:
        assert answer.status_code != 405
        return
    body = refused(answer, 405, "METHOD_NOT_ALLOWED")
    assert right in answer.headers["allow"].split(", ")
    assert body["details"]["allowed"] == answer.headers["allow"].split(", ")


async def test_head_is_get_without_a_body(client: httpx.AsyncClient) -> None:
    got, head = await client.get(requests.ORDER), await client.head(requests.ORDER)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == got.headers["content-length"]


@pytest.mark.parametrize("path", [requests.ORDERS, requests.WRAP_QUOTE, requests.WRAP_ORDER])
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/json; charset=latin-1"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
        {"Content-Type": "application/jsonp"},
        {"Content-Type": "\xff"},
    ],
)
async def test_a_body_of_another_media_type_is_refused(
    client: httpx.AsyncClient, path: str, headers: dict[str, str]
) -> None:
    raw = {name: value.encode("latin-1") for name, value in headers.items()}
    answer = await client.post(path, content=b"{}", headers=raw)
    refused(answer, 415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize(
    "media", ["application/json", "APPLICATION/JSON", 'application/json; charset="UTF-8"']
)
async def test_json_in_utf_8_is_taken(client: httpx.AsyncClient, media: str) -> None:
    answer = await client.post(requests.WRAP_QUOTE, content=b"{}", headers={"Content-Type": media})
    refused(answer, 400, "MISSING_PARAMETER")


def test_a_validation_error_without_a_quote_suggests_a_fresh_one() -> None:
    body = json.error_envelope(ValidationError("expired", reason="QUOTE_EXPIRED"))
    assert body.details == {"reason": "QUOTE_EXPIRED", "fields": []}
    assert "fresh quote" in (body.suggestion or "")
