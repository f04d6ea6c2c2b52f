"""Base of the errors that a caller sees: one subclass per error code.

A constructor's arguments are typed, so the type checker verifies every raise.
A class has all that the service, the OpenAPI document and the client know of its code.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from quietswap.rules.wire import WireStruct, doc, ref

Details = dict[str, Any]

Reason = Annotated[str, doc("What is wrong, in plain words")]
Provided = Annotated[str, doc("What was sent, at most its first 100 characters")]
FieldPath = Annotated[str, doc("Name or dotted path of the field")]
Required = Annotated[Any, doc("Always true", type="boolean")]


class NoDetails(WireStruct, frozen=True, kw_only=True):
    """The code has no details."""


class FieldFault(WireStruct, frozen=True, kw_only=True):
    """One field that does not match."""

    field: FieldPath
    expected: Annotated[Any, doc("What was issued, or the JSON type that is required")]
    provided: Annotated[Any, doc("What was sent, shortened")] = None


class SourceFault(WireStruct, frozen=True, kw_only=True):
    """Result of one aggregator that has no route."""

    source: Annotated[str, doc("Aggregator", "kyberswap")]
    outcome: Annotated[str, doc("Result", "no_route")]
    reason: Annotated[str | None, doc("Why, in plain words")] = None


SourceFaults = Annotated[
    tuple[Annotated[dict[str, Any], doc("One aggregator", **ref("SourceFault"))], ...],
    doc("Results of all aggregators"),
]


class PossiblyMined(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """Members of an error after which the transaction may still be mined."""

    order_id: Annotated[
        str | None, doc("Present if a relay received the bytes: the order that is still tracked")
    ] = None
    tx_hash: Annotated[str | None, doc("Its transaction hash")] = None
    may_be_mined: Annotated[
        bool,
        doc("Always true: whatever the error says, the transaction may still be mined or is"),
    ] = False


class RequestError(Exception):
    """An error for the caller. A subclass with a status is an error code: its name in capitals.

    `message` is for people, `details` for programs (its members depend on `code`), `suggestion`
    is the next step, if there is one. `members` are those of `details` by their names in `shape`,
    in their JSON form.

    `status` is the HTTP status, `shape` the Struct of `details`; with `sometimes` an error may come
    without them. `example` holds the arguments of the example in the documentation.
    """

    code: ClassVar[str]
    status: ClassVar[int]
    shape: ClassVar[type[WireStruct]]
    sometimes: ClassVar[bool]
    advice: ClassVar[str | None] = None
    """The suggestion of an error that is raised without one."""
    example: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(
        cls, status: int = 0, shape: type[WireStruct] = NoDetails, *, sometimes: bool = False
    ) -> None:
        if status:
            cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).upper()
            cls.status, cls.shape, cls.sometimes = status, shape, sometimes

    def __init__(self, message: str, suggestion: str | None = None, **members: object) -> None:
        super().__init__(message)
        self.message = message
        self.details: Details | None = None
        self.add(**members)
        self.suggestion = suggestion or self.advice

    def add(self, **members: object) -> None:
        """Set members of `details`, by their names in `shape`."""
        shape = self.shape
        names = dict(zip(shape.__struct_fields__, shape.__struct_encode_fields__, strict=True))
        named = {names[name]: members[name] for name in members}
        self.details = {**(self.details or {}), **named} or None


def present(**members: object) -> Details:
    """Return the members that are known."""
    return {name: value for name, value in members.items() if value is not None}


class InsufficientLiquidityDetails(WireStruct, frozen=True, kw_only=True):
    """Results of all aggregators."""

    sources: SourceFaults


class InsufficientLiquidity(RequestError, status=404, shape=InsufficientLiquidityDetails):
    """No aggregator returned a route that passes verification."""

    example = {
        "sources": [
            {"source": "kyberswap", "outcome": "no_route", "reason": "no route for this pair"}
        ]
    }

    def __init__(
        self,
        *,
        sources: Sequence[Details],
        message: str = "no route delivers this swap",
        suggestion: str = "Try a smaller amount, a higher slippageBps, or another pair.",
    ) -> None:
        super().__init__(message, suggestion, sources=list(sources))


class InternalServerErrorDetails(WireStruct, frozen=True, kw_only=True):
    """The log entry."""

    request_id: Annotated[str, doc("Id of the request, also in X-Request-Id")]


class InternalServerError(RequestError, status=500, shape=InternalServerErrorDetails):
    """An unexpected failure. The cause is in the log under its request id, not in the response."""

    example = {"request_id": "9f86d081884c7d65"}

    def __init__(self, *, request_id: str) -> None:
        super().__init__(
            "the service failed while answering; the cause is in its log", request_id=request_id
        )


class ServiceUnavailableDetails(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of the outage."""

    reason: Annotated[str | None, doc("OVERLOADED: too many requests are being received")] = None
    sources: Annotated[SourceFaults | None, doc("Results of all aggregators")] = None
    fork_at: Annotated[
        int | None,
        doc("Unix time of a change of Ethereum's rules; shortly before it no quote is issued"),
    ] = None


class ServiceUnavailable(RequestError, status=503, shape=ServiceUnavailableDetails, sometimes=True):
    """An upstream that the response depends on (aggregators, node, database) does not answer."""

    advice = "Try again in a few seconds."
    example = {"message": "the Ethereum node does not answer"}

    def __init__(
        self,
        message: str,
        suggestion: str | None = None,
        *,
        reason: str | None = None,
        sources: Sequence[Details] | None = None,
        fork_at: int | None = None,
    ) -> None:
        members = present(reason=reason, sources=sources, fork_at=fork_at)
        super().__init__(message, suggestion, **members)


class ProviderUnavailableDetails(PossiblyMined, frozen=True, kw_only=True):
    """What is known of the outage. A missing order id or mayBeMined proves nothing."""

    reason: Annotated[
        str,
        doc(
            "NOT_SENT: the relay did not get the transaction. STORE_UNAVAILABLE: unknown; post "
            "the same bytes again. HAD_IT_BEFORE: the relay got an earlier post of the same bytes. "
            "NODE_UNAVAILABLE: this post sent nothing; post the same bytes again. "
            "OVERLOADED: nothing was sent"
        ),
    ] = ""


class ProviderUnavailable(
    RequestError, status=503, shape=ProviderUnavailableDetails, sometimes=True
):
    """An order cannot be accepted now.

    The relay certainly did not get the transaction, and the service will not send it later unless
    the client posts it again. Reason STORE_UNAVAILABLE: this is unknown, post the same bytes again.
    Reason HAD_IT_BEFORE: an earlier post of the same bytes reached the relay.
    """

    advice = "Nothing was sent. Request a fresh quote and submit again."
    example = {"message": "the relay could not be reached"}

    def __init__(
        self,
        message: str,
        suggestion: str | None = None,
        *,
        reason: str | None = None,
        order_id: str | None = None,
    ) -> None:
        super().__init__(message, suggestion, **present(reason=reason, order_id=order_id))


_UNAUTHORIZED = {
    None: "the X-API-Key header is missing or its key is not valid",
    "EXPIRED": "the key in the X-API-Key header has expired",
    "CLIENT_DISABLED": "the operator of this service has disabled the client of this key",
}


class UnauthorizedDetails(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a key that was valid is refused; absent for a wrong or revoked key."""

    reason: Annotated[
        str | None,
        doc("EXPIRED: the key has expired. CLIENT_DISABLED: the operator disabled its client"),
    ] = None


class Unauthorized(RequestError, status=401, shape=UnauthorizedDetails, sometimes=True):
    """The API key is missing, unknown or revoked; the error does not say which.

    `reason` is EXPIRED or CLIENT_DISABLED: only who has the key learns it.
    """

    def __init__(self, reason: str | None = None) -> None:
        super().__init__(
            _UNAUTHORIZED[reason],
            "Send a key issued by this service's operator.",
            **present(reason=reason),
        )


class RateLimitExceeded(RequestError, status=429):
    """Too many requests. The wait and the window are in seconds."""

    example = {"retry_after": 12, "limit": 300, "window": 60}

    def __init__(
        self, *, retry_after: int, limit: int, window: int, message: str | None = None
    ) -> None:
        super().__init__(message or f"more than {limit} requests in {window} seconds")
        self.retry_after = retry_after
        self.limit = limit
        self.window = window


class NotFoundDetails(WireStruct, frozen=True, kw_only=True):
    """The path."""

    path: Annotated[str, doc("Path of the request")] = ""


class NotFound(RequestError, status=404, shape=NotFoundDetails):
    """There is no endpoint at this path."""

    example = {"path": "/api/v1/nothing"}

    def __init__(self, *, path: str) -> None:
        super().__init__("there is no endpoint at this path", path=path)


class MethodNotAllowedDetails(WireStruct, frozen=True, kw_only=True):
    """The method."""

    method: Annotated[str, doc("Method of the request")] = ""
    allowed: Annotated[tuple[Annotated[str, doc("Method")], ...], doc("Methods that exist")] = ()


class MethodNotAllowed(RequestError, status=405, shape=MethodNotAllowedDetails):
    """The endpoint does not support this method."""

    example = {"method": "DELETE", "allowed": ["GET", "HEAD"]}

    def __init__(self, *, method: str, allowed: Sequence[str]) -> None:
        super().__init__(
            f"{method} is not allowed here; there is {', '.join(allowed)}",
            method=method,
            allowed=list(allowed),
        )
        self.allowed = allowed


class UnsupportedMediaTypeDetails(WireStruct, frozen=True, kw_only=True):
    """The media type."""

    provided: Provided = ""


class UnsupportedMediaType(RequestError, status=415, shape=UnsupportedMediaTypeDetails):
    """The body of a POST is not plain application/json; `provided` is the header at fault."""

    example = {"provided": "text/plain"}

    def __init__(self, *, provided: str, is_compressed: bool = False) -> None:
        form = (
            "uncompressed, without Content-Encoding"
            if is_compressed
            else "with Content-Type: application/json"
        )
        super().__init__(f"the body must be sent {form}", provided=provided)


class PayloadTooLargeDetails(WireStruct, frozen=True, kw_only=True):
    """The limit."""

    limit: Annotated[int, doc("Bytes")]


class PayloadTooLarge(RequestError, status=413, shape=PayloadTooLargeDetails):
    """The body is larger than the service reads; `limit` in bytes."""

    example = {"limit": 1 << 20}

    def __init__(self, *, limit: int) -> None:
        super().__init__(f"the body is larger than {limit} bytes", limit=limit)


class HostNotAllowedDetails(WireStruct, frozen=True, kw_only=True):
    """The host."""

    provided: Provided = ""


class HostNotAllowed(RequestError, status=421, shape=HostNotAllowedDetails):
    """The request names a host that this service does not serve (RFC 9110, section 15.5.20)."""

    example = {"provided": "evil.example"}

    def __init__(self, *, provided: str) -> None:
        super().__init__(
            "the service does not answer to the host this request names",
            "The operator lists the host names of the service in server.allowed_hosts.",
            provided=provided,
        )
