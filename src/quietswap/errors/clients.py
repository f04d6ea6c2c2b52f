"""Error codes of keys and clients: scope, allow lists, and the limits of a client."""

from datetime import UTC, datetime

from quietswap.errors.base import RequestError

_ASK = "Ask the operator of this service to change the limits of this client."

_QUOTE = (
    "Request a quote and send its transaction, or ask the operator for a client without limits."
)


def usd_text(cents: int) -> str:
    """Return cents as decimal USD: 150 is `1.50`."""
    return f"{cents // 100}.{cents % 100:02}"


def _time_text(unix_ms: int) -> str:
    return datetime.fromtimestamp(unix_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Forbidden(RequestError):
    """The scope of the API key does not allow this operation."""

    code = "FORBIDDEN"

    def __init__(self, *, scope: str, required: str) -> None:
        super().__init__(
            f"this API key has the scope {scope}; the operation needs {required}",
            {"scope": scope, "required": required},
            "Use a key with the required scope: quietswap keys create --scope.",
        )


class ClientLimitError(RequestError):
    """A limit of the client does not allow the request; nothing was stored or sent."""


class WalletNotAllowed(ClientLimitError):
    """The client may not trade for this wallet."""

    code = "WALLET_NOT_ALLOWED"

    def __init__(self, *, wallet: str) -> None:
        super().__init__("this client may not trade for this wallet", {"userAddress": wallet}, _ASK)


class TokenNotAllowed(ClientLimitError):
    """The client may not trade this token. None: what a transaction moves is not known."""

    code = "TOKEN_NOT_ALLOWED"

    def __init__(self, *, token: str | None) -> None:
        if token is None:
            super().__init__(
                "this client may trade only some tokens, and what this transaction moves cannot be"
                " checked: it belongs to no live quote",
                suggestion=_QUOTE,
            )
        else:
            super().__init__("this client may not trade this token", {"token": token}, _ASK)


class SwapValueUnknown(ClientLimitError):
    """The client has a limit in USD, and the value of this swap or transaction is not known."""

    code = "SWAP_VALUE_UNKNOWN"

    def __init__(self, *, unknown_content: bool = False) -> None:
        if unknown_content:
            super().__init__(
                "this client has a limit in USD, and this transaction cannot be valued: it belongs"
                " to no live quote, so what it moves is not known",
                suggestion=_QUOTE,
            )
            return
        super().__init__(
            "this client has a limit in USD, and no price of either token is known",
            suggestion="Request a new quote: prices may be available again.",
        )


class SwapValueLimitExceeded(ClientLimitError):
    """The value of the swap is above the client's limit for one swap."""

    code = "SWAP_VALUE_LIMIT_EXCEEDED"

    def __init__(self, *, limit_cents: int, value_cents: int) -> None:
        limit, value = usd_text(limit_cents), usd_text(value_cents)
        super().__init__(
            f"the swap is worth {value} USD; this client may swap at most {limit} USD at a time",
            {"limitUsd": limit, "valueUsd": value},
            "Swap a smaller amount.",
        )


class QuoteLimitExceeded(ClientLimitError):
    """The client has used its quotes of this UTC day.

    It ends at `reset_ms` (Unix ms), which is in `retry_after` seconds.
    """

    code = "QUOTE_LIMIT_EXCEEDED"

    def __init__(self, *, limit: int, reset_ms: int, retry_after: int) -> None:
        reset = _time_text(reset_ms)
        super().__init__(
            f"this client has used its quotes of this day: {limit} of {limit}",
            {"limit": limit, "resetsAt": reset},
            f"The day ends at {reset}.",
        )
        self.retry_after = retry_after


class DailyValueLimitExceeded(ClientLimitError):
    """The swap would exceed the USD that the client may swap on one UTC day.

    It ends at `reset_ms` (Unix ms), which is in `retry_after` seconds.
    """

    code = "DAILY_VALUE_LIMIT_EXCEEDED"

    def __init__(
        self,
        *,
        limit_cents: int,
        used_cents: int,
        value_cents: int,
        reset_ms: int,
        retry_after: int,
    ) -> None:
        limit, used, value = map(usd_text, (limit_cents, used_cents, value_cents))
        reset = _time_text(reset_ms)
        super().__init__(
            f"this client may swap {limit} USD a day, {used} USD are used, and this swap is worth "
            f"{value} USD",
            {"limitUsd": limit, "usedUsd": used, "valueUsd": value, "resetsAt": reset},
            f"Swap a smaller amount, or wait: the day ends at {reset}.",
        )
        self.retry_after = retry_after


class OpenOrderLimitExceeded(ClientLimitError):
    """The client has as many open orders as it may have."""

    code = "OPEN_ORDER_LIMIT_EXCEEDED"

    def __init__(self, *, limit: int) -> None:
        super().__init__(
            f"this client has as many open orders as it may have: {limit}",
            {"limit": limit},
            "Wait until an order is confirmed, failed or cancelled, then post the same bytes.",
        )
