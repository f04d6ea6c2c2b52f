"""The error envelope, and the error codes by name.

The classes of the codes are in `quietswap.rules.errors`.
"""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

from quietswap.rules import errors
from quietswap.rules.wire import WireStruct, doc


class ErrorEnvelope(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """An error answer."""

    ok: Annotated[bool, doc("Always false on errors", const=False)] = msgspec.field(
        default_factory=bool
    )
    error: Annotated[str, doc("Error code")]
    message: Annotated[str, doc("What went wrong, for people")] = ""
    details: Annotated[dict[str, Any] | None, doc("Details; their members depend on the code")] = (
        None
    )
    suggestion: Annotated[str | None, doc("What to do next")] = None
    retry_after: Annotated[float | None, doc("Seconds to wait", 12, type="integer")] = None
    limit: Annotated[int | None, doc("Requests per window", 300)] = None
    window: Annotated[int | None, doc("Length of the window in seconds", 60)] = None


def _with_code(kind: type[errors.RequestError]) -> Iterator[type[errors.RequestError]]:
    for each in kind.__subclasses__():
        if "code" in vars(each):
            yield each
        yield from _with_code(each)


ERRORS = {
    kind.code: kind
    for kind in sorted(_with_code(errors.RequestError), key=lambda kind: kind.status)
}

STATUS_EXCEPTIONS = {("wrap_order", "NONCE_TOO_LOW"): 400}
"""Where one operation answers a code with another status than all others do."""


def status_of(code: str, operation: str) -> int:
    """Return the HTTP status of a code on one operation, by its operationId in OpenAPI."""
    return STATUS_EXCEPTIONS.get((operation, code)) or ERRORS[code].status
