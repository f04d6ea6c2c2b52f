"""One operation of the API as an ASGI endpoint, and its route."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from quietswap.rules.clients import KeyScope
from quietswap.rules.errors.base import Unauthorized
from quietswap.rules.errors.clients import Forbidden
from quietswap.rules.wire import Envelope
from quietswap.service.api.json import send_json
from quietswap.service.api.operation import Answer, ApiOptions, ApiRequest, Operation, UseCases
from quietswap.service.api.parsing.body import BodyMemory, check_media_type, parse_body, read_body
from quietswap.service.node import work as node_work

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class OperationEndpoint:
    """Checks method and body of an authenticated request and answers with its handler's result.

    It serves the operations of one path, by method. An ASGI application, not a function: Starlette
    would check the method of a function's route before the middleware of that route, and so before
    the API key.
    """

    by_method: dict[str, Operation]
    use_cases: UseCases
    options: ApiOptions
    body_memory: BodyMemory

    def operation(self, method: str) -> Operation | None:
        """Return the operation of a method; of any method where the path has one operation."""
        of_method = self.by_method.get(method)
        if of_method is None and len(set(self.by_method.values())) == 1:
            of_method = next(iter(self.by_method.values()))
        return of_method

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request.

        Raises RequestError, StoreUnavailable, NodeUnavailable and BodyMemoryFull.
        """
        operation = self.by_method.get(scope["method"])
        if operation is None:
            raise HTTPException(405, headers={"Allow": ", ".join(self.by_method)})
        if operation.needs_trade and scope["user"].scope is not KeyScope.TRADE:
            raise Forbidden(scope=scope["user"].scope.value, required=KeyScope.TRADE.value)
        node_work.begin(scope["user"].client_id)
        if operation.body:
            with self.body_memory.reserve(scope["user"].client_id) as grow:
                body = await self._body(operation, scope, receive, grow)
                answer = await self._answer(operation, scope, body)
        else:
            answer = await self._answer(operation, scope, {})
        if isinstance(answer, Envelope):
            await send_json(send, _encode(answer))
        else:
            await answer.respond(receive, send, has_body=scope["method"] != "HEAD")

    async def _answer(self, operation: Operation, scope: Scope, body: dict[str, Any]) -> Answer:
        secret: str = scope["auth"]

        async def is_key_valid() -> bool:
            try:
                return await self.use_cases.authenticate(secret) is not None
            except Unauthorized:  # it expired, or its client was disabled
                return False

        request = ApiRequest(
            self.use_cases,
            scope["user"],
            scope["query_string"],
            scope["path_params"],
            body,
            dict(scope["headers"]) if operation.headers else {},
            scope["state"].get("client_window"),
            is_key_valid,
            self.options.slow_reader_s,
        )
        return await operation.handler(request)

    async def _body(
        self, operation: Operation, scope: Scope, receive: Receive, grow: Callable[[int], None]
    ) -> dict[str, Any]:
        headers = dict(scope["headers"])
        assert operation.body
        if not operation.may_be_empty:
            check_media_type(headers)
        limit, timeout_s = self.options.max_body_bytes, self.options.body_timeout_s
        raw = await read_body(headers, receive, limit, timeout_s, grow)
        if operation.may_be_empty:
            if not raw:  # no length, length 0, or chunks that hold nothing
                return {}
            check_media_type(headers)
        return parse_body(raw, operation.body)


def operation_of(scope: Scope) -> Operation | None:
    """Return the operation that the router found for a request, also for one that is refused."""
    endpoint = scope.get("endpoint")
    return endpoint.operation(scope["method"]) if isinstance(endpoint, OperationEndpoint) else None


def operation_name(scope: Scope) -> str:
    """Return the name of operation or endpoint for logs and metrics, "other" without one."""
    named = operation_of(scope) or scope.get("endpoint")
    return str(getattr(named, "name", "other"))


def exact_route(
    path: str,
    endpoint: Callable[..., Any],
    *,
    methods: Sequence[str] | None = None,
    middleware: Sequence[Middleware] = (),
) -> Route:
    """Return a route that a line break in the path does not deceive.

    In Starlette's pattern `$` also matches before a final line break, and `.` no line break.
    """
    route = Route(path, endpoint, methods=methods, middleware=middleware)
    pattern = route.path_regex.pattern.removesuffix("$") + r"\Z"
    route.path_regex = re.compile(pattern, re.DOTALL)
    return route
