"""Requests generated from the document, valid and invalid, with every check schemathesis has."""

from typing import Any

import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from quietswap.api.app import EdgeOptions, build_app
from quietswap.api.guard import Limits
from quietswap.domain import address as addresses
from quietswap.domain.amounts import UINT256_MAX
from tests.api.inside import SECRET, HandClock, Inside

CLOCK = HandClock()
LIMITS = Limits(requests=10**9, failures=10**9)
APP = build_app(Inside(CLOCK).use_cases(), EdgeOptions(limits=LIMITS), CLOCK)

eip55 = st.binary(min_size=19, max_size=19).map(lambda raw: addresses.from_bytes(b"\x01" + raw))
schemathesis.openapi.format("eip55", eip55)
schemathesis.openapi.format("uint256", st.integers(1, UINT256_MAX).map(str))
schemathesis.openapi.format("ether", st.decimals(1, 10**6, places=18).map(lambda d: f"{d:f}"))

schema = schemathesis.openapi.from_asgi("/openapi.json", APP)


@schema.hook
def filter_query(context: schemathesis.HookContext, query: dict[str, Any] | None) -> bool:
    """Leave out what the document cannot say: that the two tokens must differ, and that parameters
    nobody asked for are tolerated.
    """
    if query is None:
        return True
    known = {parameter.name for parameter in context.operation.query}
    tokens = [query[name] for name in ("sellToken", "buyToken") if name in query]
    return query.keys() <= known and (len(tokens) < 2 or tokens[0] != tokens[1])


@schema.parametrize()
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_generated(case: schemathesis.Case) -> None:
    case.call_and_validate(headers={"X-API-Key": SECRET})
