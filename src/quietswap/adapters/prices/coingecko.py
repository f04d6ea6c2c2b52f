"""CoinGecko token prices (https://docs.coingecko.com/reference/simple-token-price)."""

from decimal import Decimal
from urllib.parse import urlsplit

import msgspec

from quietswap.adapters.http import HttpClient
from quietswap.adapters.prices.price_api import PriceApiClient, validated_price
from quietswap.domain.address import Address
from quietswap.ports.clock import Clock

_PRO_HOST = "pro-api.coingecko.com"


class _CoinWire(msgspec.Struct, frozen=True):
    usd: Decimal | None = None
    last_updated_at: int = 0


class CoinGecko:
    """USD prices by token address. A key is optional; paid keys have a separate host."""

    def __init__(
        self,
        http: HttpClient,
        clock: Clock,
        *,
        url: str,
        key: str | None = None,
        timeout_s: float = 1.0,
    ) -> None:
        header = "x-cg-pro-api-key" if urlsplit(url).hostname == _PRO_HOST else "x-cg-demo-api-key"
        headers = {header: key} if key else {}
        self._api = PriceApiClient(http, clock, url, headers=headers, timeout_s=timeout_s)
        self._clock = clock

    async def usd(self, token: Address) -> Decimal | None:
        """Return USD per whole token; None if unknown, stale or unavailable."""
        address = token.lower()
        query = f"contract_addresses={address}&vs_currencies=usd&include_last_updated_at=true"
        path = f"/api/v3/simple/token_price/ethereum?{query}"
        answer = await self._api.get(path, dict[str, _CoinWire])
        found = answer.get(address) if answer else None
        if found is None or found.usd is None:
            return None
        return validated_price(found.usd, found.last_updated_at, self._clock.now_ms() // 1000)
