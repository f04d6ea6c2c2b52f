"""The operator's options of the web page, and the use cases of its sessions."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from quietswap.ports.clients import ApiKey

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
    explorer_url: str
    quote_s: int
    """Seconds that a swap quote is valid."""
    requests: int
    sessions: int
    secure: bool
