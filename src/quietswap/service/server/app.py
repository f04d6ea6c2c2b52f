"""The Starlette application: every answer is the interface's envelope, whatever its kind.

Order of checks: API key, rate limit, path and method, shape, meaning; then the use case.
"""

from collections.abc import Mapping

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from quietswap.service.api.endpoint import OperationEndpoint, exact_route
from quietswap.service.api.middleware.errors import (
    ErrorHandlerMiddleware,
    OnAnswer,
    RequestMiddleware,
)
from quietswap.service.api.middleware.headers import ResponseHeadersMiddleware
from quietswap.service.api.middleware.rate_limits import (
    AuthenticationMiddleware,
    RateLimitMiddleware,
)
from quietswap.service.api.operation import ApiOptions, Operation, UseCases
from quietswap.service.api.parsing.body import BodyMemory
from quietswap.service.base.clock import Clock
from quietswap.service.operator.endpoint import operator_endpoint
from quietswap.service.operator.operator_parts import OperatorParts
from quietswap.service.operator.page import PATH as OPERATOR_PATH
from quietswap.service.operator.page import OperatorOptions
from quietswap.service.server.routes import OPERATIONS
from quietswap.service.server.web_assets import Page, lost_page, public_pages, web_pages
from quietswap.service.wallet_rpc.endpoint import PATH as WALLET_RPC_PATH
from quietswap.service.wallet_rpc.endpoint import WalletRpcEndpoint
from quietswap.service.web.cookie import PATH as WEB_SESSION_PATH
from quietswap.service.web.cookie import (
    STATUS_PATH,
    SessionCookieMiddleware,
    WebSessionEndpoint,
    WebStatusEndpoint,
)
from quietswap.service.web.options import WebOptions

Operator = tuple[OperatorParts, OperatorOptions]


class _Api(Starlette):
    """Starlette without its own error middleware: ErrorHandlerMiddleware handles every error."""

    def build_middleware_stack(self) -> ASGIApp:
        app: ASGIApp = self.router
        for cls, args, kwargs in reversed(self.user_middleware):
            app = cls(app, *args, **kwargs)

        async def http_only(scope: Scope, receive: Receive, send: Send) -> None:
            await (app if scope["type"] == "http" else self.router)(scope, receive, send)

        return http_only


def create_api(
    use_cases: UseCases,
    options: ApiOptions,
    clock: Clock,
    *,
    pages: Mapping[str, Page] | None = None,
    web: WebOptions | None = None,
    on_answer: OnAnswer | None = None,
    operator: Operator | None = None,
) -> Starlette:
    """Return the ASGI application.

    `pages` adds pages that GET reads without an API key, by exact path (`/readyz`, `/metrics`).
    `operator` adds the operator view, `web` the page for wallets.
    """
    pages = {**public_pages(docs=options.docs), **(pages or {})}
    if web is not None:
        pages |= web_pages({"/": "index.html", "/web/help": "help.html"})
    view = operator and operator_endpoint(*operator, options, clock)
    api = _Api(
        routes=[
            *_api_routes(use_cases, options, clock, web),
            *(exact_route(OPERATOR_PATH + rest, view) for rest in ("", "/{path:path}") if view),
            *(exact_route(path, page, methods=["GET"]) for path, page in pages.items()),
        ],
        middleware=[
            Middleware(RequestMiddleware, options, clock, on_answer),
            Middleware(ResponseHeadersMiddleware),
            Middleware(ErrorHandlerMiddleware, options.limits),
        ],
    )
    api.router.redirect_slashes = False
    if web is not None:
        api.router.default = lost_page(api.router.not_found)
    return api


def _api_routes(
    use_cases: UseCases, options: ApiOptions, clock: Clock, web: WebOptions | None
) -> list[BaseRoute]:
    """Return the routes below /api/. The API key is checked before the path and the method."""
    protected = [
        Middleware(AuthenticationMiddleware, use_cases, options, clock),
        Middleware(RateLimitMiddleware, use_cases.rate, options.limits, clock),
    ]
    body_memory = BodyMemory(options.bodies_bytes, options.key_bodies_bytes)
    sessions: list[BaseRoute] = []
    if web is not None:
        cookies = Middleware(SessionCookieMiddleware, use_cases, web, options, clock)
        protected.insert(0, cookies)
        session = WebSessionEndpoint(use_cases, web, options, body_memory, clock)
        sessions.append(exact_route(WEB_SESSION_PATH, session))
        status = WebStatusEndpoint(use_cases, web, options, body_memory, clock)
        sessions.append(exact_route(STATUS_PATH, status))
    wallet_rpc = WalletRpcEndpoint(use_cases, options, body_memory, clock)
    # the first match counts: a parameter before the last segment matches literal segments, too
    paths: dict[str, dict[str, Operation]] = {}
    for operation in sorted(OPERATIONS, key=lambda operation: "}/" in operation.path):
        paths.setdefault(operation.path, {}).update(dict.fromkeys(operation.methods, operation))
    return [
        *(
            exact_route(
                path,
                OperationEndpoint(by_method, use_cases, options, body_memory),
                middleware=protected,
            )
            for path, by_method in paths.items()
        ),
        exact_route("/api/{path:path}", Router(), middleware=protected),  # 404 for any method
        *sessions,
        *(exact_route(path, wallet_rpc) for path in (WALLET_RPC_PATH, WALLET_RPC_PATH + "/")),
    ]
