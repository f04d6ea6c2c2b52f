"""A code is answered where the table lists it, and elsewhere only where a decision says so."""

import pytest

from quietswap.rules.contract.errors import ERRORS, status_of
from quietswap.service.server.routes import OPERATIONS
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
BODIES = ("swap_order", "order_cancel", "wrap_quote", "wrap_order", "rpc_token_create")
RPC_URLS = {
    "rpc_token_create": (
        "MISSING_PARAMETER", "INVALID_ADDRESS", "INVALID_PARAMETER", "VALIDATION_ERROR",
        "SERVICE_UNAVAILABLE",
    ),
    "rpc_token_list": ("SERVICE_UNAVAILABLE",),
    "rpc_token_revoke": ("RPC_TOKEN_NOT_FOUND", "SERVICE_UNAVAILABLE"),
}  # fmt: skip
TOKENS_AND_READS = {
    "order_export": ("INVALID_ADDRESS", "INVALID_PARAMETER", "SERVICE_UNAVAILABLE"),
    "order_stats": ("INVALID_PARAMETER", "SERVICE_UNAVAILABLE"),
    "order_inclusion": ("INVALID_PARAMETER", "SERVICE_UNAVAILABLE"),
    "token_balances": (
        "INVALID_ADDRESS", "INVALID_PARAMETER", "INVALID_TOKEN_ADDRESS",
        "NATIVE_ETH_NOT_SUPPORTED", "SERVICE_UNAVAILABLE",
    ),
    "token_list": ("INVALID_PARAMETER", "SERVICE_UNAVAILABLE"),
    "token_price": (
        "INSUFFICIENT_LIQUIDITY", "INVALID_AMOUNT", "INVALID_PARAMETER", "INVALID_TOKEN_ADDRESS",
        "NATIVE_ETH_NOT_SUPPORTED", "SERVICE_UNAVAILABLE", "TOKEN_NOT_SUPPORTED",
    ),
}  # fmt: skip
WRITES = tuple(operation.name for operation in OPERATIONS if operation.method != "GET")
CANCEL = (
    "ORDER_NOT_FOUND", "MISSING_PARAMETER", "INVALID_SIGNATURE", "INSUFFICIENT_BALANCE",
    "NONCE_TOO_LOW", "SIGNATURE_REPLAY", "VALIDATION_ERROR", "SERVICE_UNAVAILABLE",
    "PROVIDER_UNAVAILABLE",
)  # fmt: skip
EVENTS = (
    "INVALID_ADDRESS", "INVALID_PARAMETER", "EVENTS_PRUNED", "TOO_MANY_STREAMS",
    "SERVICE_UNAVAILABLE",
)  # fmt: skip
STREAM = next(one.codes for one in OPERATIONS if one.name == "swap_quote")
"""Decision 0054: the stream has the errors of the quote."""
TRADES = ("swap_quote", "swap_order", "wrap_quote", "wrap_order")
SWAP_VALUE = ("SWAP_VALUE_UNKNOWN", "SWAP_VALUE_LIMIT_EXCEEDED")
WEBHOOKS = {
    "webhook_create": (
        "MISSING_PARAMETER", "INVALID_PARAMETER", "WEBHOOK_LIMIT_REACHED",
        "WEBHOOKS_NOT_CONFIGURED", "SERVICE_UNAVAILABLE", "PAYLOAD_TOO_LARGE",
        "UNSUPPORTED_MEDIA_TYPE", "VALIDATION_ERROR",
    ),
    "webhook_list": ("SERVICE_UNAVAILABLE",),
    "webhook_status": ("WEBHOOK_NOT_FOUND", "SERVICE_UNAVAILABLE"),
    "webhook_delete": ("WEBHOOK_NOT_FOUND", "SERVICE_UNAVAILABLE"),
    "webhook_test": ("WEBHOOK_NOT_FOUND", "SERVICE_UNAVAILABLE"),
    "webhook_deliveries": ("WEBHOOK_NOT_FOUND", "INVALID_PARAMETER", "SERVICE_UNAVAILABLE"),
}  # fmt: skip
WATCHES = {
    "watch_create": (
        "MISSING_PARAMETER", "INVALID_TOKEN_ADDRESS", "NATIVE_ETH_NOT_SUPPORTED", "INVALID_AMOUNT",
        "INVALID_PARAMETER", "TOKEN_NOT_SUPPORTED", "WATCH_LIMIT_REACHED", "SERVICE_UNAVAILABLE",
        "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "VALIDATION_ERROR",
    ),
    "watch_list": ("INVALID_PARAMETER", "SERVICE_UNAVAILABLE"),
    "watch_delete": ("WATCH_NOT_FOUND", "SERVICE_UNAVAILABLE"),
}  # fmt: skip
DECIDED = {
    ("swap_quote", "INVALID_ADDRESS"),
    ("swap_quote", "INVALID_PARAMETER"),
    ("wrap_quote", "INVALID_PARAMETER"),
    ("wrap_info", "INVALID_PARAMETER"),
    ("wrap_quote", "VALIDATION_ERROR"),
    ("order_status", "SERVICE_UNAVAILABLE"),
    ("order_history", "SERVICE_UNAVAILABLE"),
    *(("order_cancel", code) for code in CANCEL),
    *((name, code) for name, codes in RPC_URLS.items() for code in codes),
    *(("event_stream", code) for code in EVENTS),
    *(("swap_quote_stream", code) for code in STREAM),
    *((name, code) for name, codes in WEBHOOKS.items() for code in codes),
    *((name, code) for name, codes in WATCHES.items() for code in codes),
    *((name, code) for name, codes in TOKENS_AND_READS.items() for code in codes),
    ("usage", "SERVICE_UNAVAILABLE"),
    *((name, "FORBIDDEN") for name in WRITES),
    *((name, code) for name in TRADES for code in ("WALLET_NOT_ALLOWED", "TOKEN_NOT_ALLOWED")),
    *((name, "QUOTE_LIMIT_EXCEEDED") for name in ("swap_quote", "wrap_quote")),
    *((name, "OPEN_ORDER_LIMIT_EXCEEDED") for name in ("swap_order", "wrap_order")),
    *((name, code) for name in ("swap_quote", "swap_order") for code in SWAP_VALUE),
    ("swap_order", "DAILY_VALUE_LIMIT_EXCEEDED"),
    *((name, "INTERNAL_SERVER_ERROR") for name in ENDPOINTS["all"]),
    *((name, code) for name in BODIES for code in ("PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE")),
}
"""Beyond the table: docs/decisions/0003-silent-points-of-the-interface.md, 0008, 0025 and 0029
to 0034."""


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


def test_codes_beyond_the_table_are_those_of_http_and_additions() -> None:
    assert set(ERRORS) - {row[1] for row in tables.ERRORS} == {
        "FORBIDDEN",
        "WALLET_NOT_ALLOWED",
        "TOKEN_NOT_ALLOWED",
        "SWAP_VALUE_UNKNOWN",
        "SWAP_VALUE_LIMIT_EXCEEDED",
        "DAILY_VALUE_LIMIT_EXCEEDED",
        "QUOTE_LIMIT_EXCEEDED",
        "OPEN_ORDER_LIMIT_EXCEEDED",
        "NOT_FOUND",
        "METHOD_NOT_ALLOWED",
        "UNSUPPORTED_MEDIA_TYPE",
        "PAYLOAD_TOO_LARGE",
        "HOST_NOT_ALLOWED",
        "RPC_TOKEN_NOT_FOUND",
        "EVENTS_PRUNED",
        "TOO_MANY_STREAMS",
        "WEBHOOK_NOT_FOUND",
        "WEBHOOK_LIMIT_REACHED",
        "WEBHOOKS_NOT_CONFIGURED",
        "WATCH_NOT_FOUND",
        "WATCH_LIMIT_REACHED",
    }
