"""The document: valid, complete, and true of itself; answers are held against it in every test."""

import base64
import hashlib
import re
from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import pytest
from jsonschema import Draft202012Validator

from quietswap.rules.contract.errors import status_of
from quietswap.rules.errors.base import RateLimitExceeded
from quietswap.rules.orders.order import OrderStatus
from quietswap.service.api import json
from quietswap.service.api.operation import ApiOptions, Operation
from quietswap.service.api.parsing.body import Field, body_fields
from quietswap.service.server.app import create_api
from quietswap.service.server.openapi import document, expanded
from quietswap.service.server.routes import OPERATIONS
from tests import loopback
from tests.api.scripted_use_cases import HandClock, ScriptedUseCases
from tests.contract import DOCUMENT, check_stream, closed

OPS = {op.name: op for op in OPERATIONS}
SPOKEN = [
    (op.name, status, response)
    for op in OPERATIONS
    for status, response in DOCUMENT["paths"][op.path][op.method.lower()]["responses"].items()
]


def walk(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node:
        if isinstance(child, dict | list):
            yield from walk(child)


def schemas(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for inner in walk(node):
        for member in inner.get("properties", {}).values():
            if isinstance(member, dict):
                yield member


async def test_the_document_is_public(stranger: httpx.AsyncClient) -> None:
    answer = await stranger.get("/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == DOCUMENT
    assert DOCUMENT["openapi"] == "3.1.0"


def test_every_endpoint_is_described_once() -> None:
    described = {
        operation["operationId"]: (path, method.upper())
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
    }
    assert described == {op.name: (op.path, op.method) for op in OPERATIONS}


def test_every_schema_is_json_schema() -> None:
    for node in walk(DOCUMENT):
        if "schema" in node:
            Draft202012Validator.check_schema(node["schema"])
    for schema in DOCUMENT["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_every_field_is_described() -> None:
    members = list(schemas(DOCUMENT))
    assert len(members) > 200
    assert all(member.get("description") for member in members)


def test_every_amount_says_its_unit() -> None:
    amounts = [m for m in schemas(DOCUMENT) if m.get("pattern") == "^[0-9]+$"]
    unit = re.compile(r"wei|smallest units|gas units|needed|there is", re.IGNORECASE)
    assert len(amounts) > 20
    for member in amounts:
        assert unit.search(member["description"]), member


def test_every_reference_leads_somewhere() -> None:
    for node in walk(DOCUMENT):
        if "$ref" in node:
            target: Any = DOCUMENT
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part]


@pytest.mark.parametrize(("name", "status", "response"), SPOKEN)
def test_every_example_fits_its_schema(name: str, status: str, response: dict[str, Any]) -> None:
    if "text/event-stream" in response["content"]:
        check_stream(response["content"]["text/event-stream"]["example"], OPS[name].path)
        return
    content = response["content"]["application/json"]
    schema = closed(content["schema"]) | {"components": closed(DOCUMENT["components"])}
    shown = content["examples"] if "examples" in content else {"": {"value": content["example"]}}
    for example in shown.values():
        Draft202012Validator(schema).validate(example["value"])


@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.name)
def test_every_code_of_an_endpoint_has_an_example_at_its_status(op: Operation) -> None:
    responses = DOCUMENT["paths"][op.path][op.method.lower()]["responses"]
    for code in op.codes:
        status = str(status_of(code, op.name))
        examples = responses[status]["content"]["application/json"]["examples"]
        assert examples[code]["value"]["error"] == code
        assert examples[code]["summary"]
    told = {
        code for s, r in responses.items() if s != "200" for code in r["description"].split(", ")
    }
    assert told == set(op.codes)


@pytest.mark.parametrize("op", [op for op in OPERATIONS if op.body], ids=lambda op: op.name)
def test_every_example_body_fits_its_schema(op: Operation) -> None:
    written = DOCUMENT["paths"][op.path]["post"]["requestBody"]["content"]["application/json"]
    schema = closed(written["schema"]) | {"components": closed(DOCUMENT["components"])}
    Draft202012Validator(schema).validate(written["example"])


@pytest.mark.parametrize("op", [op for op in OPERATIONS if op.body], ids=lambda op: op.name)
def test_a_body_is_described_as_it_is_checked(op: Operation) -> None:
    def same(schema: dict[str, Any], fields: tuple[Field, ...]) -> None:
        assert schema["required"] == [field.name for field in fields if field.required]
        for field in fields:
            member = schema["properties"][field.name]
            kind = "number" if member["type"] == "integer" else member["type"]
            assert kind == field.kind.name.lower()
            same(member, field.inside) if field.inside else None

    written = DOCUMENT["paths"][op.path]["post"]["requestBody"]["content"]["application/json"]
    assert op.body
    schema = expanded(written["schema"], DOCUMENT["components"]["schemas"])
    same(schema, body_fields(op.body))


def test_the_status_filter_and_the_status_field_know_the_same_words() -> None:
    history = DOCUMENT["paths"][OPS["order_history"].path]["get"]
    filters = next(p for p in history["parameters"] if p["name"] == "status")["schema"]["enum"]
    assert filters == list(OrderStatus)


def test_a_code_that_is_only_sometimes_detailed_says_so() -> None:
    replay = DOCUMENT["components"]["schemas"]["SignatureReplayError"]
    assert "details" not in replay["required"]
    balance = DOCUMENT["components"]["schemas"]["InsufficientBalanceError"]
    assert "details" in balance["required"]


def test_a_spent_rate_has_its_numbers_at_the_root() -> None:
    error = RateLimitExceeded(retry_after=5, limit=300, window=60)
    body = msgspec.to_builtins(json.error_envelope(error))
    assert {"retryAfter": 5, "limit": 300, "window": 60}.items() <= body.items()
    assert "details" not in body


async def test_the_page_needs_nothing_from_elsewhere(stranger: httpx.AsyncClient) -> None:
    answer = await stranger.get("/docs")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert not re.search(r"<(link|img|iframe)|src=|@import|url\(", answer.text)
    assert re.findall(r'href="([^#"][^"]*)"', answer.text) == ["/openapi.json"]


async def test_the_policy_names_the_one_script_and_the_one_style(
    stranger: httpx.AsyncClient,
) -> None:
    answer = await stranger.get("/docs")
    named = {}
    for tag in ("script", "style"):
        [text] = re.findall(rf"<{tag}[^>]*>(.*?)</{tag}>", answer.text, re.DOTALL)
        named[tag] = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    assert answer.headers["content-security-policy"] == (
        f"default-src 'none'; script-src 'sha256-{named['script']}'; "
        f"style-src 'sha256-{named['style']}'; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


async def test_the_page_begins_with_the_quote(stranger: httpx.AsyncClient) -> None:
    found = re.findall(r'<section id="(\w+)">', (await stranger.get("/docs")).text)
    assert found[:3] == ["swap_quote", "swap_quote_stream", "swap_order"]
    assert sorted(found) == sorted(OPS)


async def test_the_page_tells_of_every_endpoint_field_and_code(stranger: httpx.AsyncClient) -> None:
    text = (await stranger.get("/docs")).text
    for op in OPERATIONS:
        assert f"<code>{op.path}</code>" in text
        for code in op.codes:
            assert f"{status_of(code, op.name)} {code}: " in text
    for name in ("orderParams.dexRoute.target", "data.orders[].summary.sellAmount", "slippageBps"):
        assert f"<code>{name}</code>" in text


async def test_the_description_can_be_kept_private(
    inside: ScriptedUseCases, clock: HandClock
) -> None:
    app = create_api(inside.use_cases(), ApiOptions(docs=False), clock)
    transport = httpx.ASGITransport(app=app)
    async with loopback.AsyncClient(transport=transport, base_url="http://edge") as client:
        for path in ("/openapi.json", "/docs"):
            assert (await client.get(path)).status_code == 404
        assert (await client.get("/healthz")).json() == {"ok": True, "data": {"alive": True}}


def test_every_document_is_made_anew() -> None:
    assert document() == DOCUMENT
    assert document() is not DOCUMENT
