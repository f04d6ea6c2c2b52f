"""A code is answered where the table lists it, and elsewhere only where a decision says so."""

import pytest

from quietswap.api.errors import STATUS, status_of
from quietswap.api.operations import OPERATIONS
from tests.spec import tables
from tests.spec.coverage import shows

ENDPOINTS = {
    "swap quote": ("swap_quote",),
    "wrap quote": ("wrap_quote",),
    "wrap info": ("wrap_info",),
    "history": ("order_history",),
    "order status": ("order_status",),
    "swap order": ("swap_order",),
    "wrap order": ("wrap_order",),
    "both order submits": ("swap_order", "wrap_order"),
    "all": tuple(operation.name for operation in OPERATIONS),
}
LISTED = {
    (name, code, int(status))
    for status, code, _, where in tables.ERRORS
    for place in where.split(", ")
    for name in ENDPOINTS[place]
}
BODIES = ("swap_order", "wrap_quote", "wrap_order")
DECIDED = {
    ("swap_quote", "INVALID_ADDRESS"),
    ("swap_quote", "INVALID_PARAMETER"),
    ("wrap_quote", "INVALID_PARAMETER"),
    ("wrap_info", "INVALID_PARAMETER"),
    ("wrap_quote", "VALIDATION_ERROR"),
    ("order_status", "SERVICE_UNAVAILABLE"),
    ("order_history", "SERVICE_UNAVAILABLE"),
    *((name, "INTERNAL_SERVER_ERROR") for name in ENDPOINTS["all"]),
    *((name, code) for name in BODIES for code in ("PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE")),
}
"""Beyond the table: docs/decisions/0003-silent-points-of-the-interface.md and 0008."""


def test_the_table_has_25_rows_and_24_codes() -> None:
    assert len(tables.ERRORS) == 25
    assert len({row[1] for row in tables.ERRORS}) == 24


@shows("error: *")
@pytest.mark.parametrize(("name", "code", "status"), sorted(LISTED))
def test_every_row_is_an_answer_of_its_endpoints(name: str, code: str, status: int) -> None:
    operation = next(one for one in OPERATIONS if one.name == name)
    assert code in operation.codes
    assert status_of(code, name) == status


def test_no_code_stands_where_nothing_lists_it() -> None:
    answered = {(op.name, code) for op in OPERATIONS for code in op.codes}
    listed = {(name, code) for name, code, _ in LISTED}
    assert answered - listed == DECIDED - listed


def test_codes_beyond_the_table_are_the_four_of_http() -> None:
    assert set(STATUS) - {row[1] for row in tables.ERRORS} == {
        "NOT_FOUND",
        "METHOD_NOT_ALLOWED",
        "UNSUPPORTED_MEDIA_TYPE",
        "PAYLOAD_TOO_LARGE",
    }
