"""Port: USD prices."""

from decimal import Decimal
from typing import Protocol

from quietswap.domain.token import Token


class PriceOracle(Protocol):
    """USD prices. A missing, stale or contradicted price is None."""

    async def eth_usd(self) -> Decimal | None:
        """Return USD per ETH."""

    async def token_usd(self, token: Token) -> Decimal | None:
        """Return USD per whole token."""
