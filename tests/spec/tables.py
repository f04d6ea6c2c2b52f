"""The interface document's own tables, row by row, as data."""

from tests.spec.answer_tables import FIELDS, Rows

__all__ = ["DETAILS", "ERRORS", "FIELDS", "INPUTS", "LIMITS", "STATES", "TRANSITIONS"]

INPUTS: dict[str, Rows] = {
    "quote query": (
        ("sellToken", "string", "yes"),
        ("buyToken", "string", "yes"),
        ("sellAmount", "string", "yes"),
        ("userAddress", "string", "yes"),
        ("chainId", "number", "no"),
        ("slippageBps", "number", "no"),
    ),
    "order body": (
        ("orderParams", "object", "yes"),
        ("signedTransaction", "string", "yes"),
        ("providerMetadata", "object", "yes"),
    ),
    "orderParams": (
        ("fromToken", "string", "yes"),
        ("toToken", "string", "yes"),
        ("amount", "string", "yes"),
        ("minReturnAmount", "string", "yes"),
        ("userAddress", "string", "yes"),
        ("chainId", "number", "yes"),
        ("deadline", "number", "yes"),
        ("slippageBps", "number", "yes"),
        ("selectedTier", "number", "yes"),
        ("threatAnalysis", "object", "yes"),
        ("transactionValueUsd", "number", "yes"),
        ("dexRoute", "object", "yes"),
        ("referrer", "string", "no"),
    ),
    "history query": (
        ("userAddress", "string", "yes"),
        ("limit", "number", "no"),
        ("offset", "number", "no"),
        ("status", "string", "no"),
    ),
    "wrap quote body": (
        ("operation", "string", "yes"),
        ("amount", "string", "yes"),
        ("userAddress", "string", "yes"),
        ("chainId", "number", "no"),
    ),
    "wrap order body": (
        ("quoteId", "string", "no"),
        ("signedTransaction", "string", "yes"),
        ("providerMetadata", "object", "yes"),
        ("operation", "string", "yes"),
        ("amount", "string", "no"),
    ),
}
"""Name, JSON type and `yes` when it is required, of every parameter and body field."""

STATES: Rows = (
    ("pending", "waiting to be sent to the relay", "0-5 seconds"),
    ("submitted", "sent to the relay", "5-15 seconds"),
    ("mining", "included in the block builder auction", "15-45 seconds"),
    ("confirmed", "confirmed on chain (success)", "terminal"),
    ("failed", "transaction reverted or rejected", "terminal"),
    ("cancelled", "cancelled by user or system", "terminal"),
)
"""State, meaning, typical duration."""

TRANSITIONS: Rows = (
    ("(none)", "POST /api/v1/mev/orders accepted", "valid request", "submitted"),
    ("(none)", "POST /api/v1/mev/wrap/order accepted", "valid request", "submitted"),
    ("mining", "chain inclusion", "transaction mined successfully", "confirmed"),
)
"""From, trigger, condition, to."""

ERRORS: Rows = (
    ("400", "INVALID_TOKEN_ADDRESS", "bad address format or checksum", "swap quote"),
    ("400", "NATIVE_ETH_NOT_SUPPORTED", "native ETH placeholder used", "swap quote"),
    (
        "400",
        "INVALID_AMOUNT",
        "amount zero, negative or not a positive number",
        "swap quote, wrap quote",
    ),
    ("400", "USER_ADDRESS_REQUIRED", "user address missing", "swap quote"),
    ("400", "INVALID_OPERATION", "operation not wrap or unwrap", "wrap quote"),
    ("400", "INVALID_ADDRESS", "invalid wallet address", "wrap quote, wrap info, history"),
    ("400", "INVALID_PARAMETER", "invalid limit or offset", "history"),
    (
        "400",
        "MISSING_PARAMETER",
        "required field missing",
        "wrap quote, wrap info, both order submits",
    ),
    ("400", "INVALID_SIGNATURE", "signature invalid", "both order submits"),
    ("400", "INSUFFICIENT_ALLOWANCE", "sell token not approved for router", "swap order"),
    ("400", "INSUFFICIENT_BALANCE", "not enough tokens or ETH", "both order submits"),
    ("400", "DEADLINE_EXPIRED", "deadline passed", "swap order"),
    ("400", "NONCE_TOO_LOW", "nonce already used", "wrap order"),
    ("400", "INVALID_TRANSACTION", "transaction parameters invalid", "wrap order"),
    ("401", "UNAUTHORIZED", "invalid or missing API key", "all"),
    ("404", "INSUFFICIENT_LIQUIDITY", "no route for the pair", "swap quote"),
    ("404", "TOKEN_NOT_SUPPORTED", "token unsupported", "swap quote"),
    ("404", "ORDER_NOT_FOUND", "unknown order id (or created by another key)", "order status"),
    ("409", "NONCE_TOO_LOW", "nonce already used", "swap order"),
    ("409", "SIGNATURE_REPLAY", "signature already used", "swap order"),
    ("422", "VALIDATION_ERROR", "parameters do not match the quote", "both order submits"),
    ("429", "RATE_LIMIT_EXCEEDED", "too many requests", "all"),
    ("500", "INTERNAL_SERVER_ERROR", "server error", "swap quote, order status"),
    (
        "503",
        "SERVICE_UNAVAILABLE",
        "upstream aggregator or RPC provider down",
        "swap quote, wrap quote, wrap info",
    ),
    ("503", "PROVIDER_UNAVAILABLE", "relay temporarily down", "both order submits"),
)
"""HTTP status, code, condition, endpoints."""

LIMITS: Rows = (
    (
        "Rate limit (as reported in a 429 body)",
        "300 requests per window of 60 (unit of window is not stated), per API key",
    ),
    ("Rate-limit headers", "headers with the prefix X-RateLimit- are sent"),
    ("history limit", "1 to 200, default 50"),
    ("history offset", "default 0"),
    ("Swap quote validity", "about 30 seconds"),
    ("Wrap/unwrap quote validity", "5 minutes"),
    ("Order expiry", "30 minutes by default"),
    ("Default slippage", "50 basis points"),
    ("Default chainId", "1, the only supported chain"),
    ("Recommended polling", "every 5-10 seconds, up to 5 minutes"),
)
"""Limit and value."""

DETAILS: Rows = (
    ("INVALID_OPERATION", "provided, allowed"),
    ("INVALID_AMOUNT", "provided"),
    ("INVALID_ADDRESS", "provided"),
    ("INVALID_ADDRESS on the history", "address, reason"),
    ("INVALID_TOKEN_ADDRESS", "field, provided, reason"),
    ("MISSING_PARAMETER", "field, required"),
    ("INVALID_SIGNATURE", "reason"),
    ("NONCE_TOO_LOW", "provided, expected"),
    ("INSUFFICIENT_BALANCE", "required, available"),
    ("INSUFFICIENT_ALLOWANCE", "token, router, required, current"),
    ("INVALID_PARAMETER", "parameter, provided, max"),
)
"""Code and the members of its `details`."""
