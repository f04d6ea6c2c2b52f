"""Whatever is sent, the answer is the envelope and never a failure of the service."""

import asyncio
import json
from typing import Any
from urllib.parse import quote

from hypothesis import given, settings
from hypothesis import strategies as st

from quietswap.rules.contract.errors import ERRORS
from quietswap.service.api.operation import ApiOptions, RateLimits
from quietswap.service.server.app import create_api
from tests.api import requests
from tests.api.scripted_use_cases import SECRET, HandClock, ScriptedUseCases
from tests.example_counts import examples

CLOCK = HandClock()
LIMITS = RateLimits(requests=10**9, failures=10**9)
APP = create_api(ScriptedUseCases(CLOCK).use_cases(), ApiOptions(limits=LIMITS), CLOCK)

texts = st.text(st.characters(codec="utf-8"), max_size=50)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
POSTS = {
    requests.ORDERS: requests.order_body(),
    requests.WRAP_QUOTE: requests.wrap_quote_body(),
    requests.WRAP_ORDER: requests.wrap_order_body(),
}
GETS = (requests.QUOTE, requests.ORDER, requests.HISTORY, requests.WRAP_INFO)
NAMES = ("sellToken", "buyToken", "sellAmount", "userAddress", "chainId", "slippageBps", "limit",
         "offset", "status", "else")  # fmt: skip


async def _ask(method: str, path: str, query: bytes, body: bytes) -> tuple[int, dict[str, Any]]:
    sent: list[dict[str, Any]] = []
    headers = [(b"x-api-key", SECRET.encode()), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": method, "path": path, "query_string": query}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await APP(scope | {"headers": headers}, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"])


def holds(method: str, path: str, query: bytes = b"", body: bytes = b"") -> None:
    """Check that the answer is the envelope, with the status of its code."""
    status, told = asyncio.run(_ask(method, path, query, body))
    assert status < 500, told
    if status == 200:
        assert told["ok"] is True
        assert "data" in told
    else:
        assert told["ok"] is False
        assert told["message"]
        assert ERRORS[told["error"]].status == status


@st.composite
def mutated(draw: st.DrawFn, body: Any) -> Any:
    """Return a body in which a few members are gone, or something else."""
    copy = json.loads(json.dumps(body))
    for _ in range(draw(st.integers(0, 3))):
        inner = copy
        while True:
            name = draw(st.sampled_from(sorted(inner)))
            if not isinstance(inner[name], dict) or not inner[name] or draw(st.booleans()):
                break
            inner = inner[name]
        if draw(st.booleans()) and len(inner) > 1:
            del inner[name]
        else:
            inner[name] = draw(values)
    return copy


@settings(max_examples=examples(300), deadline=None)
@given(data=st.data(), path=st.sampled_from(sorted(POSTS)))
def test_any_change_of_a_good_body_is_answered(data: st.DataObject, path: str) -> None:
    body = data.draw(mutated(POSTS[path]))
    holds("POST", path, body=json.dumps(body).encode())


@settings(max_examples=examples(150), deadline=None)
@given(path=st.sampled_from(sorted(POSTS)), body=values)
def test_any_json_is_answered(path: str, body: Any) -> None:
    holds("POST", path, body=json.dumps(body, ensure_ascii=False).encode())


@settings(max_examples=examples(150), deadline=None)
@given(path=st.sampled_from(sorted(POSTS)), body=st.binary(max_size=60))
def test_any_bytes_are_answered(path: str, body: bytes) -> None:
    holds("POST", path, body=body)


@settings(max_examples=examples(300), deadline=None)
@given(
    path=st.sampled_from(GETS),
    query=st.dictionaries(st.sampled_from(NAMES), texts | st.integers().map(str)),
)
def test_any_query_is_answered(path: str, query: dict[str, str]) -> None:
    pairs = (f"{name}={quote(text)}" for name, text in query.items())
    holds("GET", path, query="&".join(pairs).encode())


@settings(max_examples=examples(150), deadline=None)
@given(path=st.sampled_from(GETS), query=st.binary(max_size=60))
def test_any_query_bytes_are_answered(path: str, query: bytes) -> None:
    holds("GET", path, query=query)


@settings(max_examples=examples(150), deadline=None)
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "TRACE", "X"]),
    path=st.text(max_size=40).map(lambda text: f"/api/v1/mev/orders/{text}"),
)
def test_any_path_is_answered(method: str, path: str) -> None:
    holds(method, path)
