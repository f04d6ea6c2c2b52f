"""One function per event of a request that is logged or counted: its key, and its answer."""

from quietswap.rules.chain import rpc_codes
from quietswap.service.observe import metrics
from quietswap.service.observe.logs import RequestContext, current, log, log_request
from quietswap.service.observe.traces import name_request


def request_began(request_id: str, client: str | None = None) -> None:
    """A request started. Its log lines contain its id, its own line also `client`."""
    current.set(RequestContext(request_id, client))


def revoked_key_used(key_id: str) -> None:
    """The current request has a revoked key. The id is not a secret."""
    context = current.get()
    if context is not None:
        context.revoked_key = key_id


def key_recognised(key_id: str, client_id: str) -> None:
    """The current request has this key of this client. The ids are not secrets."""
    context = current.get()
    if context is not None:
        context.key, context.client_id = key_id, client_id


def wallet_rpc_token_recognised(token_id: str, client_id: str) -> None:
    """The current request has this token of the wallet RPC endpoint. The ids are not secrets."""
    context = current.get()
    if context is not None:
        context.key, context.client_id = token_id, client_id


def wallet_rpc_answered(method: str, code: int) -> None:
    """A wallet's call was answered; `method` is of the allow list or `other`, 0 is no error."""
    code_label = code if code in _RPC_CODES else rpc_codes.SERVER_ERROR
    metrics.wallet_rpc_calls(method, str(code_label) if code_label else "OK").inc()


_RPC_CODES = frozenset((
    0, rpc_codes.INVALID_REQUEST, rpc_codes.METHOD_NOT_FOUND, rpc_codes.INVALID_PARAMS,
    rpc_codes.INTERNAL_ERROR, rpc_codes.RESOURCE_NOT_FOUND, rpc_codes.RESOURCE_UNAVAILABLE,
    rpc_codes.TRANSACTION_REJECTED, rpc_codes.LIMIT_EXCEEDED,
))  # fmt: skip
"""Codes of this service. A node chooses its codes freely, so those count as one."""


def key_uses_kept(reason: str) -> None:
    """The last uses of API keys could not be stored. They are stored a minute later."""
    log.warning("key_uses_kept", reason=reason)


def request_refused(code: str) -> None:
    """The current request gets this error code."""
    context = current.get()
    if context is not None:
        context.code = code


def request_unserved(request_id: str, route: str, reason: str) -> None:
    """A request got 503, because a store or the node is unavailable."""
    log.warning("request_unserved", request=request_id, route=route, reason=reason)


def request_failed(request_id: str, route: str, error: BaseException) -> None:
    """A request failed unexpectedly. The caller receives only the request id."""
    log.error("request_failed", request=request_id, route=route, exc_info=error)


def request_answered(endpoint: str, status: int, seconds: float) -> None:
    """A request was answered. Successful reads of pages are counted, but not logged.

    The length of a stream says nothing of how fast the service is: it is only logged.
    """
    context = current.get() or RequestContext("")
    metrics.requests(endpoint, status, context.code).inc()
    if endpoint != "event_stream" or status != 200:
        metrics.request_seconds(endpoint).observe(seconds)
    if context.client_id is not None:
        _count_for_client(context.client_id, endpoint, context.code)
    name_request(endpoint, status, context.request)
    if endpoint != "other" or status != 200:
        line: dict[str, object] = {
            "request": context.request,
            "endpoint": endpoint,
            "status": status,
            "code": context.code,
            "ms": round(seconds * 1000, 1),
            "key": context.key,
            "client_id": context.client_id,
        }
        if context.client is not None:
            line["client"] = context.client
        if context.revoked_key is not None:
            line["revoked_key"] = context.revoked_key
        log_request(**line)


def _count_for_client(client_id: str, endpoint: str, code: str) -> None:
    client = metrics.client_label(client_id)
    metrics.client_requests(client, endpoint).inc()
    if code in _LIMIT_CODES:
        metrics.client_refusals(client, code).inc()


_LIMIT_CODES = frozenset(
    {
        "RATE_LIMIT_EXCEEDED",
        "FORBIDDEN",
        "WALLET_NOT_ALLOWED",
        "TOKEN_NOT_ALLOWED",
        "SWAP_VALUE_UNKNOWN",
        "SWAP_VALUE_LIMIT_EXCEEDED",
        "QUOTE_LIMIT_EXCEEDED",
        "OPEN_ORDER_LIMIT_EXCEEDED",
        "DAILY_VALUE_LIMIT_EXCEEDED",
    }
)
