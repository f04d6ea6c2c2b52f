"""What the two price services on the web have in common."""

from collections.abc import Mapping
from decimal import Decimal

from quietswap.adapters.chain_wire import Malformed, T, read
from quietswap.adapters.http import HttpClient, HttpTrouble
from quietswap.ports.outside import Clock

MAX_AGE_S = 900
"""Both services refresh within minutes; what is a quarter of an hour old is no price."""

_MAX_BYTES = 64 * 1024
_PAUSE_S = 15.0
_RATE_LIMITED_S = 60.0
_LEAST = Decimal("1e-18")
_MOST = Decimal("1e12")


class PriceApi:
    """A JSON API that is left alone for a while after it failed, so that quotes do not wait."""

    def __init__(
        self,
        http: HttpClient,
        clock: Clock,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 1.0,
    ) -> None:
        self._http = http
        self._clock = clock
        self._url = url.rstrip("/")
        self._headers = {"accept": "application/json", **(headers or {})}
        self._timeout_s = timeout_s
        self._silent_until = 0.0

    async def get(self, path: str, shape: type[T]) -> T | None:
        """Return the body of `path` as `shape`; None when there is none to be had now."""
        if self._clock.monotonic() < self._silent_until:
            return None
        try:
            reply = await self._http.get(
                self._url + path,
                headers=self._headers,
                timeout_s=self._timeout_s,
                max_bytes=_MAX_BYTES,
            )
            if reply.status == 200:
                return read(reply.body, shape)
            self._pause(_RATE_LIMITED_S if reply.status == 429 else _PAUSE_S)
        except (HttpTrouble, Malformed):
            self._pause(_PAUSE_S)
        return None

    def _pause(self, seconds: float) -> None:
        self._silent_until = self._clock.monotonic() + seconds


def sound(price: Decimal, updated_at: int, now: int) -> Decimal | None:
    """Return the price if it is a sane number from the last MAX_AGE_S; times in Unix seconds."""
    if not (price.is_finite() and _LEAST <= price <= _MOST):
        return None
    return price if abs(now - updated_at) <= MAX_AGE_S else None
