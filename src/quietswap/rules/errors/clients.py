"""Error codes of keys and clients: scope, allow lists, limits, RPC URLs, webhooks, streams."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from quietswap.rules.errors.base import RequestError
from quietswap.rules.wire import USDC, WALLET, AddressText, WireStruct, doc

UsdText = Annotated[str, doc("Decimal USD", "1500.00", pattern="^[0-9]+[.][0-9]{2}$")]
ResetsAt = Annotated[str, doc("End of the UTC day (ISO 8601)", "2027-01-16T00:00:00Z")]
Scope = Annotated[Literal["trade", "read"], doc("Scope of an API key", "read", type="string")]

_ASK = "Ask the operator of this service to change the limits of this client."

_QUOTE = (
    "Request a quote and send its transaction, or ask the operator for a client without limits."
)


def usd_text(cents: int) -> str:
    """Return cents as decimal USD: 150 is `1.50`."""
    return f"{cents // 100}.{cents % 100:02}"


def _time_text(unix_ms: int) -> str:
    return datetime.fromtimestamp(unix_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class ForbiddenDetails(WireStruct, frozen=True, kw_only=True):
    """The scopes."""

    scope: Scope = "read"
    required: Scope = "trade"


class Forbidden(RequestError, status=403, shape=ForbiddenDetails):
    """The scope of the API key does not allow this operation."""

    example = {"scope": "read", "required": "trade"}

    def __init__(self, *, scope: str, required: str) -> None:
        super().__init__(
            f"this API key has the scope {scope}; the operation needs {required}",
            "Use a key with the required scope: quietswap keys create --scope.",
            scope=scope,
            required=required,
        )


class WalletNotAllowedDetails(WireStruct, frozen=True, kw_only=True):
    """The wallet."""

    user_address: Annotated[AddressText, doc("Wallet of the request", WALLET)] = ""


class WalletNotAllowed(RequestError, status=403, shape=WalletNotAllowedDetails):
    """The client may not trade for this wallet."""

    example = {"wallet": WALLET}

    def __init__(self, *, wallet: str) -> None:
        super().__init__("this client may not trade for this wallet", _ASK, user_address=wallet)


class TokenNotAllowedDetails(WireStruct, frozen=True, kw_only=True):
    """The token."""

    token: Annotated[AddressText, doc("Token that is not on the list", USDC)] = ""


class TokenNotAllowed(RequestError, status=403, shape=TokenNotAllowedDetails):
    """The client may not trade this token. None: what a transaction moves is not known."""

    example = {"token": USDC}

    def __init__(self, *, token: str | None) -> None:
        if token is None:
            super().__init__(
                "this client may trade only some tokens, and what this transaction moves cannot be"
                " checked: it belongs to no live quote",
                suggestion=_QUOTE,
            )
        else:
            super().__init__("this client may not trade this token", _ASK, token=token)


class SwapValueUnknown(RequestError, status=403):
    """The client has a limit in USD, and the value of this swap or transaction is not known."""

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


class SwapValueLimitDetails(WireStruct, frozen=True, kw_only=True):
    """The limit of one swap."""

    limit_usd: UsdText = ""
    value_usd: UsdText = ""


class SwapValueLimitExceeded(RequestError, status=403, shape=SwapValueLimitDetails):
    """The value of the swap is above the client's limit for one swap."""

    example = {"limit_cents": 150_000, "value_cents": 300_000}

    def __init__(self, *, limit_cents: int, value_cents: int) -> None:
        limit, value = usd_text(limit_cents), usd_text(value_cents)
        super().__init__(
            f"the swap is worth {value} USD; this client may swap at most {limit} USD at a time",
            "Swap a smaller amount.",
            limit_usd=limit,
            value_usd=value,
        )


class QuoteLimitDetails(WireStruct, frozen=True, kw_only=True):
    """The limit of a day."""

    limit: Annotated[int, doc("Quotes a day", 10_000)] = 0
    resets_at: ResetsAt = ""


class QuoteLimitExceeded(RequestError, status=429, shape=QuoteLimitDetails):
    """The client has used its quotes of this UTC day.

    It ends at `reset_ms` (Unix ms), which is in `retry_after` seconds.
    """

    example = {"limit": 10_000, "reset_ms": 1_800_057_600_000, "retry_after": 57_600}

    def __init__(self, *, limit: int, reset_ms: int, retry_after: int) -> None:
        reset = _time_text(reset_ms)
        super().__init__(
            f"this client has used its quotes of this day: {limit} of {limit}",
            f"The day ends at {reset}.",
            limit=limit,
            resets_at=reset,
        )
        self.retry_after = retry_after


class DailyValueLimitDetails(WireStruct, frozen=True, kw_only=True):
    """The limit of a day."""

    limit_usd: UsdText = ""
    used_usd: UsdText = ""
    value_usd: UsdText = ""
    resets_at: ResetsAt = ""


class DailyValueLimitExceeded(RequestError, status=429, shape=DailyValueLimitDetails):
    """The swap would exceed the USD that the client may swap on one UTC day.

    It ends at `reset_ms` (Unix ms), which is in `retry_after` seconds.
    """

    example = {
        "limit_cents": 500_000,
        "used_cents": 450_000,
        "value_cents": 100_000,
        "reset_ms": 1_800_057_600_000,
        "retry_after": 57_600,
    }

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
            f"Swap a smaller amount, or wait: the day ends at {reset}.",
            limit_usd=limit,
            used_usd=used,
            value_usd=value,
            resets_at=reset,
        )
        self.retry_after = retry_after


class OpenOrderLimitDetails(WireStruct, frozen=True, kw_only=True):
    """The limit."""

    limit: Annotated[int, doc("Open orders at the same time", 20)] = 0


class OpenOrderLimitExceeded(RequestError, status=409, shape=OpenOrderLimitDetails):
    """The client has as many open orders as it may have."""

    example = {"limit": 20}

    def __init__(self, *, limit: int) -> None:
        super().__init__(
            f"this client has as many open orders as it may have: {limit}",
            "Wait until an order is confirmed, failed or cancelled, then post the same bytes.",
            limit=limit,
        )


class RpcTokenNotFound(RequestError, status=404):
    """The client has no live RPC URL with this id."""

    def __init__(self) -> None:
        super().__init__("no RPC URL with this id exists for this API key, or it is revoked")


class WebhookNotFound(RequestError, status=404):
    """This client has no such webhook; a webhook of another client gives the same error."""

    def __init__(self) -> None:
        super().__init__("no webhook with this id exists for this API key")


class WebhookLimitReachedDetails(WireStruct, frozen=True, kw_only=True):
    """The limit."""

    limit: Annotated[int, doc("Webhooks of one client")]


class WebhookLimitReached(RequestError, status=409, shape=WebhookLimitReachedDetails):
    """The client has as many webhooks as the settings allow."""

    example = {"limit": 10}

    def __init__(self, *, limit: int) -> None:
        super().__init__(
            f"there are {limit} webhooks already, and no more are allowed",
            "Delete one first, or ask the operator to raise webhooks.max_per_client.",
            limit=limit,
        )


class WebhooksNotConfigured(RequestError, status=501):
    """The operator has set no key to encrypt the secrets of webhooks."""

    def __init__(self) -> None:
        super().__init__(
            "this service has no key to encrypt webhook secrets, so it creates no webhooks",
            suggestion="Ask the operator to set webhooks.encryption_key. The event stream works "
            "without it.",
        )


class WatchNotFound(RequestError, status=404):
    """This client has no such watch; a watch of another client gives the same error."""

    def __init__(self) -> None:
        super().__init__("no watch with this id exists for this API key")


class WatchLimitReachedDetails(WireStruct, frozen=True, kw_only=True):
    """The limit."""

    limit: Annotated[int, doc("Open watches of one client", 20)]


class WatchLimitReached(RequestError, status=409, shape=WatchLimitReachedDetails):
    """The client has as many open watches as it may have."""

    example = {"limit": 20}

    def __init__(self, *, limit: int) -> None:
        super().__init__(
            f"there are {limit} open watches already, and no more are allowed",
            "Delete one first, or wait until one is met or expires.",
            limit=limit,
        )


class EventsPrunedDetails(WireStruct, frozen=True, kw_only=True):
    """Where the stored events begin."""

    provided: Annotated[int, doc("The event that the client has")] = 0
    oldest: Annotated[int, doc("The first event that is stored after those")] = 0


class EventsPruned(RequestError, status=410, shape=EventsPrunedDetails):
    """Events that followed are stored no more: deleted by age, or lost with the database.

    `oldest` is the first that is stored after them.
    """

    example = {"provided": 17, "oldest": 1200}

    def __init__(self, *, provided: int, oldest: int) -> None:
        super().__init__(
            f"events after {provided} are no longer stored; the next one is {oldest}",
            "Read the status of your orders, then follow the stream without a start, or from "
            f"?after={oldest - 1}.",
            provided=provided,
            oldest=oldest,
        )


class TooManyStreamsDetails(WireStruct, frozen=True, kw_only=True):
    """The limit."""

    limit: Annotated[int, doc("Open streams of one client in one process")]


class TooManyStreams(RequestError, status=429, shape=TooManyStreamsDetails):
    """The client has as many open streams as it may have in this process."""

    example = {"limit": 20}
    retry_after = 10
    """Seconds: a stream whose client has gone away is noticed by then."""

    def __init__(self, *, limit: int, who: str = "this client") -> None:
        super().__init__(
            f"{who} already has {limit} open streams",
            "Close a stream, or follow several orders with one stream: it has all your events.",
            limit=limit,
        )
