"""What the settings choose: aggregators, their pins and budgets, relays, token lists."""

import ipaddress
import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

from quietswap.adapters.aggregators import kyberswap, oneinch, openocean, sushi, velora, zeroex
from quietswap.adapters.http import HttpClient, can_be_asked
from quietswap.adapters.relays.mev_blocker import MevBlocker
from quietswap.adapters.relays.private_rpc import PrivateRpc
from quietswap.api.intake import Network
from quietswap.domain import address as addresses
from quietswap.domain.address import Address
from quietswap.domain.protection import BACKUP_TIER, FIRST_TIER, EndpointType, ShareMode
from quietswap.domain.token import TokenPolicy
from quietswap.ports.outside import Aggregator, Clock, Relay
from quietswap.services.ask_sources import Budget, Source
from quietswap.services.quote_swap import SwapTerms
from quietswap.services.quote_wrap import WrapTerms
from quietswap.settings.load import BadSettings
from quietswap.settings.schema import Relay as RelaySettings
from quietswap.settings.schema import Settings
from quietswap.settings.schema import Source as SourceSettings


class _Maker(Protocol):
    def __call__(
        self,
        http: HttpClient,
        *,
        base_url: str,
        client_name: str,
        timeout_s: float,
        api_key: str | None,
    ) -> Aggregator: ...


_AGGREGATORS: dict[str, tuple[Any, _Maker]] = {
    "kyberswap": (kyberswap, kyberswap.KyberSwap),
    "velora": (velora, velora.Velora),
    "zeroex": (zeroex, zeroex.ZeroEx),
    "oneinch": (oneinch, oneinch.OneInch),
    "sushi": (sushi, sushi.Sushi),
    "openocean": (openocean, openocean.OpenOcean),
}
"""In the order of preference; the two in the middle need a key."""
_ASKED = 4
_BUDGETS = {
    "kyberswap": Budget(1.5),
    "velora": Budget(1.0, 3000),
    "zeroex": Budget(5.0),
    "oneinch": Budget(1.0),
    "sushi": Budget(10.0),
    "openocean": Budget(2.0),
}
"""Quotes a second and a day within the vendors' published limits: KyberSwap allows 3 requests a
second and a quote takes two; Velora's keyless limit is https://docs.velora.xyz; 0x and 1inch are
the free plans; Sushi publishes none."""


def check_urls(settings: Settings) -> None:
    """Raise BadSettings with a line for each URL nothing can be asked at, without the URL."""
    urls: dict[str, str | None] = {
        f"node.urls, number {n}": url for n, url in enumerate(settings.node.urls, 1)
    }
    urls |= {f"source.{name}.url": one.url or None for name, one in settings.source.items()}
    urls |= {
        f"prices.{name}": getattr(settings.prices, name)
        for name in ("defillama_url", "coingecko_url")
    }
    for place, relay in (("first", settings.relay.first), ("backup", settings.relay.backup)):
        if relay is not None:
            urls[f"relay.{place}.url"] = relay.url
            urls[f"relay.{place}.tracking_url"] = relay.tracking_url or None
    urls["tracking.explorer_url"] = settings.tracking.explorer_url
    urls["observe.otlp_endpoint"] = settings.observe.otlp_endpoint
    faults = [
        f"{name}: it is not http://... or https://... with a host, and a port up to 65535"
        for name, url in urls.items()
        if url is not None and not can_be_asked(url)
    ]
    if faults:
        raise BadSettings("\n".join(faults))


def trusted_networks(settings: Settings) -> tuple[Network, ...]:
    """Return the networks of the trusted proxies. Raises BadSettings."""
    try:
        return tuple(ipaddress.ip_network(text) for text in settings.server.trusted_proxies)
    except ValueError as error:
        raise BadSettings(
            f"server.trusted_proxies: {error}; it is an address, or a network such as 10.0.0.0/8"
        ) from error


def chosen_sources(settings: Settings) -> list[str]:
    """Return the names of the aggregators to ask. Raises BadSettings for an unknown name."""
    unknown = {*settings.quotes.sources, *settings.source} - set(_AGGREGATORS)
    if unknown:
        raise BadSettings(
            f"quotes.sources: there is no source {', '.join(sorted(unknown))}; "
            f"there are {', '.join(_AGGREGATORS)}"
        )
    if len(set(settings.quotes.sources)) < len(settings.quotes.sources):
        raise BadSettings("quotes.sources: a source is named twice")
    if settings.quotes.sources:
        keyless = [name for name in settings.quotes.sources if not _is_ready(settings, name)]
        if keyless:
            raise BadSettings(f"source.{keyless[0]}.api_key: this source needs a key")
        return list(settings.quotes.sources)
    return [name for name in _AGGREGATORS if _is_ready(settings, name)][:_ASKED]


def _is_ready(settings: Settings, name: str) -> bool:
    module, _ = _AGGREGATORS[name]
    return not module.NEEDS_KEY or bool(_source(settings, name).api_key)


def _source(settings: Settings, name: str) -> SourceSettings:
    return settings.source.get(name, SourceSettings())


def routers(settings: Settings, name: str) -> list[Address]:
    """Return the routers pinned for a source. Raises BadSettings for a bad address."""
    configured = _source(settings, name).routers
    if configured is None:
        return list(_AGGREGATORS[name][0].ROUTERS)
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
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadSettings(f"{name}: {path} is not a readable token list ({error!r})") from error


def make_aggregator(settings: Settings, name: str, http: HttpClient) -> Aggregator:
    """Return the adapter of a source under its settings."""
    _, maker = _AGGREGATORS[name]
    chosen = _source(settings, name)
    return maker(
        http,
        base_url=source_url(settings, name),
        client_name=settings.quotes.client_name,
        timeout_s=chosen.timeout_s,
        api_key=chosen.api_key,
    )


def source_url(settings: Settings, name: str) -> str:
    """Return the base URL a source is asked at."""
    return _source(settings, name).url or str(_AGGREGATORS[name][0].DEFAULT_URL)


def relay_urls(settings: Settings) -> Mapping[int, str]:
    """Return the base URLs of the relays by tier."""
    first, backup = settings.relay.first, settings.relay.backup
    return {FIRST_TIER: first.url} | ({BACKUP_TIER: backup.url} if backup else {})


def make_source(settings: Settings, name: str, http: HttpClient, clock: Clock) -> Source:
    """Return a source with its circuit and its budget."""
    chosen, usual = _source(settings, name), _BUDGETS[name]
    budget = Budget(
        chosen.per_second or usual.per_second,
        chosen.per_day if chosen.per_day is not None else usual.per_day,
    )
    return Source(make_aggregator(settings, name, http), budget, clock)


def make_relays(settings: Settings, http: HttpClient, clock: Clock) -> Mapping[int, Relay]:
    """Return the relays by tier. Raises BadSettings."""
    relays = {FIRST_TIER: _relay(settings, settings.relay.first, "first", http, clock)}
    if settings.relay.backup is not None:
        relays[BACKUP_TIER] = _relay(settings, settings.relay.backup, "backup", http, clock)
    return relays


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
        if chosen.kind == "private_rpc":
            return PrivateRpc(
                http,
                clock,
                name=chosen.name,
                base_url=chosen.url,
                tracking_base=chosen.tracking_url or f"{settings.tracking.explorer_url}/tx",
                timeout_s=chosen.timeout_s,
            )
    except ValueError as error:
        raise BadSettings(f"relay.{place}.url: {error}") from error
    raise BadSettings(f"relay.{place}.kind: there is mev_blocker and private_rpc")


def swap_terms(settings: Settings) -> SwapTerms:
    """Return what swap quotes ask of the relay. Raises BadSettings."""
    relay, quotes = settings.relay, settings.quotes
    if quotes.soft_deadline_s > quotes.hard_deadline_s:
        raise BadSettings("quotes.soft_deadline_s: it is later than quotes.hard_deadline_s")
    return SwapTerms(
        endpoint_type=_endpoint(relay.swap_endpoint, "relay.swap_endpoint"),
        share_mode=_share(relay.swap_share, "relay.swap_share"),
        validity_ms=quotes.validity_s * 1000,
        attack_probability=Decimal(str(quotes.attack_probability)),
    )


def wrap_terms(settings: Settings) -> WrapTerms:
    """Return what wrap quotes ask of the relay. Raises BadSettings."""
    relay = settings.relay
    return WrapTerms(
        endpoint_type=_endpoint(relay.wrap_endpoint, "relay.wrap_endpoint"),
        share_mode=_share(relay.wrap_share, "relay.wrap_share"),
        validity_ms=settings.quotes.wrap_validity_s * 1000,
    )


def _endpoint(text: str, name: str) -> EndpointType:
    try:
        return EndpointType(text)
    except ValueError:
        raise BadSettings(f"{name}: there is fast, noreverts and fullprivacy") from None


def _share(text: str, name: str) -> ShareMode:
    try:
        return ShareMode(text)
    except ValueError:
        raise BadSettings(f"{name}: there is shareAll, shareSafe and none") from None
