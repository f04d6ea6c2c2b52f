"""What errors look like: one schema a code, with the shape of its `details`."""

from quietswap.api.schema import (
    Schema,
    array,
    boolean,
    constant,
    integer,
    number,
    or_null,
    text,
    thing,
    units,
)
from quietswap.domain.quote import Operation

_REASON = text("What is wrong, in plain words")
_PROVIDED = text("What was sent, at most its first 100 characters")
_FIELD = text("Name or dotted path of the field")
_SOURCES = array(
    "What every aggregator said",
    thing(
        "One aggregator",
        {
            "source": text("Aggregator", "kyberswap"),
            "outcome": text("What happened", "no_route"),
            "reason": or_null(text("Why, in plain words")),
        },
    ),
)
_FAULT = thing(
    "One field",
    {
        "field": _FIELD,
        "expected": {"description": "What was issued, or the JSON type that belongs here"},
        "provided": {"description": "What was sent, shortened"},
    },
)
_FREE = {"type": "object", "description": "What is known of the outage"}

DETAILS: dict[str, Schema] = {
    "INVALID_TOKEN_ADDRESS": thing(
        "The token", {"field": _FIELD, "provided": _PROVIDED, "reason": _REASON}
    ),
    "NATIVE_ETH_NOT_SUPPORTED": thing("The token", {"field": _FIELD, "provided": _PROVIDED}),
    "INVALID_AMOUNT": thing("The amount", {"provided": _PROVIDED, "field": _FIELD}),
    "USER_ADDRESS_REQUIRED": thing(
        "The field", {"field": _FIELD, "required": boolean("Always true")}
    ),
    "INVALID_OPERATION": thing(
        "The operation",
        {
            "provided": _PROVIDED,
            "allowed": array("What exists", text("Operation", enum=[o.value for o in Operation])),
        },
    ),
    "INVALID_ADDRESS": thing(
        "The address", {"provided": _PROVIDED, "address": _PROVIDED, "reason": _REASON}
    ),
    "INVALID_PARAMETER": thing(
        "The parameter",
        {
            "parameter": text("Name of the parameter"),
            "provided": _PROVIDED,
            "max": or_null(integer("Largest value allowed, where there is one")),
        },
    ),
    "MISSING_PARAMETER": thing("The field", {"field": _FIELD, "required": boolean("Always true")}),
    "INVALID_SIGNATURE": thing("The signature", {"reason": _REASON}),
    "INSUFFICIENT_ALLOWANCE": thing(
        "Allowance, smallest units",
        {
            "token": text("Sell token"),
            "router": text("Router to approve"),
            "required": units("Allowance needed"),
            "current": units("Allowance there is"),
        },
    ),
    "INSUFFICIENT_BALANCE": thing(
        "Balance, wei or smallest units",
        {
            "required": units("Balance needed"),
            "available": units("Balance there is"),
            "asset": text("ETH or a token address"),
        },
    ),
    "DEADLINE_EXPIRED": thing(
        "Times", {"deadline": number("Unix seconds"), "now": integer("Unix seconds")}
    ),
    "NONCE_TOO_LOW": thing(
        "Nonces", {"provided": integer("Nonce sent"), "expected": integer("Next nonce")}
    ),
    "INVALID_TRANSACTION": thing(
        "The transaction", {"reason": _REASON, "field": or_null(text("Field of the transaction"))}
    ),
    "INSUFFICIENT_LIQUIDITY": thing("The market", {"sources": _SOURCES}),
    "TOKEN_NOT_SUPPORTED": thing("The token", {"token": text("Token"), "reason": _REASON}),
    "SIGNATURE_REPLAY": thing("The order there is", {"orderId": text("Order id")}),
    "VALIDATION_ERROR": thing(
        "What does not fit",
        {
            "reason": text(
                "MALFORMED: not JSON or wrong JSON types. MISMATCH: differs from the quote. "
                "NO_QUOTE: none was issued to this key and wallet. QUOTE_EXPIRED: too late. "
                "Other values: the relay's reason",
                "MISMATCH",
            ),
            "fields": array("Every field at fault", _FAULT),
        },
    ),
    "INTERNAL_SERVER_ERROR": thing("The log entry", {"requestId": text("Also in X-Request-Id")}),
    "SERVICE_UNAVAILABLE": _FREE,
    "PROVIDER_UNAVAILABLE": _FREE,
    "NOT_FOUND": thing("The path", {"path": text("Path")}),
    "METHOD_NOT_ALLOWED": thing(
        "The method",
        {"method": text("Method"), "allowed": array("Methods that exist", text("Method"))},
    ),
    "UNSUPPORTED_MEDIA_TYPE": thing("The media type", {"provided": _PROVIDED}),
    "PAYLOAD_TOO_LARGE": thing("The limit", {"limit": integer("Bytes")}),
}
"""Codes that are not here have no details."""

_OPTIONAL = ("SIGNATURE_REPLAY", "SERVICE_UNAVAILABLE", "PROVIDER_UNAVAILABLE")
"""Codes that have details only sometimes."""


def error_schema(code: str) -> Schema:
    """Return the schema of a whole error answer."""
    members: dict[str, Schema] = {
        "ok": constant(False, "Always false on errors"),
        "error": constant(code, "Error code"),
        "message": text("What went wrong, for people"),
    }
    optional = ["suggestion"]
    if code in DETAILS:
        members["details"] = DETAILS[code]
    if code in _OPTIONAL:
        optional.append("details")
    members["suggestion"] = text("What to do next")
    if code == "RATE_LIMIT_EXCEEDED":
        members["retryAfter"] = integer("Seconds to wait", 12)
        members["limit"] = integer("Requests a window", 300)
        members["window"] = integer("Length of the window in seconds", 60)
    return thing(f"Error {code}", members, optional=optional)
