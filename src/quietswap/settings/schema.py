"""One frozen record with every setting, its bounds, its default and what it means."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta


def _says(text: str, **bounds: Any) -> Meta:
    return Meta(description=text, **bounds)


_MINUTES = 300
_HOUR, _DAY, _YEAR = 3600, 86_400, 31_536_000
_MANY = 1_000_000_000
"""Bounds beyond which a number is a slip: seconds, and how many of anything."""

Rate = Annotated[float, Meta(gt=0, le=_MANY)]
Count = Annotated[int, Meta(ge=1, le=_MANY)]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the file: unknown names are refused."""


class Server(Section, frozen=True):
    """Where the API listens, and what it takes from a client."""

    host: Annotated[str, _says("Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, _says("Port to listen on.", ge=0, le=65535)] = 8080
    workers: Annotated[int, _says("API processes.", ge=1, le=64)] = 1
    tls_cert: Annotated[str | None, _says("PEM certificate chain; turns TLS 1.3 on.")] = None
    tls_key: Annotated[str | None, _says("PEM private key (PKCS#8) of the certificate.")] = None
    behind_tls_proxy: Annotated[
        bool, _says("Your word that a proxy ends TLS, so plain HTTP beyond loopback is meant.")
    ] = False
    trusted_proxies: Annotated[
        tuple[str, ...],
        _says("Addresses and networks (10.0.0.0/8) whose X-Forwarded-For names the client."),
    ] = ()
    max_body_bytes: Annotated[int, _says("Largest request body in bytes.", ge=1024, le=1 << 30)] = (
        1 << 20
    )
    rate_limit: Annotated[int, _says("Requests per key in one window.", ge=1, le=_MANY)] = 300
    rate_window_s: Annotated[int, _says("Length of the window in seconds.", ge=1, le=_DAY)] = 60
    failed_auth_limit: Annotated[
        int, _says("Wrong keys per client address in one window.", ge=1, le=_MANY)
    ] = 1000
    cors_origins: Annotated[
        tuple[str, ...],
        _says(
            "Web pages that may call the API from a browser, as https://host; their users can read "
            "the API key. Empty: none."
        ),
    ] = ()


class Storage(Section, frozen=True):
    """Where orders live, and where rate windows are shared when there are several processes."""

    url: Annotated[str, _says("sqlite:///file or postgresql://user:password@host/name.")] = (
        "sqlite:///quietswap.sqlite3"
    )
    redis_url: Annotated[
        str | None, _says("Redis or Valkey for rate windows shared by processes.")
    ] = None


class Node(Section, frozen=True):
    """Your own Ethereum node(s): the only source of balances, nonces, blocks and receipts."""

    urls: Annotated[
        tuple[str, ...],
        _says("JSON-RPC URLs, best first; the next is used when one fails or lags."),
    ] = ()
    timeout_s: Annotated[
        float, _says("Seconds one node may take for one call.", gt=0, le=_MINUTES)
    ] = 3.0
    max_lag_blocks: Annotated[
        int, _says("A node this many blocks behind another is not used.", ge=1, le=_MANY)
    ] = 3


class Source(Section, frozen=True):
    """One aggregator; what is not set is the vendor's own."""

    url: Annotated[str | None, _says("Base URL.")] = None
    api_key: Annotated[str | None, _says("The vendor's API key.")] = None
    routers: Annotated[
        tuple[str, ...] | None, _says("Router addresses that may be called and approved.")
    ] = None
    timeout_s: Annotated[float, _says("Seconds one request may take.", gt=0, le=_MINUTES)] = 3.0
    per_second: Annotated[Rate | None, _says("Quotes a second within the vendor's limit.")] = None
    per_day: Annotated[Count | None, _says("Quotes a day within the vendor's limit.")] = None


class Quotes(Section, frozen=True):
    """Which aggregators are asked, how long a quote waits, and what it may contain."""

    sources: Annotated[
        tuple[str, ...],
        _says(
            "Aggregators to ask. Empty: the first four available of kyberswap, velora, zeroex, "
            "oneinch (these two with a key), sushi, openocean."
        ),
    ] = ()
    client_name: Annotated[str, _says("How the service names itself to vendors.")] = "quietswap"
    soft_deadline_s: Annotated[
        float, _says("Seconds after which one usable route is enough.", gt=0, le=_MINUTES)
    ] = 0.6
    hard_deadline_s: Annotated[
        float, _says("Seconds after which waiting ends.", gt=0, le=_MINUTES)
    ] = 3.0
    require_verification: Annotated[
        bool, _says("Refuse routes no simulation could check instead of marking them.")
    ] = False
    validity_s: Annotated[int, _says("Seconds a swap quote is valid.", ge=1, le=_DAY)] = 30
    wrap_validity_s: Annotated[int, _says("Seconds a wrap quote is valid.", ge=1, le=_DAY)] = 300
    token_allow_list: Annotated[
        str | None, _says("Token-list file; only these tokens may be swapped.")
    ] = None
    token_deny_list: Annotated[
        str | None, _says("Token-list file; these tokens may not be swapped.")
    ] = None
    attack_probability: Annotated[
        float, _says("Scales estimatedProtectionUsd; 1 means `up to`.", ge=0, le=1)
    ] = 1.0


class Prices(Section, frozen=True):
    """Off-chain price sources; ETH/USD comes from Chainlink on chain."""

    defillama_url: Annotated[str, _says("Base URL of DefiLlama's price API.")] = (
        "https://coins.llama.fi"
    )
    coingecko_url: Annotated[str, _says("Base URL of CoinGecko's API.")] = (
        "https://api.coingecko.com"
    )
    coingecko_key: Annotated[str | None, _says("CoinGecko API key.")] = None
    cache_s: Annotated[float, _says("Seconds a price is remembered.", gt=0, le=_DAY)] = 20.0


class Relay(Section, frozen=True):
    """A private relay that accepts a priority fee of zero."""

    kind: Annotated[str, _says("mev_blocker, or private_rpc for any private JSON-RPC relay.")] = (
        "mev_blocker"
    )
    name: Annotated[str, _says("Display name in quotes and orders.")] = "MEV Blocker"
    url: Annotated[
        str,
        _says(
            "Base URL. Quotes show it to clients: with mev_blocker all of it but `user:password@`,"
            " with private_rpc only scheme, host and port."
        ),
    ] = "https://rpc.mevblocker.io"
    tracking_url: Annotated[
        str | None, _says("Public base URL of a transaction's status; its hash is appended.")
    ] = None
    timeout_s: Annotated[float, _says("Seconds one submission may take.", gt=0, le=_MINUTES)] = 5.0


class Relays(Section, frozen=True):
    """The relay of tier 2, the optional one of tier 4, and what is asked of them."""

    first: Annotated[Relay, _says("The relay of tier 2.")] = Relay()
    backup: Annotated[
        Relay | None, _says("The relay of tier 4, used in quotes while the first is down.")
    ] = None
    referrer: Annotated[str, _says("How the service names itself to the relay.")] = "quietswap"
    swap_endpoint: Annotated[str, _says("fast, noreverts or fullprivacy.")] = "noreverts"
    swap_share: Annotated[str, _says("shareAll, shareSafe or none.")] = "shareSafe"
    wrap_endpoint: Annotated[str, _says("fast, noreverts or fullprivacy.")] = "fullprivacy"
    wrap_share: Annotated[str, _says("shareAll, shareSafe or none.")] = "none"


class Tracking(Section, frozen=True):
    """How orders are followed."""

    enabled: Annotated[
        bool, _says("Whether this process may follow orders; false leaves that to others.")
    ] = True
    poll_s: Annotated[
        float, _says("Seconds between looks at the chain's head.", gt=0, le=_HOUR)
    ] = 3.0
    confirmations: Annotated[int, _says("Blocks that make an inclusion count.", ge=1, le=_MANY)] = 2
    resend_every_blocks: Annotated[
        int,
        _says("Blocks between sending the same bytes again while not included.", ge=1, le=_MANY),
    ] = 5
    backstop_every_blocks: Annotated[
        int, _says("Blocks between looks at every live order's receipt and nonce.", ge=1, le=_MANY)
    ] = 8
    order_expiry_s: Annotated[int, _says("Seconds until an order expires.", ge=1, le=_YEAR)] = 1800
    watch_s: Annotated[
        int, _says("Seconds a late inclusion of an expired order is looked for.", ge=1, le=_YEAR)
    ] = 86_400
    explorer_url: Annotated[str, _says("Base URL of the block explorer.")] = "https://etherscan.io"


class Observe(Section, frozen=True):
    """What the service says of itself beyond /metrics and its log."""

    otlp_endpoint: Annotated[
        str | None,
        _says("OTLP/HTTP URL traces are sent to, such as http://127.0.0.1:4318/v1/traces."),
    ] = None


class Settings(Section, frozen=True):
    """The whole file. Every setting has a default but `node.urls`, which `serve` insists on."""

    server: Server = Server()
    storage: Storage = Storage()
    node: Node = Node()
    quotes: Quotes = Quotes()
    source: dict[str, Source] = {}
    prices: Prices = Prices()
    relay: Relays = Relays()
    tracking: Tracking = Tracking()
    observe: Observe = Observe()


SECRETS = frozenset({"api_key", "coingecko_key", "url", "urls", "redis_url", "otlp_endpoint"})
"""Settings that may carry a key: never printed."""
