"""Text that others wrote reaches a model only as data: every place of every answer, in turn."""

import json
from typing import Any

import pytest
from mcp import Client

from quietswap.cli.mcp.answers import LONGEST_TEXT, UNTRUSTED
from tests.api.scripted_use_cases import ROUTER, WALLET
from tests.cli.mcp_sessions import call, in_process, text_of
from tests.cli.test_hostile_text import ATTACK, HostileService
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import ETHER, FakeServers, Reply, ok

PAIR = {"sell": "WETH", "buy": "USDC", "amount": "1"}
CALLS: dict[str, dict[str, Any]] = {
    "search_tokens": {"search": "we"},
    "price": PAIR,
    "quote": PAIR | {"wallet": WALLET},
    "explain_quote": {},
    "follow_order": {"order_id": "ord_1"},
    "list_orders": {"wallet": WALLET},
}


@pytest.fixture
def service(node: FakeChain) -> HostileService:
    node.allowances[ROUTER.lower()] = ETHER
    return HostileService(mines=node.mine, approvals=lambda: len(node.sent))


async def answered(model: Client, tool: str) -> tuple[str, Any]:
    arguments = CALLS[tool]
    if tool == "explain_quote":
        quoted = await model.call_tool("quote", CALLS["quote"])
        body = quoted.structured_content
        if quoted.is_error:
            return text_of(quoted), body
        arguments = {"quote_id": body["quoteId"]}
    result = await model.call_tool(tool, arguments)
    return text_of(result), result.structured_content


def unmarked(value: Any) -> Any:
    """Return a result without what is marked; each marked text is checked."""
    if isinstance(value, dict):
        for text in _texts(value.get(UNTRUSTED)):
            assert len(text) <= LONGEST_TEXT
            assert text.isprintable()
            assert not set('<>"`') & set(text)
        return {name: unmarked(one) for name, one in value.items() if name != UNTRUSTED}
    if isinstance(value, list):
        return [unmarked(one) for one in value]
    return value


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [text for one in inner for text in _texts(one)]
    return [] if value is None else [value]


@pytest.mark.parametrize("tool", CALLS)
async def test_no_text_of_a_service_stands_unmarked(
    outside: FakeServers, service: HostileService, tool: str
) -> None:
    async with in_process(outside) as model:
        _, honest = await answered(model, tool)
        assert "error" not in honest
        assert service.places
        shown = 0
        for place in sorted(service.places, key=str):
            service.place = place
            text, body = await answered(model, tool)
            assert json.loads(text) == body, place
            assert "boom" not in str(unmarked(body)), (place, body)
            assert text.isprintable(), place
            shown += "boom" in text
    assert shown, "the attack reached the model as data at least once"


async def test_an_answer_that_would_fill_the_context_is_refused(
    outside: FakeServers, service: HostileService
) -> None:
    async with in_process(outside) as model:
        found = await call(model, "search_tokens", search="we")
        entry = found["tokens"][0]
        entry = {"symbol": "A", "name": "x" * 60, **entry}
        entry.pop(UNTRUSTED)
        service.next("tokens", page([entry | {"lists": ["y" * 200] * 20}] * 200))
        result = await model.call_tool("search_tokens", {"search": "we"})
    assert result.is_error
    assert result.structured_content["error"] == "TOO_LONG"


def page(tokens: list[dict[str, Any]]) -> Reply:
    """Return the answer of a search."""
    page = {"limit": 50, "offset": 0, "nextOffset": 1}
    return ok({"tokens": tokens, "total": 1, "hasMore": False, "pagination": page})


def test_the_attack_has_what_is_removed() -> None:
    assert "\x1b" in ATTACK
    assert "\u202e" in ATTACK
