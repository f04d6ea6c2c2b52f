"""The table of endpoints: where each lives, what it takes and which codes it may answer."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from quietswap.api import endpoints, fields
from quietswap.api.body import Field
from quietswap.api.endpoints import Call, Json
from quietswap.api.fields import Parameter
from quietswap.api.use_cases import UseCases

Handler = Callable[[UseCases, Call], Awaitable[Json]]

_EVERYWHERE = ("UNAUTHORIZED", "RATE_LIMIT_EXCEEDED", "INTERNAL_SERVER_ERROR")
_WITH_BODY = ("PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "VALIDATION_ERROR")


@dataclass(frozen=True, slots=True)
class Operation:
    """One endpoint. A path with a parameter has it as its last segment.

    `own_codes` are the interface's codes of this endpoint and those of a point it leaves open:
    INVALID_ADDRESS and INVALID_PARAMETER on the swap quote, INVALID_PARAMETER for a chain id and a
    query that cannot be read, SERVICE_UNAVAILABLE where the table has no 503.
    """

    name: str
    method: str
    path: str
    summary: str
    run: Handler
    own_codes: tuple[str, ...]
    parameters: tuple[Parameter, ...] = ()
    body: tuple[Field, ...] = ()

    @property
    def codes(self) -> tuple[str, ...]:
        """Return every code this endpoint may answer.

        INTERNAL_SERVER_ERROR may come from all of them: for a failure nobody foresaw, no other
        answer is honest.
        """
        shared = _EVERYWHERE + (_WITH_BODY if self.body else ())
        return tuple(dict.fromkeys(self.own_codes + shared))


OPERATIONS = (
    Operation(
        "order_status",
        "GET",
        "/api/v1/mev/orders/{orderId}",
        "Status of an order",
        endpoints.order_status,
        ("ORDER_NOT_FOUND", "SERVICE_UNAVAILABLE"),
        fields.ORDER_PARAMETERS,
    ),
    Operation(
        "swap_quote",
        "GET",
        "/api/v1/quote",
        "Best verified route and the transaction to sign",
        endpoints.swap_quote,
        (
            "INVALID_TOKEN_ADDRESS",
            "NATIVE_ETH_NOT_SUPPORTED",
            "INVALID_AMOUNT",
            "USER_ADDRESS_REQUIRED",
            "INVALID_ADDRESS",
            "INVALID_PARAMETER",
            "INSUFFICIENT_LIQUIDITY",
            "TOKEN_NOT_SUPPORTED",
            "SERVICE_UNAVAILABLE",
        ),
        fields.QUOTE_PARAMETERS,
    ),
    Operation(
        "swap_order",
        "POST",
        "/api/v1/mev/orders",
        "Submit a signed swap privately",
        endpoints.swap_order,
        (
            "MISSING_PARAMETER",
            "INVALID_SIGNATURE",
            "INSUFFICIENT_ALLOWANCE",
            "INSUFFICIENT_BALANCE",
            "DEADLINE_EXPIRED",
            "NONCE_TOO_LOW",
            "SIGNATURE_REPLAY",
            "PROVIDER_UNAVAILABLE",
        ),
        body=fields.ORDER_FIELDS,
    ),
    Operation(
        "order_history",
        "GET",
        "/api/v1/mev/orders/user/{userAddress}",
        "Orders of a wallet, newest first",
        endpoints.order_history,
        ("INVALID_ADDRESS", "INVALID_PARAMETER", "SERVICE_UNAVAILABLE"),
        fields.HISTORY_PARAMETERS,
    ),
    Operation(
        "wrap_info",
        "GET",
        "/api/v1/mev/wrap/info",
        "ETH and WETH balances of a wallet",
        endpoints.wrap_info,
        ("INVALID_ADDRESS", "INVALID_PARAMETER", "MISSING_PARAMETER", "SERVICE_UNAVAILABLE"),
        fields.WRAP_INFO_PARAMETERS,
    ),
    Operation(
        "wrap_quote",
        "POST",
        "/api/v1/mev/wrap/quote",
        "A transaction that wraps or unwraps ETH",
        endpoints.wrap_quote,
        (
            "INVALID_OPERATION",
            "INVALID_AMOUNT",
            "INVALID_ADDRESS",
            "INVALID_PARAMETER",
            "MISSING_PARAMETER",
            "SERVICE_UNAVAILABLE",
        ),
        body=fields.WRAP_QUOTE_FIELDS,
    ),
    Operation(
        "wrap_order",
        "POST",
        "/api/v1/mev/wrap/order",
        "Submit a signed wrap or unwrap privately",
        endpoints.wrap_order,
        (
            "MISSING_PARAMETER",
            "INVALID_SIGNATURE",
            "INSUFFICIENT_BALANCE",
            "NONCE_TOO_LOW",
            "INVALID_TRANSACTION",
            "PROVIDER_UNAVAILABLE",
        ),
        body=fields.WRAP_ORDER_FIELDS,
    ),
)

_PLAIN = {op.path: op for op in OPERATIONS if "{" not in op.path}
_PREFIXED = {op.path.rpartition("/")[0]: op for op in OPERATIONS if "{" in op.path}


def find(path: str) -> tuple[Operation, str] | None:
    """Return the endpoint at a decoded path and the path's parameter ("" where it has none)."""
    operation = _PLAIN.get(path)
    if operation is not None:
        return operation, ""
    head, _, tail = path.rpartition("/")
    operation = _PREFIXED.get(head)
    return (operation, tail) if operation is not None and tail else None
