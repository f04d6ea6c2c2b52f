"""Port: USD prices."""

from decimal import Decimal
from typing import Protocol

from quietswap.domain.address import Address


class PriceOracle(Protocol):
    """USD prices. A missing, stale or contradicted price is None."""

    async def usd(self, *tokens: Address) -> list[Decimal | None]:
        """Return USD per whole token, in order. WETH has the price of ETH."""
