"""eth_sendRawTransaction: the hash, or an error that says what became of the transaction."""

from typing import Any

import httpx
import pytest

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.errors.base import ProviderUnavailable, RateLimitExceeded, RequestError
from quietswap.rules.errors.requests import InvalidSignature, SignatureReplay
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.api.operation import ApiOptions
from quietswap.service.server.app import create_api
from tests import loopback
from tests.api.scripted_use_cases import HandClock, ScriptedUseCases
from tests.api.scripted_wallet_rpc import HASH
from tests.api.wallet_rpc.calls import call, failed, post, request

SEND = "eth_sendRawTransaction"


async def test_a_send_answers_the_hash(client: httpx.AsyncClient, inside: ScriptedUseCases) -> None:
    assert (await call(client, SEND, "0x02aB"))["result"] == HASH
    assert inside.rpc.sent == [("rpc_1", "0x02aB")]


@pytest.mark.parametrize(
    "params",
    [[], ["02ab"], ["0x0"], ["0xzz"], [1], [None], [["0x02"]], ["0x02", "0x03"]],
)  # fmt: skip
async def test_what_is_no_hex_is_not_sent(
    client: httpx.AsyncClient, inside: ScriptedUseCases, params: list[Any]
) -> None:
    await failed(client, -32602, SEND, *params)
    assert inside.rpc.sent == []


@pytest.mark.parametrize(
    ("error", "order_id"),
    [
        (InvalidSignature(reason="it was signed by another wallet"), None),
        (SignatureReplay(order_id="ord_7"), "ord_7"),
        (ProviderUnavailable("away", reason="NOT_SENT", order_id="ord_8"), "ord_8"),
        (ProviderUnavailable("away"), None),
    ],
)
async def test_a_refusal_has_code_details_and_order(
    client: httpx.AsyncClient, inside: ScriptedUseCases, error: RequestError, order_id: str | None
) -> None:
    inside.rpc.send = error
    told = await failed(client, -32003, SEND, "0x02")
    assert told["message"] == error.message
    assert told["data"].pop("orderId", None) == order_id
    assert told["data"] == {"code": error.code, "details": error.details or {}}


async def test_a_limit_of_sends_is_a_limit(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.rpc.send = RateLimitExceeded(retry_after=7, limit=3, window=60)
    told = await failed(client, -32005, SEND, "0x02")
    assert told["data"]["details"]["retryAfter"] == 7


@pytest.mark.parametrize("error", [StoreUnavailable("gone"), NodeUnavailable("gone")])
async def test_an_unknown_end_is_not_called_a_rejection(
    client: httpx.AsyncClient, inside: ScriptedUseCases, error: Exception
) -> None:
    inside.rpc.send = error
    told = await failed(client, -32002, SEND, "0x02")
    assert "not known" in told["message"]
    assert "gone" not in told["message"]


async def test_the_sends_of_a_batch_go_in_their_order(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    body = [request(SEND, [f"0x{n:02x}"], n) for n in range(20)]
    answers = (await post(client, [request("eth_blockNumber"), *body])).json()
    assert [one["result"] for one in answers[1:]] == [HASH] * 20
    assert [raw for _, raw in inside.rpc.sent] == [f"0x{n:02x}" for n in range(20)]


async def test_a_failed_send_does_not_end_the_others(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.rpc.send = ZeroDivisionError("boom")
    answers = (await post(client, [request(SEND, ["0x02"]), request("eth_chainId")])).json()
    assert answers[0]["error"]["code"] == -32603
    assert answers[1]["result"] == "0x1"


async def test_no_further_send_starts_after_the_time_of_a_batch(clock: HandClock) -> None:
    inside = ScriptedUseCases(clock)

    async def slow(*_: object) -> str:
        clock.ms += 20_000
        inside.rpc.sent.append(("rpc_1", "slow"))
        return HASH

    inside.rpc._send = slow  # type: ignore[method-assign]
    app = create_api(inside.use_cases(), ApiOptions(), clock)
    transport = httpx.ASGITransport(app=app)
    async with loopback.AsyncClient(transport=transport, base_url="http://edge") as client:
        answers = (await post(client, [request(SEND, ["0x02"], n) for n in range(4)])).json()
    assert [one.get("error", {}).get("code") for one in answers] == [None, None, -32005, -32005]
    assert answers[3]["error"]["message"].startswith("not sent anywhere")
    assert len(inside.rpc.sent) == 2
