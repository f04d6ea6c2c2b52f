"""The address under which wallets reach this service. Imports little, for a quick command line."""

from quietswap.service.settings import Settings

_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))
_EVERY_INTERFACE = frozenset(("0.0.0.0", "::"))  # noqa: S104  compared, not bound


def public_url(settings: Settings) -> str:
    """Return the base URL for wallets, without a final slash."""
    if settings.wallet_rpc.public_url is not None:
        return settings.wallet_rpc.public_url.rstrip("/")
    server = settings.server
    if server.behind_tls_proxy and server.allowed_hosts:
        return f"https://{server.allowed_hosts[0]}"
    host = server.host
    if server.allowed_hosts and host not in _LOOPBACK:
        host = server.allowed_hosts[0]
    elif host in _EVERY_INTERFACE:
        host = "localhost"
    host = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"{'https' if server.tls_cert else 'http'}://{host}:{server.port}"
