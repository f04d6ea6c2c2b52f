"""The one error path: every exception becomes the envelope; the request id and the access log."""

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from quietswap.rules import errors
from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.contract.errors import status_of
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service import observe
from quietswap.service.api import json
from quietswap.service.api.endpoint import operation_name, operation_of
from quietswap.service.api.event_sender import ANSWER_EVENT, event_text
from quietswap.service.api.operation import ApiOptions, RateLimits
from quietswap.service.api.parsing.body import BodyMemoryFull
from quietswap.service.api.parsing.headers import client_address
from quietswap.service.base.clock import Clock

OnAnswer = Callable[[str, int, float], None]
"""Called after each answer with the operation's name, the HTTP status and the duration in s."""


_PLAIN = re.compile(rb"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True)
class RequestMiddleware:
    """Starts the log context of a request and reports its answer to `on_answer`.

    Sets `scope["state"]["request_id"]` for the log, for the answer's header and for errors. Later
    middleware sets `rate_window` (the RateWindow of a counted request) and `status` (the HTTP
    status of an answer that has started). Both are None until then.

    A request without an answer, such as a cancelled one, is not reported. Without
    `log_client_address` the address of the client is not in the log.
    """

    app: ASGIApp
    options: ApiOptions
    clock: Clock
    on_answer: OnAnswer | None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started, request_id = self.clock.monotonic(), request_id_of(scope)
        state = {"request_id": request_id, "rate_window": None, "status": None}
        state = scope["state"] = scope.get("state", {}) | state
        client = None
        if self.options.log_client_address:
            client = client_address(scope, self.options.trusted_proxies)
        observe.request_began(request_id, client)
        try:
            await self.app(scope, receive, send)
        finally:
            if self.on_answer and state["status"] is not None:
                seconds = self.clock.monotonic() - started
                self.on_answer(operation_name(scope), state["status"], seconds)


def request_id_of(scope: Scope) -> str:
    """Return the id that the request brings if it is plain, otherwise 64 random bits in hex.

    Ids are unique, not secret. `os.urandom` releases the GIL, which costs more than the id. The
    generator of `random` is seeded by the operating system, again in each forked process.
    """
    sent: bytes = dict(scope["headers"]).get(b"x-request-id", b"")
    return sent.decode() if _PLAIN.fullmatch(sent) else f"{random.getrandbits(64):016x}"


_SECRET = re.compile(r"(/rpc/|qr_).*", re.IGNORECASE | re.DOTALL)
"""Of an RPC URL, however its path is misspelt."""


@dataclass(frozen=True, slots=True)
class ErrorHandlerMiddleware:
    """Answers an exception with the error envelope. Logs outages and unexpected exceptions.

    After the start of a stream that ends with its answer, the envelope is the last event. Otherwise
    an exception after the start is raised again: the server then closes the connection, so that the
    client does not take a part of an answer for the whole.
    """

    app: ASGIApp
    limits: RateLimits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.app(scope, receive, send)
        except Exception as error:
            has_begun, operation = scope["state"]["status"] is not None, operation_of(scope)
            if has_begun and not (operation and operation.ends_with_answer):
                observe.request_failed(scope["state"]["request_id"], operation_name(scope), error)
                raise
            api_error = self._api_error(scope, error)
            observe.request_refused(api_error.code)
            if has_begun:
                last = event_text(ANSWER_EVENT, json.error_envelope(api_error))
                await send({"type": "http.response.body", "body": last})
                return
            await error_response(api_error, operation_name(scope))(scope, receive, send)

    def _api_error(self, scope: Scope, error: Exception) -> errors.RequestError:
        operation = operation_of(scope)
        codes = operation.codes if operation else ()
        request_id = scope["state"]["request_id"]
        match error:
            case errors.RequestError():
                return error
            case HTTPException(status_code=404):
                return errors.NotFound(path=_shown_path(scope["path"]))
            case HTTPException(status_code=405):
                return _method_not_allowed(scope["method"], error.headers or {})
            case BodyMemoryFull(of_client=True):
                return errors.RateLimitExceeded(
                    retry_after=1,
                    limit=self.limits.requests,
                    window=self.limits.window_s,
                    message="the requests this client has under way hold too many bytes of bodies",
                )
            case BodyMemoryFull():
                return json.overload_error(codes)
            case StoreUnavailable() | NodeUnavailable():
                observe.request_unserved(request_id, operation_name(scope), str(error))
                return json.unavailable_error(codes, error.for_caller)
            case _:
                observe.request_failed(request_id, operation_name(scope), error)
                return errors.InternalServerError(request_id=request_id)


def _shown_path(path: str) -> str:
    """Return a path without what could be the secret of an RPC URL."""
    return _SECRET.sub(r"\1…", path[:200].encode("utf-8", "replace").decode())


def _method_not_allowed(method: str, headers: Mapping[str, str]) -> errors.MethodNotAllowed:
    # Starlette's Route lists the methods in any order; its StaticFiles does not list them
    allowed = sorted(headers.get("Allow", "GET, HEAD").split(", "))
    return errors.MethodNotAllowed(method=method[:20], allowed=allowed)


def error_response(error: errors.RequestError, operation: str) -> Response:
    """Return the envelope of an error with the HTTP status that it has on an operation."""
    return Response(
        msgspec.json.encode(json.error_envelope(error)),
        status_of(error.code, operation),
        _headers(error),
        "application/json",
    )


def _headers(error: errors.RequestError) -> dict[str, str]:
    """Return the headers that RFC 9110 requires with an error."""
    retry_after = getattr(error, "retry_after", None)
    if retry_after is not None:
        return {"retry-after": str(retry_after)}
    match error:
        case errors.MethodNotAllowed():
            return {"allow": ", ".join(error.allowed)}
        case errors.Unauthorized():
            return {"www-authenticate": 'ApiKey header="X-API-Key"'}
        case _:
            return {}
