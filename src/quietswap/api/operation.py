"""One operation of the interface: a row of the table of operations."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from quietswap.api.json import AuthenticatedRequest, StreamedAnswer
from quietswap.api.parsing.headers import Network
from quietswap.api.use_cases import EventSubscription, UseCases
from quietswap.contract.base import Envelope, RequestStruct, WireStruct

Answer = Envelope[Any] | EventSubscription | StreamedAnswer
Handler = Callable[[UseCases, AuthenticatedRequest], Awaitable[Answer]]

_EVERYWHERE = ("UNAUTHORIZED", "RATE_LIMIT_EXCEEDED", "INTERNAL_SERVER_ERROR")
_WITH_BODY = ("PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "VALIDATION_ERROR")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the interface.

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
