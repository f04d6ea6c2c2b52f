"""Bodies that are not what they should be: malformed, incomplete, of the wrong types, too large."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from quietswap.service.api.operation import ApiOptions
from quietswap.service.api.parsing.body import Field, Kind
from quietswap.service.server.app import create_api
from tests import loopback
from tests.api import requests
from tests.api.requests import BODY_FIELDS
from tests.api.scripted_use_cases import WALLET, HandClock, ScriptedUseCases
from tests.api.test_envelope import refused
from tests.stored_orders import order_params
from tests.virtual_time import run

JSON = {"Content-Type": "application/json"}
POSTS = (requests.ORDERS, requests.WRAP_QUOTE, requests.WRAP_ORDER)
GOOD = {
    requests.ORDERS: requests.order_body,
    requests.WRAP_QUOTE: requests.wrap_quote_body,
    requests.WRAP_ORDER: requests.wrap_order_body,
}
WRONG: dict[Kind, tuple[Any, str]] = {
    Kind.STRING: (5, "number"),
    Kind.NUMBER: (True, "boolean"),
    Kind.OBJECT: ([], "array"),
    Kind.ARRAY: ("text", "string"),
}


def paths(fields: tuple[Field, ...], above: tuple[str, ...] = ()) -> Iterator[tuple[Field, Any]]:
    for field in fields:
        here = (*above, field.name)
        yield field, here
        yield from paths(field.inside, here)


CASES = [(path, field, at) for path in POSTS for field, at in paths(BODY_FIELDS[path])]
REQUIRED = [
    (path, at) for path, field, at in CASES if field.required and "threatAnalysis" not in at[:-1]
]
TYPED = [(path, field, at) for path, field, at in CASES if not field.has_own_code]


def put(body: dict[str, Any], at: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return a copy of `body` with another value at a path."""
    copy: dict[str, Any] = json.loads(json.dumps(body))
    inner = copy
    for name in at[:-1]:
        inner = inner.setdefault(name, {})
    inner[at[-1]] = value
    return copy


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (rb'{"a":"\ud800"}', "half of a surrogate pair"),
        (rb'{"a":"\udc00 \ud800"}', "half of a surrogate pair"),
        (b'{"a":', "it ends too early"),
        (b" ", "it is empty"),
        (b'{"a":"\xff"}', "not UTF-8"),
    ],
)
async def test_the_fault_of_a_text_that_is_no_json_is_named(
    client: httpx.AsyncClient, raw: bytes, said: str
) -> None:
    answer = await client.post(requests.WRAP_QUOTE, content=raw, headers=JSON)
    assert said in answer.json()["message"]


async def test_a_compressed_body_is_refused_by_the_header_at_fault(
    client: httpx.AsyncClient,
) -> None:
    headers = JSON | {"Content-Encoding": "gzip"}
    answer = await client.post(requests.ORDERS, content=b"{}", headers=headers)
    body = refused(answer, 415, "UNSUPPORTED_MEDIA_TYPE")
    assert body["message"] == "the body must be sent uncompressed, without Content-Encoding"


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "raw",
    [
        b"", b" ", b"{", b'{"a":', b"null", b"[]", b'"text"', b"5", b"true", b"NaN", b"{}{}",
        b"{'a':1}", b'{"a":NaN}', b'{"a":1e999}', b'{"a":"\xff"}', b'{"\xff":1}',
        b'{"a":"\\ud800"}', b"\xef\xbb\xbf{}", b"\x00", b'{"a":' + b"9" * 10**6 + b"}",
        b'{"a":' * 100_000, b"[" * 100_000, b'{"a":"\x00"}', "{}".encode("utf-16"),
    ],
    ids=lambda raw: repr(raw[:12]),
)  # fmt: skip
async def test_a_body_that_is_no_json_object_is_malformed(
    client: httpx.AsyncClient, inside: ScriptedUseCases, path: str, raw: bytes
) -> None:
    body = refused(await client.post(path, content=raw, headers=JSON), 422, "VALIDATION_ERROR")
    assert body["details"]["reason"] == "MALFORMED"
    assert [fault["field"] for fault in body["details"]["fields"]] == ["$"]
    assert inside.asked == []


@pytest.mark.usefixtures("no_recursion_limit")
async def test_nesting_cannot_exhaust_the_stack_whatever_the_recursion_limit(
    client: httpx.AsyncClient,
) -> None:
    for opening in (b"[", b'{"a":', b'[{"a":'):
        answer = await client.post(requests.ORDERS, content=opening * 50_000, headers=JSON)
        refused(answer, 422, "VALIDATION_ERROR")


async def test_only_nesting_counts_not_brackets(client: httpx.AsyncClient) -> None:
    brackets = "[" * 2_000
    siblings = [[]] * 2_000
    told = await requests.ask(client, requests.ORDERS, unknown=[brackets, siblings])
    as_before = await requests.ask(client, requests.ORDERS)
    assert told.json() | {"timestamp": 0} == as_before.json() | {"timestamp": 0}


async def test_a_body_that_nests_too_deep_says_so(client: httpx.AsyncClient) -> None:
    deep = b'{"a":' + b"[" * 100 + b"]" * 100 + b"}"
    answer = await client.post(requests.ORDERS, content=deep, headers=JSON)
    assert refused(answer, 422, "VALIDATION_ERROR")["details"]["fields"] == [
        {"field": "$", "expected": "at most 100 nested arrays and objects", "provided": "more"}
    ]


@pytest.mark.parametrize(("path", "at"), REQUIRED, ids=str)
@pytest.mark.parametrize("absent", [True, False], ids=["absent", "null"])
async def test_a_required_field_that_is_missing_is_named_by_its_path(
    client: httpx.AsyncClient, path: str, at: tuple[str, ...], absent: bool
) -> None:
    body = put(GOOD[path](), at, None)
    if absent:
        inner = body
        for name in at[:-1]:
            inner = inner[name]
        del inner[at[-1]]
    answer = refused(await client.post(path, json=body), 400, "MISSING_PARAMETER")
    assert answer["details"] == {"field": ".".join(at), "required": True}


@pytest.mark.parametrize(("path", "field", "at"), TYPED, ids=lambda v: str(v)[:60])
async def test_a_wrong_json_type_is_named_by_its_path(
    client: httpx.AsyncClient, path: str, field: Field, at: tuple[str, ...]
) -> None:
    wrong, name = WRONG[field.kind]
    answer = await client.post(path, json=put(GOOD[path](), at, wrong))
    details = refused(answer, 422, "VALIDATION_ERROR")["details"]
    assert details["reason"] == "MALFORMED"
    assert details["fields"] == [
        {"field": ".".join(at), "expected": field.kind.name.lower(), "provided": name}
    ]


@pytest.mark.parametrize(
    "deadline",
    [1_800_000_600_000, 1_800_000_600_000.5, 1_800_000_600_000_000, 10**11, 2**53, 10**300],
)
async def test_a_deadline_in_milliseconds_is_refused_with_the_unit(
    client: httpx.AsyncClient, inside: ScriptedUseCases, deadline: float
) -> None:
    """As seconds it would never pass: the order would be accepted at any later time."""
    body = requests.order_body(orderParams=order_params() | {"deadline": deadline})
    answer = await client.post(requests.ORDERS, json=body)
    assert answer.status_code == 422
    assert "milliseconds" in answer.json()["message"]
    details = answer.json()["details"]
    assert details["reason"] == "MALFORMED"
    [fault] = details["fields"]
    assert (fault["field"], fault["expected"]) == (
        "orderParams.deadline", "Unix seconds, of 10 digits",
    )  # fmt: skip
    assert inside.asked == []


@pytest.mark.parametrize("deadline", [0, 1_800_000_600, 1_800_000_600.5, 9_999_999_999])
async def test_a_deadline_in_seconds_is_the_use_case_s(
    client: httpx.AsyncClient, inside: ScriptedUseCases, deadline: float
) -> None:
    body = requests.order_body(orderParams=order_params() | {"deadline": deadline})
    assert (await client.post(requests.ORDERS, json=body)).status_code == 200
    assert len(inside.asked) == 1


async def test_every_fault_is_told_at_once(client: httpx.AsyncClient) -> None:
    params = requests.order_body()["orderParams"] | {"amount": 5, "chainId": "1", "dexRoute": 7}
    answer = await requests.ask(client, requests.ORDERS, orderParams=params, signedTransaction=[])
    details = refused(answer, 422, "VALIDATION_ERROR")["details"]
    assert [fault["field"] for fault in details["fields"]] == [
        "orderParams.amount",
        "orderParams.chainId",
        "orderParams.dexRoute",
        "signedTransaction",
    ]


async def test_what_is_missing_is_told_before_what_is_wrong(client: httpx.AsyncClient) -> None:
    answer = await client.post(requests.ORDERS, json={"orderParams": 5, "signedTransaction": 5})
    body = refused(answer, 400, "MISSING_PARAMETER")
    assert body["details"]["field"] == "providerMetadata"


@pytest.mark.parametrize("path", POSTS)
async def test_members_nobody_asked_for_are_tolerated(client: httpx.AsyncClient, path: str) -> None:
    answer = await requests.ask(client, path, extra={"nested": [None]}, another=None)
    assert answer.status_code == 200


@pytest.mark.parametrize("operation", ["", "WRAP", "swap", "wrap ", 5, [], {}, True, "\x00"])
async def test_a_wrap_quote_knows_two_operations(client: httpx.AsyncClient, operation: Any) -> None:
    answer = await requests.ask(client, requests.WRAP_QUOTE, operation=operation)
    details = refused(answer, 400, "INVALID_OPERATION")["details"]
    assert details["allowed"] == ["wrap", "unwrap"]
    assert isinstance(details["provided"], str)


@pytest.mark.parametrize("user", ["", WALLET.lower(), WALLET[2:], "0x12", 5, [], "\x00", "٣" * 42])
async def test_a_wrap_quote_needs_a_checksummed_wallet(
    client: httpx.AsyncClient, user: Any
) -> None:
    answer = await requests.ask(client, requests.WRAP_QUOTE, userAddress=user)
    details = refused(answer, 400, "INVALID_ADDRESS")["details"]
    assert isinstance(details["provided"], str)


@pytest.mark.parametrize("chain", [0, 2, 137, -1, 1.5, 10**30])
async def test_a_wrap_quote_knows_mainnet_only(client: httpx.AsyncClient, chain: float) -> None:
    answer = await requests.ask(client, requests.WRAP_QUOTE, chainId=chain)
    details = refused(answer, 400, "INVALID_PARAMETER")["details"]
    assert (details["parameter"], details["max"]) == ("chainId", 1)


@pytest.mark.parametrize("chain", [1, 1.0, None])
async def test_a_wrap_quote_takes_mainnet_or_nothing(
    client: httpx.AsyncClient, chain: float | None
) -> None:
    assert (await requests.ask(client, requests.WRAP_QUOTE, chainId=chain)).status_code == 200


async def test_a_wrap_order_that_no_quote_can_match_lists_why(client: httpx.AsyncClient) -> None:
    answer = await requests.ask(
        client, requests.WRAP_ORDER, operation="burn", amount="-1", quoteId="a b\x00"
    )
    details = refused(answer, 422, "VALIDATION_ERROR")["details"]
    assert details["reason"] == "MISMATCH"
    assert [fault["field"] for fault in details["fields"]] == ["operation", "amount", "quoteId"]
    assert [fault["provided"] for fault in details["fields"]] == ["burn", "-1", "a b\x00"]


@pytest.fixture
async def small(inside: ScriptedUseCases, clock: HandClock) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an edge that reads at most 1,000 bytes."""
    app = create_api(inside.use_cases(), ApiOptions(max_body_bytes=1000), clock)
    transport = httpx.ASGITransport(app=app)
    headers = JSON | {"X-API-Key": "qs_right"}
    async with loopback.AsyncClient(
        transport=transport, base_url="http://edge", headers=headers
    ) as client:
        yield client


async def pieces(size: int) -> AsyncIterator[bytes]:
    for _ in range(size):
        yield b" "


async def test_a_declared_length_over_the_limit_is_refused(small: httpx.AsyncClient) -> None:
    answer = await small.post(requests.WRAP_QUOTE, content=b" " * 1001)
    assert refused(answer, 413, "PAYLOAD_TOO_LARGE")["details"] == {"limit": 1000}


async def test_a_stream_over_the_limit_is_cut(small: httpx.AsyncClient) -> None:
    answer = await small.post(requests.WRAP_QUOTE, content=pieces(1001))
    refused(answer, 413, "PAYLOAD_TOO_LARGE")


async def test_a_body_at_the_limit_is_read(small: httpx.AsyncClient) -> None:
    body = json.dumps(requests.wrap_quote_body()).encode().ljust(1000)
    assert (await small.post(requests.WRAP_QUOTE, content=body)).status_code == 200


POSTED = {
    "type": "http",
    "method": "POST",
    "path": requests.WRAP_QUOTE,
    "query_string": b"",
    "headers": [(b"x-api-key", b"qs_right"), (b"content-type", b"application/json")],
}


async def test_a_body_that_is_cut_off_or_badly_framed_is_answered_in_the_envelope(
    inside: ScriptedUseCases, clock: HandClock
) -> None:
    app = create_api(inside.use_cases(), ApiOptions(), clock)
    sent: list[Any] = []
    messages = iter(
        [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]
    )

    async def receive() -> dict[str, Any]:
        return next(messages)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(POSTED, receive, send)
    assert sent[0]["status"] == 422
    assert b'"VALIDATION_ERROR"' in sent[1]["body"]
    assert inside.asked == []


def test_a_body_that_never_ends_is_given_up(inside: ScriptedUseCases, clock: HandClock) -> None:
    app = create_api(inside.use_cases(), ApiOptions(body_timeout_s=15), clock)
    sent: list[Any] = []
    pieces = iter([{"type": "http.request", "body": b"{", "more_body": True}])

    async def receive() -> dict[str, Any]:
        piece = next(pieces, None)
        if piece is None:
            await asyncio.sleep(3600)
        return piece or {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    run(app(POSTED, receive, send))
    assert sent[0]["status"] == 422
    told = json.loads(sent[1]["body"])
    assert told["details"]["reason"] == "MALFORMED"
    assert told["details"]["fields"][0]["provided"] == "a part of it in 15 seconds"
    assert inside.asked == []
