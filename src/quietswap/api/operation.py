"""What the interface calls, one operation as a row of the table, and the options of the API."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, get_args

from quietswap.api.json import StreamedAnswer
from quietswap.api.parsing.headers import Network
from quietswap.api.parsing.query import parse_query
from quietswap.chain.address import Address
from quietswap.clients.client import ApiKey, ClientUsage
from quietswap.contract.base import Envelope, RequestStruct, WireStruct, member_names
from quietswap.events.event import EventFilter, ResumePoint, StoredEvent
from quietswap.orders.order import OrderKind, OrderStatus
from quietswap.orders.statistics import ExportFilter, ExportPage, OrderStatistics
from quietswap.orders.stores import OrderPage, OrderView, RateStore, RateWindow
from quietswap.quoting.quote import SwapQuote, WrapQuote
from quietswap.quoting.request import (
    IndicativePriceRequest,
    SubmittedSwap,
    SubmittedWrap,
    SwapOrderRequest,
    SwapQuoteRequest,
    WrapBalances,
    WrapOrderRequest,
    WrapQuoteRequest,
)
from quietswap.quoting.scoring import IndicativePrice
from quietswap.tokens.view import TokenPage, WalletHoldings
from quietswap.wallet_rpc.tokens import NodeAnswer, NodeCall, WalletRpcToken, WalletRpcTokens

if TYPE_CHECKING:  # `orders export` shares a module with the API, and imports no metrics
    from quietswap.orders.cancel import CancelOrder
    from quietswap.webhooks.manage import ManageWebhooks

# What the API needs from the application: one callable per endpoint, the API keys, two counters.
#
# A use case raises `quietswap.errors.base.RequestError` for a fault the caller can act on.
# NodeUnavailable and StoreUnavailable become a 503 in `api.middleware.errors`.


class EventSubscription(Protocol):
    """An open stream of one client's events."""

    @property
    def sequence(self) -> int:
        """Return the number of the last event that is done with."""

    async def next(self) -> Sequence[StoredEvent] | None:
        """Return the next events; none of them every ten seconds; None at the end."""

    def close(self) -> None:
        """End the stream."""


@dataclass(frozen=True, slots=True)
class UseCases:
    """Every use case the API calls. Orders are found only by the client that placed them."""

    quote_swap: Callable[[ApiKey, SwapQuoteRequest], Awaitable[SwapQuote]]
    submit_swap: Callable[[ApiKey, SwapOrderRequest], Awaitable[SubmittedSwap]]
    order_status: Callable[[ApiKey, str], Awaitable[OrderView]]
    """By order id. Raises OrderNotFound."""
    order_history: Callable[
        [ApiKey, Address, OrderStatus | None, int, int, OrderKind | None], Awaitable[OrderPage]
    ]
    """By wallet and status, with limit and offset; orders of one kind, or all (None)."""
    order_statistics: Callable[[ApiKey, int], Awaitable[OrderStatistics]]
    """Of the last so many days."""
    export_orders: Callable[[ExportFilter], AsyncGenerator[ExportPage]]
    now_ms: Callable[[], int]
    """Returns the time in Unix ms."""
    wrap_info: Callable[[ApiKey, Address], Awaitable[WrapBalances]]
    quote_wrap: Callable[[ApiKey, WrapQuoteRequest], Awaitable[WrapQuote]]
    submit_wrap: Callable[[ApiKey, WrapOrderRequest], Awaitable[SubmittedWrap]]
    cancel: "CancelOrder"
    webhooks: "ManageWebhooks"
    follow_events: Callable[[str, ResumePoint | None, EventFilter], Awaitable[EventSubscription]]
    """By client. Raises InvalidParameter, EventsPruned, TooManyStreams."""
    list_tokens: Callable[[ApiKey, str, int, int], Awaitable[TokenPage]]
    """By search text, with limit and offset."""
    balances: Callable[[ApiKey, Address, Sequence[Address]], Awaitable[WalletHoldings]]
    """By wallet and tokens."""
    price: Callable[[ApiKey, IndicativePriceRequest], Awaitable[IndicativePrice]]
    rpc_tokens: WalletRpcTokens
    rpc_token: Callable[[str], Awaitable[WalletRpcToken | None]]
    """Return the live token with this secret, None if it is unknown or revoked."""
    rpc_read: Callable[[Sequence[NodeCall], str], Awaitable[Sequence[NodeAnswer]]]
    """Read from the node, for the client with this id. Raises NodeUnavailable."""
    rpc_send: Callable[[WalletRpcToken, str], Awaitable[str]]
    """Take a signed transaction in hex and return its hash."""
    rpc_pending_transaction: Callable[[WalletRpcToken, str], Awaitable[dict[str, Any] | None]]
    """Return the JSON of a live order's transaction by its hash; None if there is none."""
    rpc_pending_nonce: Callable[[WalletRpcToken, Address], Awaitable[int | None]]
    """Return the nonce after a wallet's live orders; None if there are none."""
    usage: Callable[[ApiKey], Awaitable[ClientUsage]]
    authenticate: Callable[[str], Awaitable[ApiKey | None]]
    """Return the active key with this secret, None if it is unknown or revoked.

    Raises Unauthorized for an expired key and for one of a disabled client.
    """
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

    def query_values(self, kind: type[WireStruct]) -> dict[str, str]:
        """Return the query by name; `kind` declares the names. Raises InvalidParameter."""
        return parse_query(self.query, member_names(kind))


Answer = Envelope[Any] | EventSubscription | StreamedAnswer
Handler = Callable[[ApiRequest], Awaitable[Answer]]

_EVERYWHERE = ("UNAUTHORIZED", "RATE_LIMIT_EXCEEDED", "INTERNAL_SERVER_ERROR")
_WITH_BODY = ("PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "VALIDATION_ERROR")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of the interface, made by `operation` from its handler.

    `own_codes` are the interface's codes of this operation, and codes for cases it does not define:
    INVALID_ADDRESS and INVALID_PARAMETER on the swap quote, INVALID_PARAMETER for a chain id and
    for an invalid query string, SERVICE_UNAVAILABLE where its table has no 503.
    """

    name: str
    method: str
    path: str
    summary: str
    handler: Handler
    own_codes: tuple[str, ...]
    answers: tuple[type[Envelope[Any]], ...]
    path_params: type[WireStruct] | None = None
    query: type[WireStruct] | None = None
    body: type[RequestStruct] | None = None
    may_be_empty: bool = False
    """Whether a request without a body is the same as one with `{}`."""
    headers: type[WireStruct] | None = None
    streams: type[WireStruct] | None = None
    """The `data` of each event, if the answer is a stream of server-sent events.

    With `answers` the stream ends with one of them, or with an error, as the event `answer`.
    """
    rows: type[WireStruct] | None = None
    """The rows of a streamed answer, as CSV or as a JSON array, instead of an envelope."""

    @property
    def ends_with_answer(self) -> bool:
        """Return whether the last event of a stream is what a plain request would answer."""
        return self.streams is not None and bool(self.answers)

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the HTTP methods of the path; HEAD is GET without a body."""
        return ("GET", "HEAD") if self.method == "GET" else (self.method,)

    @property
    def needs_trade(self) -> bool:
        """Return whether a key with the scope `read` is refused."""
        return self.method != "GET"

    @property
    def codes(self) -> tuple[str, ...]:
        """Return every error code of this operation; an unexpected failure can happen in all."""
        shared = _EVERYWHERE + (_WITH_BODY if self.body else ())
        shared += ("FORBIDDEN",) if self.needs_trade else ()
        return tuple(dict.fromkeys(self.own_codes + shared))


def operation(
    route: str, codes: str, *, ends_with: type[Envelope[Any]] | None = None, **rest: Any
) -> Callable[[Handler], Operation]:
    """Make an operation of a handler: its name is the function's, its summary the docstring's.

    `route` is method and path. The handler's return type says what it answers; a stream that ends
    with an answer names that as `ends_with`. `rest` are the other members of Operation.
    """
    method, path = route.split()

    def made(handler: Handler) -> Operation:
        returned = handler.__annotations__["return"]
        kinds = (ends_with,) if ends_with else get_args(returned) or (returned,)
        return Operation(
            name=handler.__name__,
            method=method,
            path=path,
            summary=(handler.__doc__ or "").partition(".")[0],
            handler=handler,
            own_codes=tuple(codes.split()),
            answers=tuple(kind for kind in kinds if issubclass(kind, Envelope)),
            **rest,
        )

    return made


# The operator's options of the API.


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
