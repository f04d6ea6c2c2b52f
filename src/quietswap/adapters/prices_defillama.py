"""DefiLlama's current prices (https://api-docs.defillama.com/, `GET /prices/current/{coins}`)."""

from decimal import Decimal

import msgspec

from quietswap.adapters.http import HttpClient
from quietswap.adapters.prices_api import PriceApi, sound
from quietswap.domain.address import Address
from quietswap.ports.outside import Clock

URL = "https://coins.llama.fi"
_LEAST_CONFIDENCE = Decimal("0.9")


class _CoinWire(msgspec.Struct, frozen=True):
    price: Decimal
    timestamp: int
    confidence: Decimal = Decimal(0)


class _AnswerWire(msgspec.Struct, frozen=True):
    coins: dict[str, _CoinWire]


class DefiLlama:
    """USD prices by token address; needs no key."""

    def __init__(
        self, http: HttpClient, clock: Clock, *, url: str = URL, timeout_s: float = 1.0
    ) -> None:
        self._api = PriceApi(http, clock, url, timeout_s=timeout_s)
        self._clock = clock

    async def usd(self, token: Address) -> Decimal | None:
        """Return USD per whole token; None when unknown, unsure, stale or away."""
        coin = f"ethereum:{token}"
        answer = await self._api.get(f"/prices/current/{coin}?searchWidth=4h", _AnswerWire)
        found = answer.coins.get(coin) if answer else None
        if found is None or not found.confidence >= _LEAST_CONFIDENCE:
            return None
        return sound(found.price, found.timestamp, self._clock.now_ms() // 1000)
