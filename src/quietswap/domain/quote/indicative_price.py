"""Indicative prices: what sources promise without a wallet. Nothing about them is verified."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from quietswap.domain.address import Address
from quietswap.domain.quote.quote import SourceReport
from quietswap.domain.quote.scoring import PricingContext, believable, gas_price_in_buy_token
from quietswap.domain.token import Token
from quietswap.domain.transaction import fees


@dataclass(frozen=True, slots=True)
class SourcePriceRequest:
    """One exact-in price request, the same for every source. Amounts in smallest units."""

    sell: Token
    buy: Token
    sell_amount: int
    gas_price_wei: int


@dataclass(frozen=True, slots=True)
class SourcePrice:
    """The promise of one source: smallest units of the buy token, gas units, impact in percent."""

    source: str
    buy_amount: int
    gas: int | None = None
    impact_percent: Decimal | None = None

    @property
    def worth(self) -> int:
        """Return the promised output."""
        return self.buy_amount

    @property
    def gas_estimate(self) -> int:
        """Return gas units: the source's figure, and at least that of a plain swap."""
        return fees.unsimulated_gas(self.gas, 1)


@dataclass(frozen=True, slots=True)
class IndicativePrice:
    """The best promise and the result of each source. USD as Decimal, time in Unix ms."""

    sell_token: Address
    buy_token: Address
    sell_amount: int
    best: SourcePrice
    impact_percent: Decimal | None
    net_value_usd: Decimal | None
    gas_cost_usd: Decimal | None
    asked_at_ms: int
    sources: tuple[SourceReport, ...]


def rank_prices(prices: Sequence[SourcePrice], market: PricingContext) -> list[SourcePrice]:
    """Return the prices best first: output net of gas, then less gas, then the given order.

    A promise far above the median of at least three ranks last. Without a way to convert gas, the
    output alone counts.
    """
    per_gas = gas_price_in_buy_token(prices, market) if prices else None
    most = believable([price.worth for price in prices])

    def key(price: SourcePrice) -> tuple[bool, Decimal, int]:
        incredible = most is not None and price.worth > most
        gas = price.gas_estimate
        return incredible, gas * (per_gas or Decimal(0)) - price.worth, gas

    return sorted(prices, key=key)
