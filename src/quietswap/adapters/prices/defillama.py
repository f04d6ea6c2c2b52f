"""DefiLlama prices (https://api-docs.defillama.com/, `GET /prices/current/{coins}`)."""

from decimal import Decimal

import msgspec

from quietswap.adapters.http import HttpClient
from quietswap.adapters.prices.price_api import PriceApiClient, validated_price
from quietswap.domain.address import Address
from quietswap.ports.clock import Clock

_LEAST_CONFIDENCE = Decimal("0.9")


class _CoinWire(msgspec.Struct, frozen=True):
    price: Decimal
    timestamp: int
    confidence: Decimal = Decimal(0)


class _AnswerWire(msgspec.Struct, frozen=True):
    coins: dict[str, _CoinWire]


class DefiLlama:
    """USD prices by token address, without a key."""

    def __init__(self, http: HttpClient, clock: Clock, *, url: str, timeout_s: float = 1.0) -> None:
        self._api = PriceApiClient(http, clock, url, timeout_s=timeout_s)
        self._clock = clock

    async def usd(self, token: Address) -> Decimal | None:
        """Return USD per whole token; None if unknown, stale, uncertain or unavailable."""
        coin = f"ethereum:{token}"
        answer = await self._api.get(f"/prices/current/{coin}?searchWidth=4h", _AnswerWire)
        found = answer.coins.get(coin) if answer else None
        if found is None or not found.confidence >= _LEAST_CONFIDENCE:
            return None
        return validated_price(found.price, found.timestamp, self._clock.now_ms() // 1000)
