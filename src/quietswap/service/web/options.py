"""What the web page asks of the service, and its limits."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from quietswap.rules.clients import ApiKey
from quietswap.rules.operator.operators import Health
from quietswap.rules.orders.statistics import Percentiles

INCLUSION_DAYS = 7


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
    """Blocks waited without a tip in the last `INCLUSION_DAYS`; None below 20 orders."""
    source_names: tuple[str, ...]
    """The sources that are asked for a quote."""
    version: str
    explorer_url: str
    quote_s: int
    """Seconds that a swap quote is valid."""
    requests: int
    sessions: int
    secure: bool
