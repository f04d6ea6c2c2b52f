"""`/operator` and everything below it: login, pages, actions, the event stream and the assets.

Order of checks: the session, then the form of a post (origin and token), then the page. Every
answer to a person's browser is HTML, also a refusal.
"""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import ClassVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.errors.base import RequestError
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.rules.time_units import MINUTE_S
from quietswap.service import observe
from quietswap.service.api.operation import ApiOptions
from quietswap.service.api.parsing.body import BodyMemory, BodyMemoryFull
from quietswap.service.api.parsing.headers import (
    client_address,
    cookie_value,
)
from quietswap.service.base.clock import Clock
from quietswap.service.operator.operator_parts import OperatorParts
from quietswap.service.operator.page import (
    PATH,
    SECURITY_HEADERS,
    OperatorOptions,
    PageRequest,
    page,
    redirect,
)
from quietswap.service.operator.pages import Views
from quietswap.service.operator.refresh_stream import OperatorStream
from quietswap.service.operator.request import (
    FORM_COOKIE,
    SESSION_COOKIE,
    Forged,
    check_token,
    cookie,
    cookie_name,
    form_of,
    query_of,
    session_secret,
)
from quietswap.service.operator.sessions import form_token

_ASSETS = {"operator.css": "text/css; charset=utf-8", "operator.js": "text/javascript"}
_FORM_S = 3600
"""Seconds in which a login form can be sent."""
_UNREADABLE = ("This request cannot be read", 400, "Nothing was changed.")


@dataclass(frozen=True, slots=True)
class OperatorEndpoint:
    """The ASGI endpoint of the operator view."""

    name: ClassVar[str] = "operator"
    """The name in log lines and metrics."""

    parts: OperatorParts
    options: OperatorOptions
    api_options: ApiOptions
    body_memory: BodyMemory
    stream: OperatorStream
    views: Views
    clock: Clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request."""
        path = scope["path"].removeprefix(PATH)
        try:
            if path == "/stream":
                await self._stream(scope, receive, send)
                return
            response = await self._answer(scope, receive, path)
        except Forged:
            response = _refusal("This form cannot be used", 403, "It is old, or of another page.")
        except (StoreUnavailable, NodeUnavailable) as error:
            observe.request_unserved(scope["state"]["request_id"], self.name, str(error))
            advice = (
                f"{error.for_caller[0].upper()}{error.for_caller[1:]}. Try again in a few seconds."
            )
            response = _refusal("Not available", 503, advice)
        except (RequestError, BodyMemoryFull):
            response = _refusal(*_UNREADABLE)
        await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, path: str) -> Response:
        method = scope["method"]
        if method not in ("GET", "HEAD", "POST"):
            refusal = _refusal("Method not allowed", 405, "Pages are read with GET.")
            refusal.headers["allow"] = "GET, HEAD, POST"
            return refusal
        if path.startswith("/assets/"):
            return _asset(path.removeprefix("/assets/"))
        if path == "/login":
            if method == "POST":
                return await self._log_in(scope, receive)
            return self._login_form()
        secret = session_secret(scope, secure=self.options.secure)
        session = None if secret is None else await self.parts.sessions.find(secret)
        if secret is None or session is None:
            return redirect("/login")
        token = form_token(secret)
        form: Mapping[str, str] = {}
        if method == "POST":
            form = await form_of(scope, receive, self.body_memory, "operator")
            check_token(form, token)
        if method == "POST" and path == "/logout":
            return await self._log_out(secret)
        request = PageRequest(path.rstrip("/"), query_of(scope), session, token, form)
        if not request.is_text:
            return _refusal(*_UNREADABLE)
        response = await (self.views.act(request) if method == "POST" else self.views.show(request))
        return response or _refusal("Not found", 404, "There is no such page.")

    def _login_form(self, fault: str | None = None, status: int = 200) -> Response:
        """Return the form with a token of its own: a page of another site has no such cookie."""
        secret = secrets.token_hex(32)
        response = page("login.html", status, token=_login_token(secret), fault=fault)
        response.headers.append(
            "set-cookie", cookie(FORM_COOKIE, secret, _FORM_S, secure=self.options.secure)
        )
        return response

    def _form_secret(self, scope: Scope) -> str:
        name = cookie_name(FORM_COOKIE, secure=self.options.secure)
        return cookie_value(scope["headers"], name) or ""

    async def _log_in(self, scope: Scope, receive: Receive) -> Response:
        form = await form_of(scope, receive, self.body_memory, "operator login")
        check_token(form, _login_token(self._form_secret(scope)))
        login = await self.parts.sessions.log_in(form.get("secret", "").strip()[:200])
        if login is None:
            return await self._refused(scope)
        _, session = login
        response = redirect("")
        lasts, secure = self.options.session_s, self.options.secure
        for header in (
            cookie(SESSION_COOKIE, session, lasts, secure=secure),
            cookie(FORM_COOKIE, "", 0, secure=secure),
        ):
            response.headers.append("set-cookie", header)
        return response

    async def _refused(self, scope: Scope) -> Response:
        """Count a wrong secret of a client address, and answer.

        A right one is never refused: others may share the operator's address. A secret has 256
        random bits, so what is limited is work and the noise in the log, not the chance of a guess.
        """
        client = client_address(scope, self.api_options.trusted_proxies)
        window = await self.parts.guesses.hit(
            f"operator:{client}", self.options.logins_per_minute, MINUTE_S
        )
        if window.allowed:
            return self._login_form("This secret is not valid.", 403)
        wait_s = max(-(-(window.reset_ms - self.clock.now_ms()) // 1000), 1)
        response = self._login_form(
            f"This secret is not valid, as many others of this address. Wait {wait_s} seconds.", 429
        )
        response.headers["retry-after"] = str(wait_s)
        return response

    async def _log_out(self, secret: str) -> Response:
        await self.parts.sessions.log_out(secret)
        response = redirect("/login")
        response.headers.append(
            "set-cookie", cookie(SESSION_COOKIE, "", 0, secure=self.options.secure)
        )
        return response

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        secret = session_secret(scope, secure=self.options.secure)

        async def is_live() -> bool:
            return secret is not None and await self.parts.sessions.find(secret) is not None

        response = None
        if scope["method"] != "GET":
            response = _refusal("Method not allowed", 405, "The stream is read with GET.")
            response.headers["allow"] = "GET"
        elif not await is_live():
            response = _refusal("Not logged in", 403, "The session has ended.")
        elif self.stream.is_full:
            response = _refusal("Too many streams", 503, "Close a page of this view.")
        if response is not None:
            await response(scope, receive, send)
            return
        await self.stream.serve(is_live, receive, send)


def _login_token(secret: str) -> str:
    return hmac.new(secret.encode(), b"operator login", hashlib.sha256).hexdigest()


def _refusal(title: str, status: int, said: str) -> Response:
    return page("refusal.html", status, title=title, said=said)


def _asset(name: str) -> Response:
    if name not in _ASSETS:
        return _refusal("Not found", 404, "There is no such file.")
    return Response(_content(name), headers=SECURITY_HEADERS, media_type=_ASSETS[name])


@cache
def _content(name: str) -> bytes:
    return resources.files("quietswap.service.operator").joinpath("assets", name).read_bytes()


def operator_endpoint(
    parts: OperatorParts, options: OperatorOptions, api_options: ApiOptions, clock: Clock
) -> OperatorEndpoint:
    """Return the endpoint of everything at and below /operator: each path has the same checks."""
    return OperatorEndpoint(
        parts,
        options,
        api_options,
        BodyMemory(api_options.bodies_bytes, api_options.key_bodies_bytes),
        OperatorStream(parts.figures.changes, parts.is_stopping, clock),
        Views(parts, options, clock),
        clock,
    )
