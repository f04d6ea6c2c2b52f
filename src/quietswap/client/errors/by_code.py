"""The exception class of each error code, and the exception for an error answer."""

from typing import Any, Final

from quietswap.client.errors import api, base
from quietswap.client.errors.base import ApiError
from quietswap.contract.errors import ERRORS, ErrorEnvelope

_CLASSES = {
    kind.code: kind
    for module in (api, api, base, base, api, api, api)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, ApiError) and kind is not ApiError
}

ERROR_CLASSES: Final[dict[str, type[ApiError[Any]]]] = {code: _CLASSES[code] for code in ERRORS}
"""In the order of the contract's table; a code without a class fails at import."""


def error_from_body(body: ErrorEnvelope, status: int) -> ApiError[Any]:
    """Return the exception for an error envelope; a plain ApiError for an unknown code."""
    kind: type[ApiError[Any]] = ERROR_CLASSES.get(body.error, ApiError)
    return kind(body, status)
