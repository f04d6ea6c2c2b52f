"""The one error path: every exception becomes the error envelope."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from quietswap import observe
from quietswap.api.endpoint import operation_name, operation_of
from quietswap.api.middleware.rate_limit import bodies_exceeded
from quietswap.api.options import RateLimits
from quietswap.api.request_parsing.body_memory import BodyMemoryFull
from quietswap.api.responses import errors
from quietswap.contract.errors import status_of
from quietswap.domain.errors.availability import InternalServerError
from quietswap.domain.errors.base import RequestError
from quietswap.domain.errors.client_limits import DailyValueLimitExceeded, QuoteLimitExceeded
from quietswap.domain.errors.events import TooManyStreams
from quietswap.domain.errors.http import MethodNotAllowed, NotFound, RateLimitExceeded, Unauthorized
from quietswap.ports.chain import NodeUnavailable
from quietswap.ports.stores import StoreUnavailable

_SECRET = re.compile(r"(/rpc/|qr_).*", re.IGNORECASE | re.DOTALL)
"""Of an RPC URL, however its path is misspelt."""


@dataclass(frozen=True, slots=True)
class ErrorHandlerMiddleware:
    """Answers an exception with the error envelope. Logs outages and unexpected exceptions.

    An exception after the start of the answer is raised again: the server then closes the
    connection, so that the client does not take a part of an answer for the whole.
    """

    app: ASGIApp
    limits: RateLimits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            await self.app(scope, receive, send)
        except Exception as error:
            if scope["state"]["status"] is not None:
                observe.request_failed(scope["state"]["request_id"], operation_name(scope), error)
                raise
            api_error = self._api_error(scope, error)
            observe.request_refused(api_error.code)
            await error_response(api_error, operation_name(scope))(scope, receive, send)

    def _api_error(self, scope: Scope, error: Exception) -> RequestError:
        operation = operation_of(scope)
        codes = operation.codes if operation else ()
        request_id = scope["state"]["request_id"]
        match error:
            case RequestError():
                return error
            case HTTPException(status_code=404):
                return NotFound(path=_shown_path(scope["path"]))
            case HTTPException(status_code=405):
                return _method_not_allowed(scope["method"], error.headers or {})
            case BodyMemoryFull():
                return (
                    bodies_exceeded(self.limits)
                    if error.of_client
                    else errors.overload_error(codes)
                )
            case StoreUnavailable() | NodeUnavailable():
                observe.request_unserved(request_id, operation_name(scope), str(error))
                return errors.unavailable_error(codes)
            case _:
                observe.request_failed(request_id, operation_name(scope), error)
                return InternalServerError(request_id=request_id)


def _shown_path(path: str) -> str:
    """Return a path without what could be the secret of an RPC URL."""
    return _SECRET.sub(r"\1…", path[:200].encode("utf-8", "replace").decode())


def _method_not_allowed(method: str, headers: Mapping[str, str]) -> MethodNotAllowed:
    # Starlette's Route lists the methods in any order; its StaticFiles does not list them
    allowed = sorted(headers.get("Allow", "GET, HEAD").split(", "))
    return MethodNotAllowed(method=method[:20], allowed=allowed)


def error_response(error: RequestError, operation: str) -> Response:
    """Return the envelope of an error with the HTTP status that it has on an operation."""
    return Response(
        msgspec.json.encode(errors.error_envelope(error)),
        status_of(error.code, operation),
        _headers(error),
        "application/json",
    )


def _headers(error: RequestError) -> dict[str, str]:
    """Return the headers that RFC 9110 requires with an error."""
    match error:
        case (
            RateLimitExceeded()
            | TooManyStreams()
            | QuoteLimitExceeded()
            | DailyValueLimitExceeded()
        ):
            return {"retry-after": str(error.retry_after)}
        case MethodNotAllowed():
            return {"allow": ", ".join(error.allowed)}
        case Unauthorized():
            return {"www-authenticate": 'ApiKey header="X-API-Key"'}
        case _:
            return {}
