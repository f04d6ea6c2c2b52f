"""JSON-RPC 2.0: single and batch, ids of every JSON type, notifications, and what is no request."""

import json
from typing import Any

import httpx
import pytest

from tests.api.scripted_use_cases import ScriptedUseCases
from tests.api.scripted_wallet_rpc import HASH
from tests.api.wallet_rpc.calls import LOCAL, URL, call, post, request


async def test_a_call_gets_its_answer(client: httpx.AsyncClient) -> None:
    answer = await post(client, request("eth_chainId"))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.content == b'{"jsonrpc":"2.0","id":1,"result":"0x1"}'


@pytest.mark.parametrize(("method", "result"), LOCAL.items())
async def test_some_answers_need_no_node(
    client: httpx.AsyncClient, inside: ScriptedUseCases, method: str, result: Any
) -> None:
    assert (await call(client, method))["result"] == result
    assert (await call(client, "web3_clientVersion"))["result"].startswith("quietswap/")
    assert inside.rpc.read == []


@pytest.mark.parametrize(
    "sent",
    [
        b"7", b"0", b"-1", b"1.50", b"1e3", b"123456789012345678901234567890", b"null", b'"a"',
        b'""', b'"1"', '"\u00e9\u20ac"'.encode(), rb'"\u00e9\n\""',
    ],
)  # fmt: skip
async def test_an_id_comes_back_as_it_was_sent(client: httpx.AsyncClient, sent: bytes) -> None:
    body = b'{"jsonrpc":"2.0","method":"eth_chainId","id": ' + sent + b" }"
    answer = await post(client, body)
    assert answer.content == b'{"jsonrpc":"2.0","id":' + sent + b',"result":"0x1"}'


@pytest.mark.parametrize("sent", [True, False, [1], {"a": 1}, []])
async def test_an_id_of_another_type_is_no_id(client: httpx.AsyncClient, sent: Any) -> None:
    answer = (await post(client, request("eth_chainId", call_id=sent))).json()
    assert answer["id"] is None
    assert answer["error"]["code"] == -32600


async def test_a_batch_is_answered_in_its_order(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    methods = ["eth_blockNumber", "eth_chainId", "eth_nothing", "eth_gasPrice", "net_version"]
    answers = (await post(client, [request(m, call_id=n) for n, m in enumerate(methods)])).json()
    assert [one["id"] for one in answers] == [0, 1, 2, 3, 4]
    assert [one.get("result") for one in answers] == ["0x10", "0x1", None, "0x10", "1"]
    assert answers[2]["error"]["code"] == -32601
    assert [[one.method for one in batch] for batch in inside.rpc.read] == [
        ["eth_blockNumber", "eth_gasPrice"]
    ]


async def test_a_batch_of_one_is_a_batch(client: httpx.AsyncClient) -> None:
    answer = await post(client, [request("eth_chainId")])
    assert answer.json() == [{"jsonrpc": "2.0", "id": 1, "result": "0x1"}]


@pytest.mark.parametrize(
    "body",
    [
        {"jsonrpc": "2.0", "method": "eth_blockNumber"},
        [{"jsonrpc": "2.0", "method": "eth_blockNumber"}] * 3,
        {"jsonrpc": "2.0", "method": "eth_sendRawTransaction", "params": ["0x02"]},
        {"jsonrpc": "2.0", "method": "no_such_method"},
    ],
)
async def test_a_notification_has_no_answer_and_no_effect(
    client: httpx.AsyncClient, inside: ScriptedUseCases, body: Any
) -> None:
    answer = await post(client, body)
    assert (answer.status_code, answer.content) == (204, b"")
    assert (inside.rpc.read, inside.rpc.sent) == ([], [])


async def test_a_batch_answers_only_what_has_an_id(client: httpx.AsyncClient) -> None:
    note = {"jsonrpc": "2.0", "method": "eth_chainId"}
    answers = (await post(client, [note, request("net_version", call_id="x"), note])).json()
    assert answers == [{"jsonrpc": "2.0", "id": "x", "result": "1"}]


@pytest.mark.parametrize(
    "body",
    [
        b"", b" ", b"{", b"[", b'{"jsonrpc": "2.0", "method": "eth_chainId", "id": 1', b"nonsense",
        b"[1,]", b'{"a":1}{"a":1}', b"\xff", b'{"jsonrpc":"2.0","method":"\xff","id":1}',
        b'{"jsonrpc":"2.0","method":"a","id":"\\q"}', b'{"jsonrpc":"2.0","method":"a","id":01}',
        b'[{"jsonrpc":"2.0","method":"a","id":1,"params":["\\q"]}]', b"[" * 100_000, b'{"a":' * 999,
    ],
)  # fmt: skip
async def test_what_is_not_json_is_a_parse_error(
    client: httpx.AsyncClient, inside: ScriptedUseCases, body: bytes
) -> None:
    answer = await post(client, body)
    assert answer.status_code == 200
    assert answer.json()["id"] is None
    assert answer.json()["error"]["code"] == -32700
    assert (inside.rpc.read, inside.rpc.sent) == ([], [])


@pytest.mark.parametrize(
    "body",
    [
        1, "x", None, True, {}, {"foo": 1}, {"jsonrpc": "1.0", "method": "eth_chainId", "id": 1},
        {"method": "eth_chainId", "id": 1}, {"jsonrpc": 2.0, "method": "eth_chainId", "id": 1},
        {"jsonrpc": "2.0", "id": 1}, {"jsonrpc": "2.0", "method": 1, "params": "bar"},
        {"jsonrpc": "2.0", "method": ["eth_chainId"], "id": 1},
        {"jsonrpc": "2.0", "method": "eth_chainId", "params": "bar", "id": 1}, [],
    ],
)  # fmt: skip
async def test_json_that_is_no_request_is_an_invalid_request(
    client: httpx.AsyncClient, body: Any
) -> None:
    answer = (await post(client, body)).json()
    assert answer["id"] is None
    assert answer["error"]["code"] == -32600


@pytest.mark.parametrize(
    "odd",
    [
        b'{"jsonrpc":"2.0","method":"eth_chainId","id":1e999}',
        b'{"jsonrpc":"2.0","method":"eth_call","id":1,"params":' + b"[" * 90 + b"]" * 90 + b"}",
    ],
)
async def test_one_odd_request_does_not_void_its_batch(
    client: httpx.AsyncClient, odd: bytes
) -> None:
    usual = b'{"jsonrpc":"2.0","method":"eth_chainId","id":7}'
    answers = (await post(client, b"[" + odd + b"," + usual + b"]")).json()
    assert [answers[0]["id"], answers[0]["error"]["code"]] == [None, -32600]
    assert answers[1] == {"jsonrpc": "2.0", "id": 7, "result": "0x1"}


async def test_a_batch_in_a_batch_and_other_items_are_invalid_alone(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    send = request("eth_sendRawTransaction", ["0x02"])
    answers = (await post(client, [[send], 1, "x", None, {}, request("eth_chainId")])).json()
    assert [one.get("error", {}).get("code") for one in answers] == [-32600] * 5 + [None]
    assert [one["id"] for one in answers] == [None] * 5 + [1]
    assert inside.rpc.sent == []


async def test_parameters_by_name_are_refused(client: httpx.AsyncClient) -> None:
    answer = (await post(client, request("eth_getBalance", {"address": HASH}))).json()
    assert answer["error"]["code"] == -32602


async def test_absent_and_null_parameters_are_none(client: httpx.AsyncClient) -> None:
    for params in ({}, {"params": None}, {"params": []}):
        body = {"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber"} | params
        assert (await post(client, body)).json()["result"] == "0x10"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD", "OPTIONS"])
async def test_only_post_is_served(client: httpx.AsyncClient, method: str) -> None:
    answer = await client.request(method, URL)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"
    assert URL not in answer.text


@pytest.mark.parametrize("media", ["text/plain", "", "application/x-www-form-urlencoded"])
async def test_a_form_of_a_web_page_is_refused(
    client: httpx.AsyncClient, inside: ScriptedUseCases, media: str
) -> None:
    """A page can post these types without a preflight request."""
    body = json.dumps(request("eth_sendRawTransaction", ["0x02"]))
    answer = await client.post(URL, content=body, headers={"Content-Type": media})
    assert answer.status_code == 415
    assert answer.json()["error"]["code"] == -32600
    assert inside.rpc.sent == []
