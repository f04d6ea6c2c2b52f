"""HTTP access to a price service, shared by DefiLlama and CoinGecko."""

from collections.abc import Mapping
from decimal import Decimal

from quietswap.adapters.http import HttpClient, HttpError
from quietswap.adapters.json_decoder import T
from quietswap.ports.clock import Clock
from quietswap.resilience.circuit_breaker import CircuitBreaker

MAX_AGE_S = 900
"""Both services update within minutes: a price older than 15 minutes is not used."""

_MAX_BYTES = 64 * 1024
_PAUSE_S = 15.0
_RATE_LIMITED_S = 60.0
_LEAST = Decimal("1e-18")
_MOST = Decimal("1e12")


class PriceApiClient:
    """A JSON API behind a circuit breaker, so that quotes do not wait for a failed service."""

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
        self._url = url.rstrip("/")
        self._headers = {"accept": "application/json", **(headers or {})}
        self._timeout_s = timeout_s
        self._circuit = CircuitBreaker(clock, pause_s=_PAUSE_S)

    async def get(self, path: str, shape: type[T]) -> T | None:
        """Return the body of `path` as `shape`; None after a failure and while the circuit is open.

        The circuit opens for 15 s after a failure, for 60 s after HTTP status 429.
        """
        if self._circuit.is_open:
            return None
        try:
            reply = await self._http.get(
                self._url + path,
                headers=self._headers,
                timeout_s=self._timeout_s,
                max_bytes=_MAX_BYTES,
            )
            if reply.status == 200:
                return reply.read(shape)
            self._circuit.open_for(_RATE_LIMITED_S if reply.status == 429 else _PAUSE_S)
        except HttpError:
            self._circuit.open_for(_PAUSE_S)
        return None


def validated_price(price: Decimal, updated_at: int, now: int) -> Decimal | None:
    """Return the price if it is plausible and at most MAX_AGE_S old; times in Unix seconds."""
    if not (price.is_finite() and _LEAST <= price <= _MOST):
        return None
    return price if abs(now - updated_at) <= MAX_AGE_S else None
