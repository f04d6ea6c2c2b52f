"""Quotes and balances, from domain values to the interface's JSON.

Amounts are decimal strings, USD and percentages JSON numbers. The interface has no way to say that
a USD figure or the price impact is unknown: its type is number and clients compute with it. So an
unknown figure is 0, and the boolean beside it (`scoring.priceAvailable`, `priceImpactAvailable`)
says that this 0 is not a measurement.
"""

from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

from quietswap.domain.amounts import format_ether
from quietswap.domain.protection import Protection
from quietswap.domain.quote import (
    Alternative,
    Operation,
    SourceReport,
    SwapQuote,
    WrapQuote,
)
from quietswap.domain.requests import WrapInfo
from quietswap.domain.token import WETH
from quietswap.domain.transaction import MAINNET, TYPE_2, TransactionParams

Json = dict[str, Any]

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  a naive UTC value, the quickest to print
_ETH = "ETH"
_WETH_DECIMALS = 18


@lru_cache(maxsize=16_384)
def _minute(minutes: int) -> str:
    return (_EPOCH + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:")


def iso(unix_ms: int) -> str:
    """Return Unix milliseconds as ISO 8601 in UTC, always with three decimals and `Z`.

    Most times of a page lie in a few minutes, whose spelling is remembered.
    """
    minutes, ms = divmod(unix_ms, 60_000)
    return f"{_minute(minutes)}{ms // 1000:02d}.{ms % 1000:03d}Z"


def number(value: Decimal | None) -> float:
    """Return a USD figure or a percentage, to six decimals; 0 where it is unknown."""
    return 0.0 if value is None else round(float(value), 6)


def swap_quote(quote: SwapQuote) -> Json:
    """Return `data` of GET /api/v1/quote."""
    return {
        "source": quote.route.source,
        "sellToken": quote.sell_token,
        "buyToken": quote.buy_token,
        "sellAmount": str(quote.sell_amount),
        "buyAmount": str(quote.buy_amount),
        "minBuyAmount": str(quote.min_buy_amount),
        "estimatedGas": quote.gas,
        "priceImpact": number(quote.impact_percent),
        "priceImpactAvailable": quote.impact_percent is not None,
        "dexRoute": {
            "dex": quote.route.dex,
            "target": quote.route.target,
            "path": quote.route.path,
            "data": "0x" + quote.route.data.hex(),
        },
        "scoring": {
            "netValueUsd": number(quote.net_value_usd),
            "gasCostUsd": number(quote.gas_cost_usd),
            "priceAvailable": quote.net_value_usd is not None,
        },
        "alternatives": [_alternative(entry) for entry in quote.alternatives],
        "mevAnalysis": {
            "threatLevel": quote.threat_level.value,
            "estimatedProtectionUsd": number(quote.protection_usd),
        },
        "mevProtection": _mev_protection(quote.protection, quote.params),
        "verification": {"status": quote.verification.value, "notes": quote.notes},
        "sources": [_source(report) for report in quote.sources],
    }


def _alternative(entry: Alternative) -> Json:
    return {
        "source": entry.source,
        "buyAmount": str(entry.buy_amount),
        "netValueUsd": number(entry.net_value_usd),
    }


def _source(report: SourceReport) -> Json:
    return {
        "source": report.source,
        "outcome": report.outcome.value,
        "latencyMs": report.latency_ms,
        "promised": _units(report.promised),
        "simulated": _units(report.simulated),
        "differenceBps": report.difference_bps,
        "reason": report.reason,
    }


def _units(amount: int | None) -> str | None:
    return None if amount is None else str(amount)


def _mev_protection(protection: Protection, params: TransactionParams) -> Json:
    return {
        "provider": protection.display_name,
        "transactionParams": {
            "to": params.to,
            "data": "0x" + params.data.hex(),
            "value": str(params.value),
            "gasLimit": str(params.gas_limit),
            "maxFeePerGas": str(params.max_fee_per_gas),
            "maxPriorityFeePerGas": "0",
            "nonce": params.nonce,
            "chainId": MAINNET,
            "type": TYPE_2,
        },
        "providerMetadata": protection.metadata(),
    }


def wrap_quote(quote: WrapQuote) -> Json:
    """Return `data.quote` of POST /api/v1/mev/wrap/quote."""
    wrapping = quote.operation is Operation.WRAP
    return {
        "quoteId": quote.quote_id,
        "operation": quote.operation.value,
        "amount": format_ether(quote.amount),
        "amountWei": str(quote.amount),
        "inputToken": _ETH if wrapping else WETH,
        "outputToken": WETH if wrapping else _ETH,
        "mevProtection": _mev_protection(quote.protection, quote.params),
        "deadline": quote.valid_until_ms // 1000,
        "estimatedGas": str(quote.gas),
        "createdAt": iso(quote.issued_at_ms),
        "validUntil": iso(quote.valid_until_ms),
    }


def wrap_info(info: WrapInfo) -> Json:
    """Return `data` of GET /api/v1/mev/wrap/info."""
    eth, weth = format_ether(info.eth), format_ether(info.weth)
    return {
        "weth": {
            "address": WETH,
            "name": info.name,
            "symbol": info.symbol,
            "decimals": _WETH_DECIMALS,
            "chainId": MAINNET,
        },
        "balances": {
            "eth": {"wei": str(info.eth), "ether": eth},
            "weth": {"wei": str(info.weth), "ether": weth},
        },
        "operations": {
            "wrap": {
                "description": "Wrap ETH into WETH, one to one. Keep some ETH for gas.",
                "maxAmount": eth,
            },
            "unwrap": {"description": "Unwrap WETH into ETH, one to one.", "maxAmount": weth},
        },
    }
