"""Who may come in, and how often: API keys, one budget a key, and a brake on guessing."""

from dataclasses import dataclass

from quietswap.api.use_cases import UseCases
from quietswap.domain.refusals import RateLimitExceeded
from quietswap.ports.outside import Clock
from quietswap.ports.stores import ApiKey, RateWindow

_LONGEST_SECRET = 256


@dataclass(frozen=True, slots=True)
class Limits:
    """`requests` a key and `failures` (wrong keys) a client address, both per `window_s`.

    Guessing 256 random bits is hopeless at any rate: the brake only spares the database, and is
    wide enough that a contract tester who retries each request with a wrong key hears 401.
    """

    requests: int = 300
    failures: int = 1000
    window_s: int = 60


class Guard:
    """Keys first, then the rate window."""

    def __init__(self, use: UseCases, limits: Limits, clock: Clock) -> None:
        self._use = use
        self._limits = limits
        self._clock = clock

    async def identify(self, secret: str) -> ApiKey | None:
        """Return whose key it is; None when it is missing, unknown or revoked."""
        if not secret or len(secret) > _LONGEST_SECRET:
            return None
        return await self._use.authenticate(secret)

    async def guessed(self, client: str) -> RateWindow:
        """Count one wrong key of a client address; a spent window is a refusal by `exceeded`.

        A missing key costs nothing and a right one always passes, so that nobody behind a shared
        address is locked out by a neighbour's guesses.
        """
        limits = self._limits
        return await self._use.guesses.hit(f"guess:{client}", limits.failures, limits.window_s)

    async def count(self, key: ApiKey) -> RateWindow:
        """Count one request of a key; the caller decides what a spent window means."""
        limits = self._limits
        return await self._use.rate.hit(f"key:{key.id}", limits.requests, limits.window_s)

    def exceeded(self, window: RateWindow) -> RateLimitExceeded:
        """Return the refusal of a spent window; it says when to come back, in whole seconds."""
        wait_ms = window.reset_ms - self._clock.now_ms()
        return RateLimitExceeded(
            retry_after=max(-(-wait_ms // 1000), 1),
            limit=window.limit,
            window=self._limits.window_s,
        )
