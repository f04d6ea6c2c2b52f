"""Objects built from the settings: sources, router pins, budgets, relays and token lists."""

import ipaddress
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from quietswap.rules.quotes.issued_quote import GRACE_MS
from quietswap.rules.relays import BACKUP_TIER, FIRST_TIER, EndpointType, ShareMode
from quietswap.rules.tokens.token import TokenPolicy
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors import VENDORS
from quietswap.rules.vendors.vendor import RequestBudget
from quietswap.service.api.parsing.headers import Network
from quietswap.service.base.clock import Clock
from quietswap.service.base.http_client import HttpClient, can_be_asked
from quietswap.service.base.loopback import is_loopback
from quietswap.service.node.rpc import NodeReads
from quietswap.service.node.work import TokenCosts
from quietswap.service.quoting.sources import Source
from quietswap.service.quoting.swap import SwapQuotePolicy
from quietswap.service.quoting.wrap import WrapQuotePolicy
from quietswap.service.relays.mev_blocker import MevBlocker
from quietswap.service.relays.private_rpc import PrivateRpc
from quietswap.service.relays.relay import Relay
from quietswap.service.server.settings import REMOVED, BadSettings
from quietswap.service.settings import RelayConfig as RelaySettings
from quietswap.service.settings import RelaysConfig, Settings
from quietswap.service.settings import SourceConfig as SourceSettings
from quietswap.service.sources.adapter import VendorAdapter

Choice = TypeVar("Choice", EndpointType, ShareMode)
_PRIVATE_RPC = "private_rpc"
"""The kind of a relay whose URL is called as it stands."""
_ASKED = 4
"""How many sources receive requests without `quotes.sources`."""


def check_urls(settings: Settings) -> None:
    """Raise BadSettings with one line for each invalid URL. The line does not contain the URL."""
    whole_urls: dict[str, str | None] = {
        f"node.urls, number {n}": url for n, url in enumerate(settings.node.urls, 1)
    }
    whole_urls["observe.otlp_endpoint"] = settings.observe.otlp_endpoint
    bases = {f"source.{name}.url": one.url or None for name, one in settings.source.items()}
    bases |= {
        f"prices.{name}": getattr(settings.prices, name)
        for name in ("defillama_url", "coingecko_url")
    }
    for place, relay in (("first", settings.relay.first), ("backup", settings.relay.backup)):
        if relay is not None:
            urls = whole_urls if relay.kind == _PRIVATE_RPC else bases
            urls[f"relay.{place}.url"] = relay.url
            bases[f"relay.{place}.tracking_url"] = relay.tracking_url or None
    bases["tracking.explorer_url"] = settings.tracking.explorer_url
    faults = [
        f"{name}: it must be http://HOST or https://HOST, with a port up to 65535, "
        "without blanks and #; in a password write %40 for @, %2F for /, %3F for ?"
        for name, url in (whole_urls | bases).items()
        if url is not None and not can_be_asked(url)
    ]
    faults += [
        f"{name}: paths are appended to it, so it must not contain a ?"
        for name, url in bases.items()
        if url is not None and "?" in url
    ]
    if faults:
        raise BadSettings("\n".join(faults))


def check_names(settings: Settings) -> None:
    """Raise BadSettings for a name that cannot be a part of a header or a query."""
    names = {
        "quotes.client_name": settings.quotes.client_name,
        "relay.referrer": settings.relay.referrer,
    }
    faults = [
        f"{name}: it holds a line break or another character that cannot be printed"
        for name, text in names.items()
        if not text.isprintable()
    ]
    if faults:
        raise BadSettings("\n".join(faults))


def check_body_limits(settings: Settings) -> None:
    """Raise BadSettings if the memory limits cannot hold one body of the maximum size."""
    server = settings.server
    if not server.max_body_bytes <= server.max_key_bodies_bytes <= server.max_bodies_bytes:
        raise BadSettings(
            "server.max_key_bodies_bytes: it is below server.max_body_bytes, or above "
            "server.max_bodies_bytes"
        )


def trusted_networks(settings: Settings) -> tuple[Network, ...]:
    """Return the networks of the trusted proxies. Raises BadSettings."""
    try:
        return tuple(ipaddress.ip_network(text) for text in settings.server.trusted_proxies)
    except ValueError as error:
        raise BadSettings(
            f"server.trusted_proxies: {error}; it is an address, or a network such as 10.0.0.0/8"
        ) from error


def chosen_sources(settings: Settings) -> list[str]:
    """Return the names of the sources in use. Raises BadSettings for an unknown name."""
    if "openocean" in settings.quotes.sources:
        raise BadSettings(f"quotes.sources: {REMOVED}")
    unknown = {*settings.quotes.sources, *settings.source} - set(VENDORS)
    if unknown:
        raise BadSettings(
            f"quotes.sources: there is no source {', '.join(sorted(unknown))}; "
            f"there are {', '.join(VENDORS)}"
        )
    if len(set(settings.quotes.sources)) < len(settings.quotes.sources):
        raise BadSettings("quotes.sources: a source is named twice")
    if settings.quotes.sources:
        keyless = [name for name in settings.quotes.sources if not _is_ready(settings, name)]
        if keyless:
            raise BadSettings(f"source.{keyless[0]}.api_key: this source needs a key")
        return list(settings.quotes.sources)
    return [name for name in VENDORS if _is_ready(settings, name)][:_ASKED]


def _is_ready(settings: Settings, name: str) -> bool:
    return not VENDORS[name].needs_key or bool(_source(settings, name).api_key)


def _source(settings: Settings, name: str) -> SourceSettings:
    return settings.source.get(name, SourceSettings())


def routers(settings: Settings, name: str) -> list[Address]:
    """Return the router pins of a source. Raises BadSettings for an invalid address."""
    configured = _source(settings, name).routers
    if configured is None:
        return [VENDORS[name].router]
    try:
        return [addresses.parse(text) for text in configured]
    except addresses.BadAddress as error:
        raise BadSettings(f"source.{name}.routers: {error}") from error


def token_policy(settings: Settings) -> TokenPolicy:
    """Return the operator's allow and deny lists. Raises BadSettings."""
    allow, deny = settings.quotes.token_allow_list, settings.quotes.token_deny_list
    return TokenPolicy(
        allowed=token_list(allow, "quotes.token_allow_list") if allow else None,
        denied=token_list(deny, "quotes.token_deny_list") if deny else frozenset(),
    )


def token_list(path: str, name: str) -> frozenset[Address]:
    """Return mainnet addresses of a token list (https://uniswap.org/tokenlist.schema.json)."""
    try:
        tokens = json.loads(Path(path).read_text("utf-8"))["tokens"]
        return frozenset(
            addresses.from_any_case(token["address"]) for token in tokens if token["chainId"] == 1
        )
    except OSError as error:
        fault = error.strerror or "it cannot be read"
    except KeyError as error:
        fault = f"the member {error.args[0]} is missing"
    except TypeError:
        fault = "it must be an object with an array of objects, tokens"
    except ValueError as error:
        fault = str(error)
    raise BadSettings(f"{name}: {path} is not a readable token list: {fault}")


def _adapter_class(name: str) -> Callable[..., VendorAdapter]:
    module = import_module(f"quietswap.service.sources.{name}")
    adapter: Callable[..., VendorAdapter] = module.Adapter
    return adapter


def make_adapter(settings: Settings, name: str, http: HttpClient) -> VendorAdapter:
    """Return the adapter of a vendor under its settings. Raises BadSettings."""
    chosen = _source(settings, name)
    adapter: VendorAdapter = _adapter_class(name)(
        http,
        base_url=source_url(settings, name),
        client_name=settings.quotes.client_name,
        timeout_s=chosen.timeout_s,
        api_key=chosen.api_key,
        takes_proprietary_amms=settings.quotes.proprietary_amms,
    )
    return adapter


def hub_tokens(settings: Settings) -> list[Address]:
    """Return the tokens that a path over pools may cross. Raises BadSettings."""
    try:
        return [addresses.parse(text) for text in settings.quotes.hub_tokens]
    except addresses.BadAddress as error:
        raise BadSettings(f"quotes.hub_tokens: {error}") from error


def source_url(settings: Settings, name: str) -> str:
    """Return the base URL of a source; the node's for one that reads it."""
    return _source(settings, name).url or VENDORS[name].url or settings.node.urls[0]


def make_source(  # noqa: PLR0917
    settings: Settings,
    name: str,
    http: HttpClient,
    node: NodeReads,
    clock: Clock,
    costs: TokenCosts,
) -> Source:
    """Return a source with its circuit breaker and its request budget. Raises BadSettings."""
    is_own = VENDORS[name].url is None
    if is_own:
        adapter: VendorAdapter = _adapter_class(name)(node, clock, hub_tokens(settings), costs)
    else:
        adapter = make_adapter(settings, name, http)
    return Source(adapter, request_budget(settings, name), clock, is_own=is_own)


def request_budget(settings: Settings, name: str) -> RequestBudget:
    """Return the request budget of a source: the settings', or the vendor's default."""
    chosen, usual = _source(settings, name), VENDORS[name].budget
    return RequestBudget(
        chosen.per_second or usual.per_second,
        chosen.per_day if chosen.per_day is not None else usual.per_day,
    )


def make_relays(settings: Settings, http: HttpClient, clock: Clock) -> Mapping[int, Relay]:
    """Return the relays by tier. Raises BadSettings."""
    relays = {FIRST_TIER: _relay(settings, settings.relay.first, "first", http, clock)}
    if settings.relay.backup is not None:
        relays[BACKUP_TIER] = _relay(settings, settings.relay.backup, "backup", http, clock)
    if settings.relay.backup_after_blocks:
        _check_hand_on(settings.relay, relays)
    return relays


def backup_endpoints(relays: Mapping[int, Relay]) -> frozenset[str]:
    """Return the endpoints for which the backup promises as much as the first relay."""
    backup = relays.get(BACKUP_TIER)
    if backup is None:
        return frozenset()
    first = relays[FIRST_TIER]
    shared_kinds = (
        k for k in EndpointType if backup.drops_reverts(k) or not first.drops_reverts(k)
    )
    return frozenset(kind.value for kind in shared_kinds)


def _check_hand_on(chosen: RelaysConfig, relays: Mapping[int, Relay]) -> None:
    """Refuse a backup that could get no order, or that the first relay's operator runs."""
    name = "relay.backup_after_blocks"
    if chosen.backup is None:
        raise BadSettings(f"{name}: it needs a second relay, relay.backup")
    if _operator(chosen.first.url) == _operator(chosen.backup.url):
        raise BadSettings(f"{name}: relay.first and relay.backup are of one operator, so the"
                          " backup would lose or keep what the first loses or keeps")  # fmt: skip
    if chosen.first.name == chosen.backup.name:
        raise BadSettings(f"{name}: relay.first.name and relay.backup.name are equal, so figures"
                          " could not tell the relays apart")  # fmt: skip
    if chosen.swap_endpoint not in backup_endpoints(relays):
        raise BadSettings(f"{name}: relay.backup does not drop what would revert, as"
                          f" relay.swap_endpoint {chosen.swap_endpoint} promises: it could get no"
                          " swap")  # fmt: skip


def _operator(url: str) -> str:
    """Return the registered domain of a URL, or host and port of an address."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    labels = host.split(".")
    if len(labels) < 2 or labels[-1].isdigit() or ":" in host:
        return parts.netloc.rpartition("@")[2]
    is_short = len(labels) > 2 and len(labels[-1]) == 2 and len(labels[-2]) <= 3  # as co.uk
    return ".".join(labels[-3 if is_short else -2 :])


def _relay(
    settings: Settings, chosen: RelaySettings, place: str, http: HttpClient, clock: Clock
) -> Relay:
    try:
        if chosen.kind == "mev_blocker":
            return MevBlocker(
                http,
                clock,
                referrer=settings.relay.referrer,
                name=chosen.name,
                base_url=chosen.url,
                tracking_base=chosen.tracking_url,
                timeout_s=chosen.timeout_s,
            )
        if chosen.kind == _PRIVATE_RPC:
            return PrivateRpc(
                http,
                clock,
                name=chosen.name,
                base_url=chosen.url,
                tracking_base=chosen.tracking_url or f"{settings.tracking.explorer_url}/tx",
                timeout_s=chosen.timeout_s,
                drops_reverts=chosen.drops_reverts,
            )
    except ValueError as error:
        raise BadSettings(f"relay.{place}.url: {error}") from error
    raise BadSettings(f"relay.{place}.kind: it must be one of mev_blocker and private_rpc")


def swap_terms(settings: Settings) -> SwapQuotePolicy:
    """Return the operator's options for swap quotes. Raises BadSettings."""
    relay, quotes = settings.relay, settings.quotes
    if quotes.soft_deadline_s > quotes.hard_deadline_s:
        raise BadSettings("quotes.soft_deadline_s: it is later than quotes.hard_deadline_s")
    return SwapQuotePolicy(
        endpoint_type=_member(EndpointType, relay.swap_endpoint, "relay.swap_endpoint"),
        share_mode=_member(ShareMode, relay.swap_share, "relay.swap_share"),
        validity_ms=quotes.validity_s * 1000,
        # as long as the latest order of the quote: waiting alone must not make it revert
        calldata_life_ms=(quotes.validity_s + settings.tracking.order_expiry_s) * 1000 + GRACE_MS,
        attack_probability=Decimal(str(quotes.attack_probability)),
    )


def wrap_terms(settings: Settings) -> WrapQuotePolicy:
    """Return the operator's options for wrap quotes. Raises BadSettings."""
    relay = settings.relay
    return WrapQuotePolicy(
        endpoint_type=_member(EndpointType, relay.wrap_endpoint, "relay.wrap_endpoint"),
        share_mode=_member(ShareMode, relay.wrap_share, "relay.wrap_share"),
        validity_ms=settings.quotes.wrap_validity_s * 1000,
    )


def _member(kind: type[Choice], text: str, name: str) -> Choice:
    try:
        return kind(text)
    except ValueError:
        *others, last = kind
        values = f"{', '.join(others)} and {last}"
        raise BadSettings(f"{name}: it must be one of {values}") from None


def chosen_routers(settings: Settings) -> list[Address]:
    """Return the routers that a quote can name. Raises BadSettings."""
    return [r for name in chosen_sources(settings) for r in routers(settings, name)]


def check_public_url(settings: Settings) -> None:
    """Raise BadSettings unless `wallet_rpc.public_url` is an origin that wallets accept."""
    url = settings.wallet_rpc.public_url
    if url is None:
        return
    parts = urlsplit(url) if can_be_asked(url) else None
    if parts is None or parts.path.strip("/") or parts.query or parts.username:
        raise BadSettings("wallet_rpc.public_url: it must be https://host, with or without a port")
    if parts.scheme != "https" and not is_loopback((parts.hostname or "").strip("[]")):
        raise BadSettings(
            "wallet_rpc.public_url: it must be https://, because the URLs of wallets are secrets; "
            "http:// is for localhost only"
        )
