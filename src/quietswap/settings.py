"""Every setting of the service: one frozen record, read from one TOML file and the environment.

An unknown name or a bad value refuses to start and says which. A setting `node.urls` is overridden
by the environment variable `QUIETSWAP_NODE__URLS` (section and name joined by two underscores,
upper case; lists separated by commas).
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

PREFIX = "QUIETSWAP_"
_CLIENT_ENVIRONMENT = frozenset(
    f"{PREFIX}{name}"
    for name in (
        "URL", "API_KEY", "RPC_URL", "PRIVATE_KEY", "KEYSTORE", "KEYSTORE_PASSWORD",
        "SETTINGS", "ANVIL", "FIXTURES", "PROJECT_ROOT",
    )
)  # fmt: skip

Positive = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=1)]
Port = Annotated[int, Meta(ge=0, le=65535)]


class BadSettings(Exception):
    """The settings cannot be used; each line of the message names a setting and the reason."""


class _Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the file: unknown names are refused."""


class Server(_Section, frozen=True):
    """Where the API listens, and what it takes from a client."""

    host: str = "127.0.0.1"
    port: Port = 8080
    workers: Count = 1
    tls_cert: str | None = None
    tls_key: str | None = None
    behind_tls_proxy: bool = False
    max_body_bytes: Count = 256 * 1024
    rate_limit: Count = 300
    rate_window_s: Count = 60
    failed_auth_limit: Count = 30
    cors_origins: tuple[str, ...] = ()


class Storage(_Section, frozen=True):
    """Where orders live, and where rate windows are shared when there are several processes."""

    url: str = "sqlite:///quietswap.sqlite3"
    redis_url: str | None = None


class Node(_Section, frozen=True):
    """The operator's Ethereum node(s), asked in this order."""

    urls: tuple[str, ...] = ()
    timeout_s: Positive = 3.0
    max_lag_blocks: Count = 3


class Source(_Section, frozen=True):
    """One aggregator; empty values mean the vendor's own defaults."""

    url: str | None = None
    api_key: str | None = None
    routers: tuple[str, ...] | None = None
    timeout_s: Positive = 3.0
    per_second: Positive | None = None
    per_day: Count | None = None


class Quotes(_Section, frozen=True):
    """Which aggregators are asked, how long a quote waits, and what it may contain.

    With `sources` empty the first four available are asked, in the order kyberswap, velora,
    zeroex and oneinch (each only with a key), sushi, openocean.
    """

    sources: tuple[str, ...] = ()
    client_name: str = "quietswap"
    soft_deadline_s: Positive = 0.6
    hard_deadline_s: Positive = 3.0
    require_verification: bool = False
    validity_s: Count = 30
    wrap_validity_s: Count = 300
    token_allow_list: str | None = None
    token_deny_list: str | None = None
    attack_probability: Annotated[float, Meta(ge=0, le=1)] = 1.0


class Prices(_Section, frozen=True):
    """Off-chain price sources; ETH/USD comes from Chainlink on chain."""

    defillama_url: str = "https://coins.llama.fi"
    coingecko_url: str = "https://api.coingecko.com"
    coingecko_key: str | None = None
    cache_s: Positive = 20.0


class Relay(_Section, frozen=True):
    """A private relay: `kind` is mev_blocker or private_rpc."""

    kind: str = "mev_blocker"
    name: str = "MEV Blocker"
    url: str = "https://rpc.mevblocker.io"
    tracking_url: str | None = None
    timeout_s: Positive = 5.0


class Relays(_Section, frozen=True):
    """The relay of tier 2, the optional one of tier 4, and what is asked of them."""

    first: Relay = Relay()
    backup: Relay | None = None
    referrer: str = "quietswap"
    swap_endpoint: str = "noreverts"
    swap_share: str = "shareSafe"
    wrap_endpoint: str = "fullprivacy"
    wrap_share: str = "none"


class Tracking(_Section, frozen=True):
    """How orders are followed."""

    poll_s: Positive = 3.0
    confirmations: Count = 2
    resend_every_blocks: Count = 5
    backstop_every_blocks: Count = 8
    order_expiry_s: Count = 1800
    watch_s: Count = 86_400
    explorer_url: str = "https://etherscan.io"


class Settings(_Section, frozen=True):
    """The whole file. Every field has a default but `node.urls`, which `serve` insists on."""

    server: Server = Server()
    storage: Storage = Storage()
    node: Node = Node()
    quotes: Quotes = Quotes()
    source: dict[str, Source] = {}
    prices: Prices = Prices()
    relay: Relays = Relays()
    tracking: Tracking = Tracking()


def load(path: Path | None, environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings of a file (or the defaults) under the environment's overrides.

    Raises BadSettings with the setting's name and the reason.
    """
    tree: dict[str, Any] = {}
    if path is not None:
        try:
            tree = tomllib.loads(path.read_text("utf-8"))
        except OSError as error:
            raise BadSettings(f"{path}: {error.strerror or 'cannot be read'}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise BadSettings(f"{path}: not a TOML file: {error}") from error
    for name, value in sorted((environment or os.environ).items()):
        if name.startswith(PREFIX) and name not in _CLIENT_ENVIRONMENT:
            _override(tree, name, value)
    try:
        return msgspec.convert(tree, Settings)
    except msgspec.ValidationError as error:
        raise BadSettings(_explained(str(error))) from error


def _override(tree: dict[str, Any], name: str, text: str) -> None:
    path = name.removeprefix(PREFIX).lower().split("__")
    kind: Any = Settings
    for part in path:
        kind = _field_type(kind, part, name)
    if isinstance(kind, type) and issubclass(kind, _Section):
        raise BadSettings(f"{name}: names a whole section, not one setting")
    *sections, last = path
    for part in sections:
        tree = tree.setdefault(part, {})
        if not isinstance(tree, dict):
            raise BadSettings(f"{name}: {part} in the file is not a section")
    tree[last] = _parsed(text, kind, name)


def _field_type(kind: Any, part: str, name: str) -> Any:
    if kind == dict[str, Source]:
        return Source
    kind = next((k for k in getattr(kind, "__args__", ()) if _is_section(k)), kind)
    if not _is_section(kind):
        raise BadSettings(f"{name}: there is no such setting")
    for field in msgspec.structs.fields(kind):
        if field.name == part:
            return field.type
    raise BadSettings(f"{name}: there is no setting {part}")


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, _Section)


def _parsed(text: str, kind: Any, name: str) -> Any:
    if "tuple" in str(kind):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadSettings(f"{name}: {_explained(str(error))}") from error


def _explained(message: str) -> str:
    text, _, where = message.partition(" - at `$.")
    text = text.replace("Object contains unknown field", "there is no setting")
    return f"{where.rstrip('`')}: {text}" if where else text
