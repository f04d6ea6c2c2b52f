"""What schemathesis needs to know beyond the OpenAPI document."""

from typing import Any

import schemathesis
from hypothesis import strategies as st

from quietswap.domain import address as addresses
from quietswap.domain.amounts import UINT256_MAX

_eip55 = st.binary(min_size=19, max_size=19).map(lambda raw: addresses.from_bytes(b"\x01" + raw))


def teach() -> None:
    """Teach it the formats a pattern cannot say."""
    schemathesis.openapi.format("eip55", _eip55)
    schemathesis.openapi.format("uint256", st.integers(1, UINT256_MAX).map(str))
    schemathesis.openapi.format("ether", st.decimals(1, 10**6, places=18).map(lambda d: f"{d:f}"))


def filter_query(context: schemathesis.HookContext, query: dict[str, Any] | None) -> bool:
    """Leave out what the document cannot say: that the two tokens must differ, and that parameters
    nobody asked for are tolerated.
    """
    if query is None:
        return True
    assert context.operation is not None
    known = {parameter.name for parameter in context.operation.query}
    tokens = [query[name] for name in ("sellToken", "buyToken") if name in query]
    return query.keys() <= known and (len(tokens) < 2 or tokens[0] != tokens[1])
