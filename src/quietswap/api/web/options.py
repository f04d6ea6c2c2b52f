"""The operator's options of the web page, and the use cases of its sessions."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from quietswap.domain.order.statistics import Percentiles
from quietswap.ports.clients import ApiKey
from quietswap.ports.operator_view import Health

INCLUSION_DAYS = 7
RATE_PREFIX = "web:"
"""Of the rate window of a client address, for all requests of the page."""


@dataclass(frozen=True, slots=True)
class WebOptions:
    """`requests` of one client address in a rate window, and `sessions` that it may begin in a
    minute; `secure`: browsers reach it by TLS."""

    begin: Callable[[str], Awaitable[tuple[ApiKey, str]]]
    """Begin a session of a client address; return its key and its secret. Raises
    RateLimitExceeded."""
    renew: Callable[[ApiKey], Awaitable[ApiKey]]
    """Let a session end later; return its key."""
    health: Callable[[], Awaitable[Health]]
    """The checks of /readyz."""
    inclusion: Callable[[], Awaitable[Percentiles | None]]
    """Seconds to a block without a tip, of the last `INCLUSION_DAYS`; None without a record."""
    explorer_url: str
    quote_s: int
    """Seconds that a swap quote is valid."""
    requests: int
    sessions: int
    secure: bool
