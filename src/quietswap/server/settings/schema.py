"""All settings: type, limits, default and description."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from quietswap.vendors import NEED_KEY, UNBINDABLE, VENDORS

# The base of all tables of the settings file.


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the settings file. Unknown names are refused."""


def says(text: str, **bounds: Any) -> Meta:
    """Return the description of a setting and the limits of its value."""
    return Meta(description=text, **bounds)


# Settings of the event stream.


class EventsConfig(Section, frozen=True):
    """The stream of order events."""

    streams_per_client: Annotated[
        int, says("Open streams of one client in one process.", ge=1, le=1_000_000_000)
    ] = 20
    max_streams: Annotated[
        int, says("Open streams of one process, of all clients.", ge=1, le=1_000_000_000)
    ] = 2000


# Settings of the operator view.


class OperatorConfig(Section, frozen=True):
    """The operator view at /operator, for people with a secret of `quietswap operators create`."""

    enabled: Annotated[
        bool | None,
        says("Whether it is served. Unset: as web.enabled, where this machine alone reaches it."),
    ] = None
    session_s: Annotated[
        int, says("Seconds until an operator must log in again.", ge=60, le=31_536_000)
    ] = 43_200
    logins_per_minute: Annotated[
        int,
        says(
            "Wrong secrets of one client address in a minute; a right one is never refused.",
            ge=1,
            le=1_000_000_000,
        ),
    ] = 20
    figures_kept_days: Annotated[
        int, says("Days until the figures of sources, relays and node are deleted.", ge=1, le=366)
    ] = 14


# Settings of token lists.


class TokensConfig(Section, frozen=True):
    """The tokens that `GET /api/v1/tokens` lists."""

    lists: Annotated[
        tuple[str, ...],
        says(
            "Token-list files (https://tokenlists.org); of a token in several, the first counts. "
            "Empty: WETH, USDC, USDT, DAI and WBTC."
        ),
    ] = ()


# Settings of the RPC URLs of wallets.


class WalletRpcConfig(Section, frozen=True):
    """The JSON-RPC endpoint of wallets, see `quietswap rpc create`."""

    public_url: Annotated[
        str | None,
        says(
            "Address of this service for wallets, as https://host. Unset: from server.host, "
            "server.port and TLS."
        ),
    ] = None
    rate_limit: Annotated[
        int,
        says("Calls per RPC URL in one window of server.rate_window_s.", ge=1, le=1_000_000_000),
    ] = 3000
    timeout_s: Annotated[
        float, says("Seconds the reads of one request may take.", gt=0, le=300)
    ] = 10.0
    max_result_bytes: Annotated[
        int, says("Bytes the node may answer to the reads of one request.", ge=1024, le=1 << 28)
    ] = 16 << 20
    logs_blocks: Annotated[int, says("Blocks one eth_getLogs may read.", ge=1, le=1_000_000)] = 1000
    max_fee_gwei: Annotated[
        int, says("Highest maxFeePerGas that a wallet may sign, in gwei.", ge=1, le=1_000_000_000)
    ] = 1000


# Settings of the web page for wallets.


_MANY = 1_000_000_000


class WebConfig(Section, frozen=True):
    """The page for wallets at `/`, and the anonymous sessions of its visitors."""

    enabled: Annotated[
        bool | None,
        says(
            "Whether the page is served: anyone who reaches it can use this service. "
            "Unset: only if server.host is loopback and no setting tells of a proxy "
            "(server.behind_tls_proxy, server.trusted_proxies, a name in server.allowed_hosts). "
            "Beyond loopback, server.allowed_hosts is required."
        ),
    ] = None
    rate_limit: Annotated[
        int,
        says(
            "Requests of all visitors with one client address in one window of "
            "server.rate_window_s.",
            ge=1,
            le=_MANY,
        ),
    ] = 600
    sessions_per_address: Annotated[
        int,
        says(
            "Sessions that one client address may have, and that it may begin in a minute. A new "
            "one replaces the one that was used least lately and has no order.",
            ge=1,
            le=_MANY,
        ),
    ] = 50
    max_sessions: Annotated[
        int, says("Sessions in the database, of all visitors.", ge=1, le=_MANY)
    ] = 100_000


# Settings of webhooks.


class WebhooksConfig(Section, frozen=True):
    """Webhooks of clients: requests of this service to URLs that its clients name."""

    encryption_key: Annotated[
        str | None,
        says(
            "Base64 of 32 random bytes that encrypts the secrets of webhooks in the database "
            "(openssl rand -base64 32). Unset: no webhook can be created."
        ),
    ] = None
    old_encryption_keys: Annotated[
        tuple[str, ...],
        says(
            "Former encryption keys. The tracker encrypts with the present key at its start what "
            "these encrypted."
        ),
    ] = ()
    allow_private: Annotated[
        bool,
        says(
            "Allow addresses of private networks, and http to loopback; never link-local ones and "
            "those of a cloud's metadata. For tests and own networks: clients can then send "
            "requests to your own hosts."
        ),
    ] = False
    allowed_hosts: Annotated[
        tuple[str, ...],
        says(
            "Hosts that webhooks may have, such as hooks.example.com or *.example.com. Empty: any."
        ),
    ] = ()
    ca_file: Annotated[
        str | None, says("PEM file of certificate authorities to trust besides the system's.")
    ] = None
    timeout_s: Annotated[
        float, says("Seconds one delivery may take, from the DNS lookup on.", gt=0, le=300)
    ] = 15.0
    max_per_client: Annotated[int, says("Webhooks of one client.", ge=1, le=1000)] = 10
    parallel: Annotated[int, says("Deliveries at the same time.", ge=1, le=1000)] = 32
    deliveries_kept_days: Annotated[
        int, says("Days until the record of a delivery is deleted.", ge=1, le=36_500)
    ] = 30


_MINUTES = 300
_HOUR, _DAY, _YEAR = 3600, 86_400, 31_536_000
"""Upper limits that detect typing errors: seconds, and counts (`_MANY`)."""

Rate = Annotated[float, Meta(gt=0, le=_MANY)]
Count = Annotated[int, Meta(ge=1, le=_MANY)]


class ServerConfig(Section, frozen=True):
    """Address, TLS and request limits of the API."""

    host: Annotated[str, says("Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, says("Port to listen on.", ge=0, le=65535)] = 8080
    workers: Annotated[int, says("API processes.", ge=1, le=64)] = 1
    tls_cert: Annotated[str | None, says("PEM certificate chain; turns TLS 1.3 on.")] = None
    tls_key: Annotated[str | None, says("PEM private key of the certificate, not encrypted.")] = (
        None
    )
    behind_tls_proxy: Annotated[
        bool, says("A proxy terminates TLS, so plain HTTP beyond loopback is allowed.")
    ] = False
    trusted_proxies: Annotated[
        tuple[str, ...],
        says("Addresses and networks (10.0.0.0/8) whose X-Forwarded-For is trusted."),
    ] = ()
    allowed_hosts: Annotated[
        tuple[str, ...],
        says(
            "Host names that requests may have in Host, with any port; IP addresses are always "
            "allowed. Empty: on loopback only localhost, 127.0.0.1 and [::1], elsewhere any."
        ),
    ] = ()
    connections_per_address: Annotated[
        int,
        says(
            "Connections of one client address in one process. Above it those without a request "
            "are closed; trusted_proxies may have any number.",
            ge=1,
            le=_MANY,
        ),
    ] = 256
    max_body_bytes: Annotated[int, says("Largest request body in bytes.", ge=1024, le=1 << 30)] = (
        1 << 20
    )
    max_bodies_bytes: Annotated[
        int, says("Bytes of request bodies held at the same time.", ge=1024, le=1 << 40)
    ] = 64 << 20
    max_key_bodies_bytes: Annotated[
        int, says("Bytes of request bodies held for one client.", ge=1024, le=1 << 40)
    ] = 8 << 20
    rate_limit: Annotated[int, says("Requests per key in one window.", ge=1, le=_MANY)] = 300
    rate_window_s: Annotated[int, says("Length of the window in seconds.", ge=1, le=_DAY)] = 60
    failed_auth_limit: Annotated[
        int, says("Wrong keys per client address in one window.", ge=1, le=_MANY)
    ] = 1000
    cors_origins: Annotated[
        tuple[str, ...],
        says(
            "Origins of web pages that may call the API from a browser, as https://host. Their "
            "users can read the API key. Empty: none."
        ),
    ] = ()


class StorageConfig(Section, frozen=True):
    """The database, and the store of rate limit windows for several processes."""

    url: Annotated[str, says("sqlite:///file or postgresql://user:password@host/name.")] = (
        "sqlite:///quietswap.sqlite3"
    )
    redis_url: Annotated[
        str | None, says("Redis or Valkey URL for rate limits that processes share.")
    ] = None
    orders_kept_days: Annotated[
        Annotated[int, Meta(ge=1, le=36_500)] | None,
        says(
            "Days after its creation when a final order is deleted, with its events. "
            "Unset: all are kept."
        ),
    ] = None
    events_kept_days: Annotated[
        int,
        says("Days until an event of the stream is deleted.", ge=1, le=36_500),
    ] = 30


class NodeConfig(Section, frozen=True):
    """Your own Ethereum nodes: the only source of balances, nonces, blocks and receipts."""

    urls: Annotated[
        tuple[str, ...],
        says("JSON-RPC URLs, best first; the next is used when one fails or lags."),
    ] = ()
    timeout_s: Annotated[
        float, says("Seconds one node may take for one call.", gt=0, le=_MINUTES)
    ] = 3.0
    max_lag_blocks: Annotated[
        int, says("A node this many blocks behind another is not used.", ge=1, le=_MANY)
    ] = 3
    batch_size: Annotated[
        int,
        says(
            "Most calls in one batch; a lower limit is also learned from a refusal.", ge=1, le=1000
        ),
    ] = 100


class SourceConfig(Section, frozen=True):
    """One source. Values that are not set have the default of its vendor."""

    url: Annotated[str | None, says("Base URL.")] = None
    api_key: Annotated[str | None, says("The vendor's API key.")] = None
    routers: Annotated[
        tuple[str, ...] | None, says("Router addresses that may be called and approved.")
    ] = None
    timeout_s: Annotated[float, says("Seconds one request may take.", gt=0, le=_MINUTES)] = 3.0
    accept_unbound: Annotated[
        bool,
        says(
            "Offer routes whose router is not proven to enforce their terms, marked, after all "
            f"others; {' and '.join(UNBINDABLE)} only."
        ),
    ] = False
    per_second: Annotated[Rate | None, says("Quotes a second within the vendor's limit.")] = None
    per_day: Annotated[Count | None, says("Quotes a day within the vendor's limit.")] = None


class QuotesConfig(Section, frozen=True):
    """The sources, the deadlines of a quote, and what it may contain."""

    sources: Annotated[
        tuple[str, ...],
        says(
            "Sources that receive requests. Empty: the first four available of "
            f"{', '.join(VENDORS)}; {' and '.join(NEED_KEY)} need a key, "
            f"{' and '.join(UNBINDABLE)} accept_unbound."
        ),
    ] = ()
    hub_tokens: Annotated[
        tuple[str, ...], says("Tokens that a path over the pools of `uniswap` may cross.")
    ] = (
        "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",  # WETH
        "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",  # USDC
        "0xdAC17F958D2ee523a2206206994597C13D831ec7",  # USDT
        "0x6B175474E89094C44Da98b954EedeAC495271d0F",  # DAI
        "0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599",  # WBTC
    )
    client_name: Annotated[str, says("Client name sent to vendors.")] = "quietswap"
    soft_deadline_s: Annotated[
        float, says("Seconds after which one usable route is enough.", gt=0, le=_MINUTES)
    ] = 0.6
    hard_deadline_s: Annotated[
        float, says("Seconds after which a quote stops waiting for sources.", gt=0, le=_MINUTES)
    ] = 3.0
    require_verification: Annotated[
        bool,
        says(
            "Offer only routes that were simulated. With false, a quote without any simulation "
            "offers them, marked unverified."
        ),
    ] = True
    validity_s: Annotated[int, says("Seconds a swap quote is valid.", ge=1, le=_DAY)] = 30
    wrap_validity_s: Annotated[int, says("Seconds a wrap quote is valid.", ge=1, le=_DAY)] = 300
    token_allow_list: Annotated[
        str | None, says("Token-list file; only these tokens may be swapped.")
    ] = None
    token_deny_list: Annotated[
        str | None, says("Token-list file; these tokens may not be swapped.")
    ] = None
    attack_probability: Annotated[
        float, says("Factor of estimatedProtectionUsd; 1 makes it an upper bound.", ge=0, le=1)
    ] = 1.0


class PricesConfig(Section, frozen=True):
    """Off-chain price sources. ETH/USD comes from Chainlink on chain."""

    defillama_url: Annotated[str, says("Base URL of DefiLlama's price API.")] = (
        "https://coins.llama.fi"
    )
    coingecko_url: Annotated[str, says("Base URL of CoinGecko's API.")] = (
        "https://api.coingecko.com"
    )
    coingecko_key: Annotated[str | None, says("CoinGecko API key.")] = None
    cache_s: Annotated[float, says("Seconds a price is cached.", gt=0, le=_DAY)] = 20.0


class RelayConfig(Section, frozen=True):
    """A private relay that accepts a priority fee of zero."""

    kind: Annotated[str, says("mev_blocker, or private_rpc for any private JSON-RPC relay.")] = (
        "mev_blocker"
    )
    name: Annotated[str, says("Display name in quotes and orders.")] = "MEV Blocker"
    url: Annotated[
        str,
        says(
            "Base URL. Quotes show it to clients: with mev_blocker without `user:password@`, with "
            "private_rpc only scheme, host and port."
        ),
    ] = "https://rpc.mevblocker.io"
    tracking_url: Annotated[
        str | None, says("Public base URL of a transaction's status; its hash is appended.")
    ] = None
    timeout_s: Annotated[float, says("Seconds one submission may take.", gt=0, le=_MINUTES)] = 5.0


class RelaysConfig(Section, frozen=True):
    """The relay of tier 2, the optional relay of tier 4, and the endpoints that quotes name."""

    first: Annotated[RelayConfig, says("The relay of tier 2.")] = RelayConfig()
    backup: Annotated[
        RelayConfig | None,
        says("The relay of tier 4, in quotes for 30 s after three failures of the first in a row."),
    ] = None
    backup_after_blocks: Annotated[
        int,
        says("Blocks without inclusion until the backup gets it, too; 0: never.", ge=0, le=_MANY),
    ] = 0
    referrer: Annotated[str, says("Client name sent to the relay.")] = "quietswap"
    swap_endpoint: Annotated[str, says("fast, noreverts or fullprivacy.")] = "noreverts"
    swap_share: Annotated[str, says("shareAll, shareSafe or none.")] = "shareSafe"
    wrap_endpoint: Annotated[str, says("fast, noreverts or fullprivacy.")] = "fullprivacy"
    wrap_share: Annotated[str, says("shareAll, shareSafe or none.")] = "none"


class TrackingConfig(Section, frozen=True):
    """Tracking of orders."""

    enabled: Annotated[
        bool, says("Whether this process may track orders; false leaves it to other processes.")
    ] = True
    poll_s: Annotated[float, says("Seconds between reads of the chain's head.", gt=0, le=_HOUR)] = (
        3.0
    )
    confirmations: Annotated[
        int, says("Blocks from the inclusion until an order is confirmed.", ge=1, le=_MANY)
    ] = 2
    resend_every_blocks: Annotated[
        int,
        says("Blocks between resends of a transaction that is not included.", ge=1, le=_MANY),
    ] = 5
    backstop_every_blocks: Annotated[
        int,
        says("Blocks between reads of every live order's receipt and nonce.", ge=1, le=_MANY),
    ] = 8
    order_expiry_s: Annotated[int, says("Seconds until an order expires.", ge=1, le=_YEAR)] = 1800
    watch_s: Annotated[
        int,
        says(
            "Longest time in seconds to watch an expired or refused order for a late inclusion. "
            "The watch ends earlier if its nonce is used.",
            ge=1,
            le=_YEAR,
        ),
    ] = 604_800
    explorer_url: Annotated[str, says("Base URL of the block explorer.")] = "https://etherscan.io"


class ObserveConfig(Section, frozen=True):
    """Logs, traces and the audit file."""

    otlp_endpoint: Annotated[
        str | None,
        says("OTLP/HTTP URL for traces, such as http://127.0.0.1:4318/v1/traces."),
    ] = None
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        says("Lowest level that is logged. Lines of requests have the level info."),
    ] = "info"
    log_format: Annotated[
        Literal["json", "console"], says("One JSON object per line, or text.")
    ] = "json"
    access_log: Annotated[bool, says("Whether each request is logged.")] = True
    log_client_address: Annotated[
        bool,
        says("Whether a request's line contains the client's address; IPv6 as its /64."),
    ] = True
    audit_file: Annotated[
        str | None,
        says("File that records each operator action: keys, migrations, settings."),
    ] = None


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
