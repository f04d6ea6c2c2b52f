"""Indicative prices: domain values to contract Structs."""

from quietswap.api.responses.json_values import amount, number
from quietswap.api.responses.losses import loss_judgement
from quietswap.contract import prices as contract
from quietswap.contract.quotes import Scoring
from quietswap.domain.quote.indicative_price import IndicativePrice
from quietswap.domain.quote.loss import judge_swap
from quietswap.domain.quote.quote import SourceReport


def price_response(price: IndicativePrice) -> contract.PriceResponse:
    """Return `data` of GET /api/v1/price."""
    return contract.PriceResponse(
        indicative=True,
        verification="none",
        source=price.best.source,
        sell_token=price.sell_token,
        buy_token=price.buy_token,
        sell_amount=amount(price.sell_amount),
        buy_amount=amount(price.best.buy_amount),
        estimated_gas=price.best.gas_estimate,
        price_impact=number(price.impact_percent),
        price_impact_available=price.impact_percent is not None,
        scoring=Scoring(
            net_value_usd=number(price.net_value_usd),
            gas_cost_usd=number(price.gas_cost_usd),
            price_available=price.net_value_usd is not None,
        ),
        sources=tuple(map(_source, price.sources)),
        loss=loss_judgement(
            judge_swap(
                impact_percent=price.impact_percent,
                slippage_bps=0,
                net_value_usd=price.net_value_usd,
                gas_cost_usd=price.gas_cost_usd,
            )
        ),
    )


def _source(report: SourceReport) -> contract.PriceSourceEntry:
    return contract.PriceSourceEntry(
        source=report.source,
        outcome=report.outcome.value,
        latency_ms=report.latency_ms,
        buy_amount=None if report.promised is None else amount(report.promised),
        reason=report.reason,
    )
