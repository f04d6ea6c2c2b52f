"""The operator's options of the API."""

from dataclasses import dataclass, field

from quietswap.api.request_parsing.client_address import Network


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
