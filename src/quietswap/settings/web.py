"""Settings of the web page for wallets."""

from typing import Annotated

from quietswap.settings.section import Section, says

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
