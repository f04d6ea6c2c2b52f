"""Swap quotes: domain values to contract Structs.

Amounts are decimal strings, USD values and percentages JSON numbers. The interface cannot express
that a USD value or the price impact is unknown: its type is number and clients compute with it.
So an unknown value is 0, and the boolean beside it (`scoring.priceAvailable`,
`priceImpactAvailable`) says that this 0 is not a measurement.
"""

from typing import Any, TypeVar

from quietswap.rules.contract import quotes as contract
from quietswap.rules.contract.transactions import SwapMevProtection, TransactionParams
from quietswap.rules.quotes.indicative_price import IndicativePrice
from quietswap.rules.quotes.quote import BatchForm, SourceReport, SwapQuote
from quietswap.rules.safety import calldata
from quietswap.rules.safety.loss import Loss, judge_swap
from quietswap.rules.safety.wallet_effects import QuoteIssues, Shortfall
from quietswap.rules.tx.fees import PRIORITY_FEE
from quietswap.rules.tx.signed import MAINNET, TYPE_2, UnsignedTransaction
from quietswap.service.api.json import amount, iso_second, number


def loss_judgement(loss: Loss) -> contract.LossJudgement:
    causes = (contract.LossCauseEntry(cause=one.cause.value, bps=one.bps) for one in loss.causes)
    return contract.LossJudgement(level=loss.level.value, bps=loss.bps, causes=tuple(causes))


P = TypeVar("P", bound=TransactionParams)


def swap_quote_response(quote: SwapQuote) -> contract.SwapQuoteResponse:
    route = quote.route
    return contract.SwapQuoteResponse(
        source=route.source,
        sell_token=quote.sell_token,
        buy_token=quote.buy_token,
        sell_amount=amount(quote.sell_amount),
        buy_amount=amount(quote.buy_amount),
        min_buy_amount=amount(quote.min_buy_amount),
        estimated_gas=quote.gas,
        price_impact=number(quote.impact_percent),
        price_impact_available=quote.impact_percent is not None,
        dex_route=contract.DexRoute(
            dex=route.dex, target=route.target, path=route.path, data="0x" + route.data.hex()
        ),
        executable_until=iso_second(calldata.deadline(route.target, route.data)),
        scoring=scoring_of(quote),
        alternatives=tuple(
            contract.AlternativeEntry(
                source=entry.source,
                buy_amount=amount(entry.buy_amount),
                net_value_usd=number(entry.net_value_usd),
            )
            for entry in quote.alternatives
        ),
        mev_analysis=contract.MevAnalysis(
            threat_level=quote.threat_level.value,
            estimated_protection_usd=number(quote.protection_usd),
            known=quote.threat_known,
        ),
        mev_protection=SwapMevProtection(
            provider=quote.protection.display_name,
            transaction_params=transaction_params(quote.params, TransactionParams),
            provider_metadata=quote.protection.metadata(),
        ),
        verification=contract.Verification(
            status=quote.verification.value, bound=True, notes=quote.notes
        ),
        loss=loss_of(quote, quote.slippage_bps),
        sources=tuple(map(_source, quote.sources)),
        issues=_issues(quote.issues),
        batch=None if quote.batch is None else _batch(quote.batch),
    )


def _batch(form: BatchForm) -> contract.BatchedSwap:
    params = form.params
    return contract.BatchedSwap(
        delegate=form.delegate,
        transaction_params=None
        if params is None
        else transaction_params(params, TransactionParams),
        estimated_gas=form.gas,
        reason=form.reason,
        conversion=None if form.conversion is None else form.conversion.value,
    )


def _issues(issues: QuoteIssues) -> contract.Issues:
    spend, held, gas = issues.allowance, issues.balance, issues.gas
    return contract.Issues(
        allowance=contract.AllowanceIssue(spender=spend.address or "", **_figures(spend))
        if spend
        else None,
        balance=contract.BalanceIssue(token=held.address or "", **_figures(held)) if held else None,
        gas=contract.GasIssue(**_figures(gas)) if gas else None,
    )


def _figures(found: Shortfall) -> dict[str, Any]:
    return {"actual": amount(found.actual), "needed": amount(found.needed)}


def scoring_of(found: SwapQuote | IndicativePrice) -> contract.Scoring:
    return contract.Scoring(
        net_value_usd=number(found.net_value_usd),
        gas_cost_usd=number(found.gas_cost_usd),
        price_available=found.net_value_usd is not None,
    )


def loss_of(found: SwapQuote | IndicativePrice, slippage_bps: int) -> contract.LossJudgement:
    judged = judge_swap(
        impact_percent=found.impact_percent,
        slippage_bps=slippage_bps,
        net_value_usd=found.net_value_usd,
        gas_cost_usd=found.gas_cost_usd,
    )
    return loss_judgement(judged)


def _source(report: SourceReport) -> contract.SourceEntry:
    promised, simulated = report.promised, report.simulated
    return contract.SourceEntry(
        source=report.source,
        outcome=report.outcome.value,
        latency_ms=report.latency_ms,
        promised=None if promised is None else amount(promised),
        simulated=None if simulated is None else amount(simulated),
        difference_bps=report.difference_bps,
        reason=report.reason,
        reference_bps=report.reference_bps,
    )


def transaction_params(params: UnsignedTransaction, kind: type[P]) -> P:
    return kind(
        to=params.to,
        data="0x" + params.data.hex(),
        value=amount(params.value),
        gas_limit=amount(params.gas_limit),
        max_fee_per_gas=amount(params.max_fee_per_gas),
        max_priority_fee_per_gas=amount(PRIORITY_FEE),
        nonce=params.nonce,
        chain_id=MAINNET,
        type=TYPE_2,
    )
