"""Indicative prices: what sources promise without a wallet. Nothing about them is verified."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from quietswap.rules.quotes.quote import SourceReport
from quietswap.rules.quotes.scoring import (
    PricingContext,
    SourcePrice,
    believable,
    gas_price_in_buy_token,
)
from quietswap.rules.tokens.token import Token
from quietswap.rules.tx.address import Address


@dataclass(frozen=True, slots=True)
class SourcePriceRequest:
    """One exact-in price request, the same for every source. Amounts in smallest units."""

    sell: Token
    buy: Token
    sell_amount: int
    gas_price_wei: int


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


def rank_prices(
    prices: Sequence[SourcePrice], market: PricingContext, reference: int | None = None
) -> list[SourcePrice]:
    """Return the prices best first: output net of gas, then less gas, then the given order.

    A promise that is not `believable` ranks last. Without a way to convert gas, the output alone
    counts.
    """
    per_gas = gas_price_in_buy_token(prices, market) if prices else None
    most = believable([price.worth for price in prices], reference)

    def key(price: SourcePrice) -> tuple[bool, Decimal, int]:
        incredible = most is not None and price.worth > most
        gas = price.gas_estimate
        return incredible, gas * (per_gas or Decimal(0)) - price.worth, gas

    return sorted(prices, key=key)
