"""The parts of the web page: whether it is served, its sessions and its options."""

from collections.abc import Awaitable, Callable, Iterable

from quietswap import __version__
from quietswap.rules.clients import WebSessionBounds
from quietswap.rules.operator.operators import Health
from quietswap.rules.orders.statistics import Percentiles
from quietswap.service.base.clock import Clock
from quietswap.service.base.loopback import is_loopback
from quietswap.service.orders.inclusion import GetInclusion
from quietswap.service.server.settings import BadSettings
from quietswap.service.settings import ServerConfig, Settings
from quietswap.service.storage.factory import Storage
from quietswap.service.web.options import INCLUSION_DAYS, WebOptions
from quietswap.service.web.sessions import WebSessions


def is_local(server: ServerConfig) -> bool:
    """Return whether this machine alone reaches the service, as far as its settings tell.

    A proxy on the same machine may serve the whole world: one is there if it ends TLS, if its
    address is trusted, or if the service answers to a name of its own.
    """
    has_proxy = server.behind_tls_proxy or bool(server.trusted_proxies)
    return (
        is_loopback(server.host) and not has_proxy and all(map(is_loopback, server.allowed_hosts))
    )


def is_secure(server: ServerConfig) -> bool:
    """Return whether browsers reach the service by TLS, its own or a proxy's."""
    return bool(server.tls_cert) or server.behind_tls_proxy


def is_web_enabled(settings: Settings) -> bool:
    """Return whether the page is served. Raises BadSettings if it would have any host name.

    Beyond loopback the names must be listed. Otherwise a page of another site could give its own
    name this service's address, and use the service as its own origin.
    """
    server, chosen = settings.server, settings.web.enabled
    on_loopback = is_loopback(server.host)
    if chosen and not on_loopback and not server.allowed_hosts:
        raise BadSettings(
            "web.enabled: beyond loopback the page needs server.allowed_hosts, the host names "
            "under which browsers reach it"
        )
    return is_local(server) if chosen is None else chosen


def make_sessions(settings: Settings, storage: Storage, clock: Clock) -> WebSessions:
    """Return the use cases of the page's sessions."""
    web = settings.web
    bounds = WebSessionBounds(web.sessions_per_address, web.max_sessions)
    return WebSessions(storage.web_sessions, clock, bounds)


def web_options(
    settings: Settings,
    storage: Storage,
    clock: Clock,
    health: Callable[[], Awaitable[Health]],
    *,
    report: GetInclusion,
    source_names: Iterable[str] = (),
) -> WebOptions | None:
    """Return the options of the page; None if it is not served. Raises BadSettings."""
    if not is_web_enabled(settings):
        return None
    sessions = make_sessions(settings, storage, clock)

    async def inclusion() -> Percentiles | None:
        return (await report(INCLUSION_DAYS)).usual_blocks

    return WebOptions(
        begin=sessions.begin,
        renew=sessions.renew,
        health=health,
        inclusion=inclusion,
        source_names=tuple(source_names),
        version=__version__,
        explorer_url=settings.tracking.explorer_url.rstrip("/"),
        quote_s=settings.quotes.validity_s,
        requests=settings.web.rate_limit,
        sessions=settings.web.sessions_per_address,
        secure=is_secure(settings.server),
    )
