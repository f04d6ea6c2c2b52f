"""What schemathesis needs to know beyond the OpenAPI document."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import response_schema_conformance

from quietswap.rules.amounts import AMOUNT_MAX
from quietswap.rules.contract.request_limits import MAX_BALANCE_TOKENS
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx import address as addresses
from quietswap.service.api.parsing.body import Field, body_fields
from quietswap.service.api.parsing.query import MOST_UNKNOWN, find_misspelt
from quietswap.service.server.routes import OPERATIONS
from tests.contract import DOCUMENT
from tests.example_counts import examples

_NOBODY = "0x" + "0" * 40
_eip55 = st.binary(min_size=19, max_size=19).map(lambda raw: addresses.from_bytes(b"\x01" + raw))
_times = st.datetimes(min_value=datetime(1970, 1, 1))  # noqa: DTZ001  hypothesis wants a naive one


REQUESTS = settings(
    max_examples=examples(300, short=4), deadline=None, suppress_health_check=list(HealthCheck)
)
"""Of each operation."""
TIME_LIMIT = pytest.mark.timeout(3600)
"""One test tries all operations, in `make test-long` with all requests."""


def teach(schema: BaseSchema) -> None:
    """Teach it the formats a pattern cannot say, and what `schema` cannot say."""
    schemathesis.openapi.format("eip55", _eip55)
    schemathesis.openapi.format(
        "eip55-list", st.lists(_eip55, min_size=1, max_size=MAX_BALANCE_TOKENS).map(",".join)
    )
    schemathesis.openapi.format("uint256", st.integers(1, AMOUNT_MAX).map(str))
    schemathesis.openapi.format("iso8601", _times.map(lambda time: f"{time.isoformat()}Z"))
    schemathesis.openapi.format("ether", st.decimals(1, 10**6, places=18).map(lambda d: f"{d:f}"))
    for hook in (filter_query, filter_path_parameters, filter_headers, filter_body, filter_case):
        schema.hook(hook)


def excluded_checks(case: schemathesis.Case) -> list[Any]:
    """Return the check of bodies for a streamed quote, else none.

    schemathesis reads events as OpenAPI 3.2 describes them; the document has 3.1, where the schema
    is that of the text. `tests/api` holds each event against its schema.
    """
    is_stream = case.operation.definition.raw["operationId"] == "swap_quote_stream"
    return [response_schema_conformance] if is_stream else []


def filter_query(context: schemathesis.HookContext, query: dict[str, Any] | None) -> bool:
    """Leave out what the document cannot say: that the two tokens must differ, that a quote has one
    of two amounts, that only WETH is wrapped or unwrapped, that `to` is after `from`, and that
    parameters nobody asked for are tolerated.
    """
    if query is None:
        return True
    assert context.operation is not None
    known = {parameter.name for parameter in context.operation.query}
    tokens = [query[name] for name in ("sellToken", "buyToken") if name in query]
    times = [query[name] for name in ("from", "to") if name in query]
    return (
        query.keys() <= known
        and ("minBuyAmount" not in known or len(_AMOUNTS & query.keys()) == 1)
        and (len(tokens) < 2 or tokens[0] != tokens[1])
        and query.get(_CONVERTED.get(str(query.get("conversion")), ""), WETH) == WETH
        and (len(times) < 2 or str(times[0]) < str(times[1]))
    )


_AMOUNTS = {"sellAmount", "minBuyAmount"}
_CONVERTED = {"wrap": "sellToken", "unwrap": "buyToken"}


def filter_path_parameters(
    context: schemathesis.HookContext, path_parameters: dict[str, Any] | None
) -> bool:
    """Leave out what the document cannot say: that /orders/user/cancel is a page of history."""
    return (path_parameters or {}).get("orderId") != "user"


_FRAMING = frozenset(
    ("connection", "content-length", "expect", "host", "transfer-encoding", "upgrade")
)


def filter_headers(_: schemathesis.HookContext, headers: dict[str, Any] | None) -> bool:
    """Leave out made-up headers that the HTTP server reads itself. It refuses a length that is no
    number before the service sees the request: tests/e2e/test_edge.py shows it.
    """
    return not any(name.lower() in _FRAMING for name in headers or {})


def filter_body(_: schemathesis.HookContext, body: Any) -> bool:
    """Leave out what the document does not say: that nearly the name of a member is rejected, and
    more unknown ones than are checked; that null means absent, and that the values of metadata and
    fractions are compared with the quote, not with a type; that the zero address is no wallet, that
    the two tokens must differ, and that names and notes must be printable.
    """
    return all(
        len(names) <= MOST_UNKNOWN
        and not any(map(_is_misspelt, names))
        and not _tolerated(names)
        and _NOBODY not in _listed(names.get("wallets"))
        and ("sellToken" not in names or names["sellToken"] != names.get("buyToken"))
        and all(str(names.get(member, "")).isprintable() for member in ("name", "description"))
        for names in _objects(body)
    )


def filter_case(context: schemathesis.HookContext, case: schemathesis.Case) -> bool:
    """Leave out the same where it is not drawn but listed (the coverage phase)."""
    return filter_body(context, case.body) and filter_query(context, case.query)


@lru_cache(10_000)
def _is_misspelt(name: str) -> bool:
    return any(find_misspelt([name], _MEMBERS))


def _tolerated(members: dict[str, Any]) -> bool:
    """Return whether the service takes what the document says it does not."""
    return (
        any(name in _MEMBERS and value is None for name, value in members.items())
        or any(isinstance(members.get(name), float) for name in _WHOLE)
        or not _is_metadata(members.get("providerMetadata"), swap="orderParams" in members)
    )


_WHOLE = ("chainId", "deadline", "slippageBps", "selectedTier", "timestamp")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_metadata(value: Any, *, swap: bool) -> bool:
    component = "SwapProviderMetadata" if swap else "ProviderMetadata"
    schema = {"$ref": f"#/components/schemas/{component}", "components": DOCUMENT["components"]}
    if not isinstance(value, dict):
        return True
    if not Draft202012Validator(schema).is_valid(value):
        return False
    return bool(_HTTP_URL.fullmatch(value["mevRelayMetadata"]["endpoint"]))


_HTTP_URL = re.compile(r"https?://[\w.-]+(/[\w./-]*)?(\?[\w=&.-]*)?", re.ASCII)


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    inner = value.values() if isinstance(value, dict) else value
    if isinstance(value, dict):
        yield value
    if isinstance(value, dict | list):
        for one in inner:
            yield from _objects(one)


def _names(fields: Sequence[Field]) -> Iterator[str]:
    for field in fields:
        yield from (field.name, *field.untyped)
        yield from _names(field.inside)


_MEMBERS = frozenset(
    name
    for operation in OPERATIONS
    if operation.body is not None
    for name in _names(body_fields(operation.body))
)
