"""All settings: type, limits and default; below each its description for docs/configuration.md."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from quietswap.rules.time_units import DAY_S, HOUR_S
from quietswap.rules.tokens.token import DAI, USDC, USDT, WBTC, WETH

_MANY = 1_000_000_000
_HOUR, _DAY, _YEAR = HOUR_S, DAY_S, 365 * DAY_S
"""Upper limits that detect typing errors: counts, and seconds."""
Count = Annotated[int, Meta(ge=1, le=_MANY)]
Days = Annotated[int, Meta(ge=1, le=36_500)]
UnixTime = Annotated[int, Meta(ge=0, le=2**40)]
Seconds = Annotated[float, Meta(gt=0, le=300)]
Rate = Annotated[float, Meta(gt=0, le=_MANY)]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the settings file. Unknown names are refused."""


class EventsConfig(Section, frozen=True):
    """The stream of order events."""

    streams_per_client: Count = 20
    """Open streams of one client in one process."""
    max_streams: Count = 2000
    """Open streams of one process, of all clients."""


class OperatorConfig(Section, frozen=True):
    """The operator view at /operator, for people with a secret of `quietswap operators create`."""

    enabled: bool | None = None
    """Whether it is served. Unset: as web.enabled, where this machine alone reaches it."""
    session_s: Annotated[int, Meta(ge=60, le=_YEAR)] = 43_200
    """Seconds until an operator must log in again."""
    logins_per_minute: Count = 20
    """Wrong secrets of one client address in a minute; a right one is never refused."""
    figures_kept_days: Annotated[int, Meta(ge=1, le=366)] = 14
    """Days until the figures of sources, relays and node are deleted."""


class TokensConfig(Section, frozen=True):
    """The tokens that `GET /api/v1/tokens` lists."""

    lists: tuple[str, ...] = ()
    """Token-list files (https://tokenlists.org); of a token in several, the first counts.
    Empty: WETH, USDC, USDT, DAI and WBTC."""


class WalletRpcConfig(Section, frozen=True):
    """The JSON-RPC endpoint of wallets, see `quietswap rpc create`."""

    public_url: str | None = None
    """Address of this service for wallets, as https://host. Unset: from server.host,
    server.port and TLS."""
    rate_limit: Count = 3000
    """Calls per RPC URL in one window of server.rate_window_s."""
    timeout_s: Seconds = 10.0
    """Seconds the reads of one request may take."""
    max_result_bytes: Annotated[int, Meta(ge=1024, le=1 << 28)] = 16 << 20
    """Bytes the node may answer to the reads of one request."""
    logs_blocks: Annotated[int, Meta(ge=1, le=1_000_000)] = 1000
    """Blocks one eth_getLogs may read."""
    max_fee_gwei: Count = 1000
    """Highest maxFeePerGas that a wallet may sign, in gwei."""


class WebConfig(Section, frozen=True):
    """The page for wallets at `/`, and the anonymous sessions of its visitors."""

    enabled: bool | None = None
    """Whether the page is served: anyone who reaches it can use this service. Unset: only if
    server.host is loopback and no setting tells of a proxy (server.behind_tls_proxy,
    server.trusted_proxies, a name in server.allowed_hosts). Beyond loopback,
    server.allowed_hosts is required."""
    rate_limit: Count = 600
    """Requests of all visitors with one client address in one window of server.rate_window_s."""
    sessions_per_address: Count = 50
    """Sessions that one client address may have, and that it may begin in a minute. A new one
    replaces the one that was used least lately and has no order."""
    max_sessions: Count = 100_000
    """Sessions in the database, of all visitors."""


class WebhooksConfig(Section, frozen=True):
    """Webhooks of clients: requests of this service to URLs that its clients name."""

    encryption_key: str | None = None
    """Base64 of 32 random bytes that encrypts the secrets of webhooks in the database (openssl
    rand -base64 32). Unset: no webhook can be created."""
    old_encryption_keys: tuple[str, ...] = ()
    """Former encryption keys. The tracker encrypts with the present key at its start what these
    encrypted."""
    allow_private: bool = False
    """Allow addresses of private networks, and http to loopback; never link-local ones and
    those of a cloud's metadata. For tests and own networks: clients can then send requests to
    your own hosts."""
    allowed_hosts: tuple[str, ...] = ()
    """Hosts that webhooks may have, such as hooks.example.com or *.example.com. Empty: any."""
    ca_file: str | None = None
    """PEM file of certificate authorities to trust besides the system's."""
    timeout_s: Seconds = 15.0
    """Seconds one delivery may take, from the DNS lookup on."""
    max_per_client: Annotated[int, Meta(ge=1, le=1000)] = 10
    """Webhooks of one client."""
    parallel: Annotated[int, Meta(ge=1, le=1000)] = 32
    """Deliveries at the same time."""
    deliveries_kept_days: Days = 30
    """Days until the record of a delivery is deleted."""


class ServerConfig(Section, frozen=True):
    """Address, TLS and request limits of the API."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Annotated[int, Meta(ge=0, le=65535)] = 8080
    """Port to listen on."""
    workers: Annotated[int, Meta(ge=1, le=64)] = 1
    """API processes."""
    tls_cert: str | None = None
    """PEM certificate chain; turns TLS 1.3 on."""
    tls_key: str | None = None
    """PEM private key of the certificate, not encrypted."""
    behind_tls_proxy: bool = False
    """A proxy terminates TLS, so plain HTTP beyond loopback is allowed."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses and networks (10.0.0.0/8) whose X-Forwarded-For is trusted."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names that requests may have in Host, with any port; IP addresses are always
    allowed. Empty: on loopback only localhost, 127.0.0.1 and [::1], elsewhere any."""
    connections_per_address: Count = 256
    """Connections of one client address in one process. Above it those without a request are
    closed; trusted_proxies may have any number."""
    max_body_bytes: Annotated[int, Meta(ge=1024, le=1 << 30)] = 1 << 20
    """Largest request body in bytes."""
    max_bodies_bytes: Annotated[int, Meta(ge=1024, le=1 << 40)] = 64 << 20
    """Bytes of request bodies held at the same time."""
    max_key_bodies_bytes: Annotated[int, Meta(ge=1024, le=1 << 40)] = 8 << 20
    """Bytes of request bodies held for one client."""
    rate_limit: Count = 300
    """Requests per key in one window."""
    rate_window_s: Annotated[int, Meta(ge=1, le=_DAY)] = 60
    """Length of the window in seconds."""
    failed_auth_limit: Count = 1000
    """Wrong keys per client address in one window."""
    cors_origins: tuple[str, ...] = ()
    """Origins of web pages that may call the API from a browser, as https://host. Their users
    can read the API key. Empty: none."""


class StorageConfig(Section, frozen=True):
    """The database, and the store of rate limit windows for several processes."""

    url: str = "sqlite:///quietswap.sqlite3"
    """sqlite:///file or postgresql://user:password@host/name."""
    redis_url: str | None = None
    """Redis or Valkey URL for rate limits that processes share."""
    orders_kept_days: Days | None = None
    """Days after its creation when a final order is deleted, with its events. Unset: all are
    kept."""
    events_kept_days: Days = 30
    """Days until an event of the stream is deleted."""


class NodeConfig(Section, frozen=True):
    """Your own Ethereum nodes: the only source of balances, nonces, blocks and receipts."""

    urls: tuple[str, ...] = ()
    """JSON-RPC URLs, best first; the next is used when one fails or lags."""
    timeout_s: Seconds = 3.0
    """Seconds one node may take for one call."""
    max_lag_blocks: Count = 3
    """A node this many blocks behind another is not used."""
    batch_size: Annotated[int, Meta(ge=1, le=1000)] = 100
    """Most calls in one batch; a lower limit is also learned from a refusal."""
    fork_times: tuple[UnixTime, ...] = ()
    """Unix times of coming forks, in addition to what the nodes name: ten minutes before one no
    quote is issued. Set it once Amsterdam has a date: not every node names it."""


class SourceConfig(Section, frozen=True):
    """One source. Values that are not set have the default of its vendor."""

    url: str | None = None
    """Base URL."""
    api_key: str | None = None
    """The vendor's API key."""
    routers: tuple[str, ...] | None = None
    """Router addresses that may be called and approved."""
    timeout_s: Seconds = 3.0
    """Seconds one request may take."""
    per_second: Rate | None = None
    """Quotes a second within the vendor's limit."""
    per_day: Count | None = None
    """Quotes a day within the vendor's limit."""


class QuotesConfig(Section, frozen=True):
    """The sources, the deadlines of a quote, and what it may contain."""

    sources: tuple[str, ...] = ()
    """Sources that receive requests. Empty: the first four available of {vendors}; {need_key}
    need a key."""
    hub_tokens: tuple[str, ...] = (WETH, USDC, USDT, DAI, WBTC)
    """Tokens that a path over the pools of `uniswap` may cross."""
    client_name: str = "quietswap"
    """Client name sent to vendors."""
    proprietary_amms: bool = False
    """Take routes through proprietary AMMs (of KyberSwap), whose price exists only in the block
    being built. A node's simulation of such a route mostly reverts, and it is not offered then."""
    soft_deadline_s: Seconds = 0.6
    """Seconds after which one usable route is enough."""
    hard_deadline_s: Seconds = 3.0
    """Seconds after which a quote stops waiting for sources."""
    require_verification: bool = True
    """Offer only routes that were simulated. With false, a quote without any simulation offers
    them, marked unverified."""
    validity_s: Annotated[int, Meta(ge=1, le=_DAY)] = 30
    """Seconds a swap quote is valid."""
    wrap_validity_s: Annotated[int, Meta(ge=1, le=_DAY)] = 300
    """Seconds a wrap quote is valid."""
    token_allow_list: str | None = None
    """Token-list file; only these tokens may be swapped."""
    token_deny_list: str | None = None
    """Token-list file; these tokens may not be swapped."""
    attack_probability: Annotated[float, Meta(ge=0, le=1)] = 1.0
    """Factor of estimatedProtectionUsd; 1 makes it an upper bound."""


class PricesConfig(Section, frozen=True):
    """Off-chain price sources. ETH/USD comes from Chainlink on chain."""

    defillama_url: str = "https://coins.llama.fi"
    """Base URL of DefiLlama's price API."""
    coingecko_url: str = "https://api.coingecko.com"
    """Base URL of CoinGecko's API."""
    coingecko_key: str | None = None
    """CoinGecko API key."""
    cache_s: Annotated[float, Meta(gt=0, le=_DAY)] = 20.0
    """Seconds a price is cached."""


class RelayConfig(Section, frozen=True):
    """A private relay that accepts a priority fee of zero."""

    kind: str = "mev_blocker"
    """mev_blocker, or private_rpc for any private JSON-RPC relay."""
    name: str = "MEV Blocker"
    """Display name in quotes and orders."""
    url: str = "https://rpc.mevblocker.io"
    """Base URL. Quotes show it to clients: with mev_blocker without `user:password@`, with
    private_rpc only scheme, host and port."""
    tracking_url: str | None = None
    """Public base URL of a transaction's status; its hash is appended."""
    timeout_s: Seconds = 5.0
    """Seconds one submission may take."""
    drops_reverts: bool = False
    """With private_rpc: whether its operator promised you to drop what would revert. Without that
    promise a backup gets no order that was quoted as protected against reverts."""


class RelaysConfig(Section, frozen=True):
    """The relay of tier 2, the optional relay of tier 4, and the endpoints that quotes name."""

    first: RelayConfig = RelayConfig()
    """The relay of tier 2."""
    backup: RelayConfig | None = None
    """The relay of tier 4, in quotes while the first does not answer, and for 30 s after three
    failures of it in a row."""
    backup_after_blocks: Annotated[int, Meta(ge=0, le=_MANY)] = 0
    """Blocks without inclusion until the backup gets it, too; 0: never."""
    referrer: str = "quietswap"
    """Client name sent to the relay."""
    swap_endpoint: str = "noreverts"
    """fast, noreverts or fullprivacy."""
    swap_share: str = "shareSafe"
    """shareAll, shareSafe or none."""
    wrap_endpoint: str = "fullprivacy"
    """fast, noreverts or fullprivacy."""
    wrap_share: str = "none"
    """shareAll, shareSafe or none."""


class TrackingConfig(Section, frozen=True):
    """Tracking of orders."""

    enabled: bool = True
    """Whether this process may track orders; false leaves it to other processes."""
    poll_s: Annotated[float, Meta(gt=0, le=_HOUR)] = 3.0
    """Seconds between reads of the chain's head."""
    confirmations: Count = 2
    """Blocks from the inclusion until an order is confirmed."""
    resend_every_blocks: Count = 5
    """Blocks between resends of a transaction that is not included."""
    backstop_every_blocks: Count = 8
    """Blocks between reads of every live order's receipt and nonce."""
    order_expiry_s: Annotated[int, Meta(ge=1, le=_YEAR)] = 1800
    """Seconds until an order expires."""
    watch_s: Annotated[int, Meta(ge=1, le=_YEAR)] = 604_800
    """Longest time in seconds to watch an expired or refused order for a late inclusion. The
    watch ends earlier if its nonce is used."""
    explorer_url: str = "https://etherscan.io"
    """Base URL of the block explorer."""


class ObserveConfig(Section, frozen=True):
    """Logs, traces and the audit file."""

    otlp_endpoint: str | None = None
    """OTLP/HTTP URL for traces, such as http://127.0.0.1:4318/v1/traces."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level that is logged. Lines of requests have the level info."""
    log_format: Literal["json", "console"] = "json"
    """One JSON object per line, or text."""
    access_log: bool = True
    """Whether each request is logged."""
    log_client_address: bool = True
    """Whether a request's line contains the client's address; IPv6 as its /64."""
    audit_file: str | None = None
    """File that records each operator action: keys, migrations, settings."""


class Settings(Section, frozen=True):
    """The whole file. All settings have a default, except `node.urls`, which `serve` requires."""

    server: ServerConfig = ServerConfig()
    storage: StorageConfig = StorageConfig()
    node: NodeConfig = NodeConfig()
    quotes: QuotesConfig = QuotesConfig()
    wallet_rpc: WalletRpcConfig = WalletRpcConfig()
    source: dict[str, SourceConfig] = {}
    tokens: TokensConfig = TokensConfig()
    prices: PricesConfig = PricesConfig()
    relay: RelaysConfig = RelaysConfig()
    tracking: TrackingConfig = TrackingConfig()
    webhooks: WebhooksConfig = WebhooksConfig()
    events: EventsConfig = EventsConfig()
    web: WebConfig = WebConfig()
    operator: OperatorConfig = OperatorConfig()
    observe: ObserveConfig = ObserveConfig()


KEYS = frozenset({"api_key", "coingecko_key", "encryption_key", "old_encryption_keys"})
SECRETS = KEYS | {"url", "urls", "redis_url", "otlp_endpoint"}
"""Settings that may contain a key. They are never printed."""
