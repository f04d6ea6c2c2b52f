"""What the interface calls, one operation as a row of the table, and the options of the API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, get_args

from quietswap.rules.wire import Envelope, RequestStruct, WireStruct, member_names
from quietswap.service.api.json import Receive, Send
from quietswap.service.api.parsing.headers import Network
from quietswap.service.api.parsing.query import parse_query

if TYPE_CHECKING:  # `orders export` shares a module with the API, and imports no metrics
    from quietswap.rules.clients import ApiKey
    from quietswap.rules.orders.stores import RateStore, RateWindow
    from quietswap.rules.quotes.indicative_price import IndicativePrice
    from quietswap.rules.quotes.quote import SwapQuote, WrapQuote
    from quietswap.rules.quotes.request import (
        IndicativePriceRequest,
        SwapQuoteRequest,
        WrapQuoteRequest,
    )
    from quietswap.service.clients.keys import Authenticate
    from quietswap.service.clients.usage import GetUsage
    from quietswap.service.events.feed import EventFeed
    from quietswap.service.orders.cancel import CancelOrder
    from quietswap.service.orders.export import ExportOrders
    from quietswap.service.orders.history import GetOrderHistory, GetOrderStatus
    from quietswap.service.orders.inclusion import GetInclusion
    from quietswap.service.orders.statistics import GetOrderStatistics
    from quietswap.service.orders.submit_swap import SubmitSwap
    from quietswap.service.orders.submit_wrap import SubmitWrap
    from quietswap.service.quoting.wrap import GetWrapInfo
    from quietswap.service.tokens.tokens import GetBalances, ListTokens
    from quietswap.service.wallet_rpc.match import WalletOrders
    from quietswap.service.wallet_rpc.node import WalletNodeClient
    from quietswap.service.wallet_rpc.send import SendRawTransaction
    from quietswap.service.wallet_rpc.tokens import WalletRpcTokens
    from quietswap.service.watches.manage import ManageWatches
    from quietswap.service.webhooks.manage import ManageWebhooks


@dataclass(frozen=True, slots=True)
class UseCases:
    """Every use case the API calls. Orders are found only by the client that placed them.

    A use case raises `quietswap.rules.errors.base.RequestError` for a fault the caller can act on.
    NodeUnavailable and StoreUnavailable become a 503 in `api.middleware.errors`.
    """

    quote_swap: Callable[[ApiKey, SwapQuoteRequest], Awaitable[SwapQuote]]
    submit_swap: SubmitSwap
    order_status: GetOrderStatus
    order_history: GetOrderHistory
    order_statistics: GetOrderStatistics
    inclusion: GetInclusion
    export_orders: ExportOrders
    now_ms: Callable[[], int]
    """Returns the time in Unix ms."""
    wrap_info: GetWrapInfo
    quote_wrap: Callable[[ApiKey, WrapQuoteRequest], Awaitable[WrapQuote]]
    submit_wrap: SubmitWrap
    cancel: CancelOrder
    webhooks: ManageWebhooks
    watches: ManageWatches
    events: EventFeed
    list_tokens: ListTokens
    balances: GetBalances
    price: Callable[[ApiKey, IndicativePriceRequest], Awaitable[IndicativePrice]]
    rpc_tokens: WalletRpcTokens
    rpc_node: WalletNodeClient
    rpc_send: SendRawTransaction
    rpc_orders: WalletOrders
    usage: GetUsage
    authenticate: Authenticate
    rate: RateStore
    """Counts the requests of each API key, and of each client with a limit."""
    guesses: RateStore
    """Counts the requests with a wrong API key of each client address."""


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request after the checks of API key, rate limit, method and body shape.

    `query` is the raw query string, `path_params` holds the decoded path parameters by name,
    `headers` those of the request, by lower-case name.
    """

    use: UseCases
    key: ApiKey
    query: bytes
    path_params: Mapping[str, str]
    body: dict[str, Any]
    headers: Mapping[bytes, bytes]
    client_window: RateWindow | None
    """Requests of this minute of a client with such a limit."""
    is_key_valid: Callable[[], Awaitable[bool]]
    """Tells whether the key of the request is still accepted. Raises StoreUnavailable."""
    slow_reader_s: float
    """Seconds after which a stream is cut whose client takes no data."""

    def query_values(self, kind: type[WireStruct]) -> dict[str, str]:
        """Return the query by name; `kind` declares the names. Raises InvalidParameter."""
        return parse_query(self.query, member_names(kind))


class SelfSentAnswer(Protocol):
    """An answer that sends itself, in parts."""

    async def respond(self, receive: Receive, send: Send, *, has_body: bool) -> None:
        """Send status, headers and body; no body for HEAD."""


Answer: TypeAlias = Envelope[Any] | SelfSentAnswer
Handler = Callable[[ApiRequest], Awaitable[Answer]]

_EVERYWHERE = " UNAUTHORIZED RATE_LIMIT_EXCEEDED INTERNAL_SERVER_ERROR"
_WITH_BODY = " PAYLOAD_TOO_LARGE UNSUPPORTED_MEDIA_TYPE VALIDATION_ERROR"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of the interface, made by `operation` from its handler.

    `codes` are the interface's codes of this operation, codes for cases it does not define
    (INVALID_ADDRESS and INVALID_PARAMETER on the swap quote, INVALID_PARAMETER for a chain id and
    for an invalid query string, SERVICE_UNAVAILABLE where its table has no 503), and those that
    all operations share: an unexpected failure can happen in all.
    """

    name: str
    method: str
    path: str
    summary: str
    handler: Handler
    codes: tuple[str, ...]
    answers: tuple[type[Envelope[Any]], ...]
    path_params: type[WireStruct] | None = None
    query: type[WireStruct] | None = None
    body: type[RequestStruct] | None = None
    may_be_empty: bool = False
    """Whether a request without a body is the same as one with `{}`."""
    headers: type[WireStruct] | None = None
    streams: tuple[type[WireStruct], ...] = ()
    """What the `data` of an event may be, if the answer is a stream of server-sent events.

    With `answers` the stream ends with one of them, or with an error, as the event `answer`.
    """
    rows: type[WireStruct] | None = None
    """The rows of a streamed answer, as CSV; as a JSON array, too, without `answers`."""

    @property
    def ends_with_answer(self) -> bool:
        """Return whether the last event of a stream is what a plain request would answer."""
        return bool(self.streams and self.answers)

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the HTTP methods of the path; HEAD is GET without a body."""
        return ("GET", "HEAD") if self.method == "GET" else (self.method,)

    @property
    def needs_trade(self) -> bool:
        """Return whether a key with the scope `read` is refused."""
        return self.method != "GET"


def operation(
    route: str, codes: str, *, ends_with: type[Envelope[Any]] | None = None, **rest: Any
) -> Callable[[Handler], Operation]:
    """Make an operation of a handler: its name is the function's, its summary the docstring's.

    `route` is method and path, `codes` its own error codes. The handler's return type says what it
    answers; a stream that ends with an answer names that as `ends_with`. `rest` are the other
    members of Operation.
    """
    method, path = route.split()
    shared = _EVERYWHERE + (_WITH_BODY if "body" in rest else "")
    shared += "" if method == "GET" else " FORBIDDEN"

    def made(handler: Handler) -> Operation:
        returned = handler.__annotations__["return"]
        kinds = (ends_with,) if ends_with else get_args(returned) or (returned,)
        return Operation(
            name=handler.__name__,
            method=method,
            path=path,
            summary=(handler.__doc__ or "").partition(".")[0],
            handler=handler,
            codes=tuple(dict.fromkeys((codes + shared).split())),
            answers=tuple(kind for kind in kinds if issubclass(kind, Envelope)),
            **rest,
        )

    return made


@dataclass(frozen=True, slots=True)
class RateLimits:
    """`requests` per API key and `failures` (wrong keys) per client address, in `window_s` seconds.

    A key has 256 random bits: guessing is hopeless at any rate. The limit of failures protects the
    database, and lets a contract test that repeats each request with a wrong key see its 401.
    """

    requests: int = 300
    failures: int = 1000
    window_s: int = 60


@dataclass(frozen=True, slots=True)
class WalletRpcOptions:
    """Limits of one RPC token: calls in a rate window, and of one body the seconds of its reads,
    the seconds after which no further send starts, and the blocks of one eth_getLogs.

    `visitor_limit` bounds the requests of one client address over RPC URLs of the wallet page."""

    rate_limit: int = 3000
    visitor_limit: int = 600
    timeout_s: float = 10.0
    sends_s: float = 30.0
    logs_blocks: int = 1000


@dataclass(frozen=True, slots=True)
class ApiOptions:
    """The options of one process. X-Forwarded-For is read from `trusted_proxies` only."""

    limits: RateLimits = field(default_factory=RateLimits)
    max_body_bytes: int = 1 << 20
    """A transaction has at most 128 KiB of calldata, 256 KiB as hex, and an order has it twice."""
    body_timeout_s: float = 15.0
    bodies_bytes: int = 64 << 20
    """Bytes of concurrent bodies, of all clients; `key_bodies_bytes` of one client."""
    key_bodies_bytes: int = 8 << 20
    trusted_proxies: tuple[Network, ...] = ()
    slow_reader_s: float = 15.0
    """How long a stream waits for a client that takes no data."""
    docs: bool = True
    log_client_address: bool = True
    wallet_rpc: WalletRpcOptions = field(default_factory=WalletRpcOptions)
