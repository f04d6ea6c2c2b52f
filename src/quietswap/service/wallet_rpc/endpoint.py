"""`POST /rpc/<token>`: the token, the body and the rate of a wallet's JSON-RPC requests.

The token is a secret in the path: no log line, metric, span or error of this module has a path.
Errors of calls have HTTP status 200, because wallets retry or stop polling after another status.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from quietswap.rules.chain import rpc_codes
from quietswap.rules.contract.errors import status_of
from quietswap.rules.errors.base import RequestError
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.rules.wallet_rpc_token import WalletRpcToken
from quietswap.service import observe
from quietswap.service.api.json import send_json
from quietswap.service.api.operation import ApiOptions, UseCases
from quietswap.service.api.parsing.body import (
    BodyMemory,
    BodyMemoryFull,
    check_media_type,
    read_body,
)
from quietswap.service.api.parsing.headers import client_address
from quietswap.service.base.clock import Clock
from quietswap.service.node import work as node_work
from quietswap.service.wallet_rpc import parameters, wire
from quietswap.service.wallet_rpc.dispatch import WalletRpc
from quietswap.service.wallet_rpc.parameters import RpcError
from quietswap.service.wallet_rpc.wire import Call, Message, Notification

PATH = "/rpc/{token}"
_SECRET = re.compile(r"qr_[0-9a-f]{64}")
_EXTENSION = re.compile(rb"(?:chrome|moz|safari-web)-extension://[A-Za-z0-9.-]{1,64}")
"""Origins of browser extensions. Their ids differ by browser and, in Firefox, by installation."""
_PREFLIGHT = (
    (b"access-control-allow-methods", b"POST"),
    (b"access-control-allow-headers", b"content-type, x-request-id"),
    (b"access-control-allow-private-network", b"true"),
    (b"access-control-max-age", b"7200"),
)


class _Refused(Exception):
    """The whole body is refused with an HTTP status and one error without an id."""

    def __init__(self, status: int, code: int, text: str, data: Any = None) -> None:
        super().__init__(text)
        self.status = status
        self.error = RpcError(code, text, data)


@dataclass(frozen=True, slots=True)
class WalletRpcEndpoint:
    name: ClassVar[str] = "wallet_rpc"
    """The name in log lines and metrics."""

    use_cases: UseCases
    options: ApiOptions
    body_memory: BodyMemory
    clock: Clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        cors = _cors_headers(headers)
        if scope["method"] == "OPTIONS" and cors and b"access-control-request-method" in headers:
            await send_json(send, b"", (*cors, *_PREFLIGHT), 204)
            return
        if scope["method"] != "POST":
            raise HTTPException(405, headers={"Allow": "POST"})
        try:
            body = await self._serve(scope, headers, receive)
            await send_json(send, body, cors, 200 if body else 204)
        except _Refused as refusal:
            observe.request_refused(str(refusal.error.code))
            await send_json(send, wire.error(b"null", refusal.error), cors, refusal.status)

    async def _serve(self, scope: Scope, headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
        """Return the body of the answer; it is empty if no request has an id."""
        request_id = scope["state"]["request_id"]
        try:
            token = await self._token(scope)
            with self.body_memory.reserve(token.client_id) as grow:
                limit, timeout_s = self.options.max_body_bytes, self.options.body_timeout_s
                check_media_type(headers)
                raw = await read_body(headers, receive, limit, timeout_s, grow)
                return await self._answer(scope, token, raw)
        except RequestError as error:
            status = status_of(error.code, self.name)
            data = {"code": error.code, "details": error.details}
            raise _Refused(status, rpc_codes.INVALID_REQUEST, error.message, data) from None
        except BodyMemoryFull:
            text = "too many requests are being received; nothing was sent; try again in a second"
            raise _Refused(503, rpc_codes.LIMIT_EXCEEDED, text) from None
        except StoreUnavailable as error:
            observe.request_unserved(request_id, self.name, str(error))
            text = "a part of the service is away; nothing was sent; try again in a few seconds"
            raise _Refused(503, rpc_codes.RESOURCE_UNAVAILABLE, text) from None
        except _Refused:
            raise
        except Exception as error:  # noqa: BLE001  the answer must be JSON-RPC
            observe.request_failed(request_id, self.name, error)
            failure = parameters.service_failed(request_id)
            raise _Refused(500, failure.code, failure.message, failure.data) from None

    async def _token(self, scope: Scope) -> WalletRpcToken:
        """Return the live token of the path. Wrong tokens count as wrong API keys do."""
        secret = scope["path_params"]["token"]
        token = await self.use_cases.rpc_tokens.find(secret) if _SECRET.fullmatch(secret) else None
        limits = self.options.limits
        if token is not None:
            observe.wallet_rpc_token_recognised(token.id, token.client_id)
            node_work.begin(token.client_id)
            if token.is_of_web_session:  # anybody may open sessions: their own limits bound nobody
                most = self.options.wallet_rpc.visitor_limit
                text = f"more than {most} requests in {limits.window_s} seconds; nothing was sent"
                await self._count_address(scope, "web-rpc", most, text)
            return token
        text = "too many requests with a wrong RPC URL; nothing was sent"
        await self._count_address(scope, "guess", limits.failures, text)
        text = "this RPC URL does not exist or was revoked; nothing was sent"
        raise _Refused(401, rpc_codes.RESOURCE_NOT_FOUND, text, {"code": "UNAUTHORIZED"})

    async def _count_address(self, scope: Scope, name: str, most: int, text: str) -> None:
        """Count the request for its client address; `text` is the refusal of too many."""
        address = client_address(scope, self.options.trusted_proxies)
        window_s = self.options.limits.window_s
        window = await self.use_cases.guesses.hit(f"{name}:{address}", most, window_s)
        if not window.allowed:
            code = {"code": "RATE_LIMIT_EXCEEDED"}
            raise _Refused(429, rpc_codes.LIMIT_EXCEEDED, text, code)

    async def _answer(self, scope: Scope, token: WalletRpcToken, raw: bytes) -> bytes:
        try:
            message = wire.parse(raw)
        except RpcError as error:
            await self._hit(scope, token, 1)
            observe.request_refused(str(error.code))
            return wire.error(b"null", error)
        over = await self._hit(scope, token, len(message.items))
        if over is not None:
            observe.request_refused(str(over.code))
            requests = (item for item in message.items if not isinstance(item, Notification))
            ids = (item.id if isinstance(item, Call) else b"null" for item in requests)
            return _joined(message, [wire.error(one, over) for one in ids])
        options, request_id = self.options.wallet_rpc, scope["state"]["request_id"]
        rpc = WalletRpc(self.use_cases, options, self.clock, token, request_id)
        return _joined(message, await rpc.answer(message))

    async def _hit(self, scope: Scope, token: WalletRpcToken, calls: int) -> RpcError | None:
        """Count the calls; return the error if they exceed the token's budget."""
        limit, window_s = self.options.wallet_rpc.rate_limit, self.options.limits.window_s
        window = await self.use_cases.rate.hit(f"rpc:{token.id}", limit, window_s, calls)
        scope["state"]["rate_window"] = window
        if window.allowed:
            return None
        wait_s = max(-(-(window.reset_ms - self.clock.now_ms()) // 1000), 1)
        details: dict[str, Any] = {"retryAfter": wait_s, "limit": limit, "window": window_s}
        text = f"more than {limit} calls in {window_s} seconds; nothing was sent"
        return RpcError(
            rpc_codes.LIMIT_EXCEEDED, text, {"code": "RATE_LIMIT_EXCEEDED", "details": details}
        )


def _joined(message: Message, answers: list[bytes]) -> bytes:
    if not answers:
        return b""
    return b"[" + b",".join(answers) + b"]" if message.is_batch else answers[0]


def _cors_headers(headers: Mapping[bytes, bytes]) -> tuple[tuple[bytes, bytes], ...]:
    """Return the CORS headers for a browser extension; any other origin gets none."""
    origin = headers.get(b"origin", b"")
    if not _EXTENSION.fullmatch(origin):
        return ()
    return ((b"access-control-allow-origin", origin), (b"vary", b"origin"))
