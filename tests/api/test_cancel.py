"""Cancelling at the edge: an empty body asks, a full one submits, half of one is named."""

import httpx
import pytest

from quietswap.rules.orders.cancel_transaction import CancelOrderRequest
from quietswap.service.api.endpoint import operation_name
from quietswap.service.api.operation import ApiOptions
from quietswap.service.server.app import create_api
from tests.api import requests
from tests.api.requests import CANCEL, cancel_body
from tests.api.scripted_use_cases import SECRET, HandClock, ScriptedUseCases
from tests.api.test_envelope import refused


@pytest.mark.parametrize("body", [b"", b"{}", b'{"signedTransaction": null}'])
async def test_an_empty_body_asks_what_to_sign(
    client: httpx.AsyncClient, inside: ScriptedUseCases, body: bytes
) -> None:
    headers = {"content-type": "application/json"} if body else {}
    answer = await client.post(CANCEL, content=body, headers=headers)
    assert answer.status_code == 200
    data = answer.json()["data"]
    assert data["orderId"] == "ord_1"
    params = data["transactionParams"]
    assert (params["data"], params["value"], params["gasLimit"]) == ("0x", "0", "21000")
    assert (params["maxPriorityFeePerGas"], params["type"], params["chainId"]) == ("0", 2, 1)
    assert data["providerMetadata"]["provider"] == "mev_relay"
    assert data["validUntil"] > data["createdAt"]
    assert inside.asked[-1][1] == "ord_1"


async def test_a_full_body_submits(client: httpx.AsyncClient, inside: ScriptedUseCases) -> None:
    answer = await requests.ask(client, CANCEL)
    data = answer.json()["data"]
    assert (data["order"]["orderId"], data["cancel"]["orderId"]) == ("ord_1", "cnl_1")
    assert data["tracking"]["statusEndpoint"] == "/api/v1/mev/orders/ord_1"
    sent = cancel_body()
    assert inside.asked[-1][1] == CancelOrderRequest(
        "ord_1", sent["signedTransaction"], sent["providerMetadata"]
    )


@pytest.mark.parametrize("missing", ["signedTransaction", "providerMetadata"])
async def test_half_a_body_is_not_taken_for_an_empty_one(
    client: httpx.AsyncClient, inside: ScriptedUseCases, missing: str
) -> None:
    answer = await requests.ask(client, CANCEL, **{missing: None})
    assert refused(answer, 400, "MISSING_PARAMETER")["details"]["field"] == missing
    assert inside.asked == []


async def test_a_body_of_another_media_type_is_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post(CANCEL, content=b"{}", headers={"content-type": "text/plain"})
    refused(answer, 415, "UNSUPPORTED_MEDIA_TYPE")


async def test_a_stream_without_a_length_is_read(client: httpx.AsyncClient) -> None:
    async def chunks():  # type: ignore[no-untyped-def]
        yield b'{"signedTransaction"'
        yield b': "0x02"}'

    answer = await client.post(
        CANCEL, content=chunks(), headers={"content-type": "application/json"}
    )
    refused(answer, 400, "MISSING_PARAMETER")


async def test_chunks_that_hold_nothing_are_an_empty_body(client: httpx.AsyncClient) -> None:
    async def chunks():  # type: ignore[no-untyped-def]
        yield b""

    answer = await client.post(CANCEL, content=chunks())
    assert answer.status_code == 200


async def test_it_needs_a_key(stranger: httpx.AsyncClient) -> None:
    refused(await stranger.post(CANCEL), 401, "UNAUTHORIZED")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/api/v1/mev/orders/ord_1/cancel", "order_cancel"),
        ("/api/v1/mev/orders/user/cancel", "order_history"),
        ("/api/v1/mev/orders/cancel", "order_status"),
        ("/api/v1/mev/orders//cancel", None),
        ("/api/v1/mev/orders/a/b/cancel", None),
        ("/api/v1/mev/orders/ord_1/cancel/", None),
        ("/api/v1/mev/orders/ord_1/cancels", None),
    ],
)
def test_only_its_own_path_leads_there(
    inside: ScriptedUseCases, clock: HandClock, path: str, name: str | None
) -> None:
    api = create_api(inside.use_cases(), ApiOptions(), clock)
    scope = {"type": "http", "method": "POST", "path": path}
    matches = [scope | found for _, found in (r.matches(scope) for r in api.routes) if found]
    assert operation_name(matches[0]) == (name or "other")


async def test_an_id_that_cannot_exist_is_not_found(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/v1/mev/orders/%00/cancel", json={})
    refused(answer, 404, "ORDER_NOT_FOUND")
    assert SECRET not in answer.text
