"""GET /api/v1/quote: survey the market, choose what nets the wallet most, issue a transaction."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from quietswap import observe
from quietswap.domain import fees, mev
from quietswap.domain.address import Address
from quietswap.domain.errors import InsufficientLiquidity, InvalidTokenAddress, TokenNotSupported
from quietswap.domain.impact import impact_percent
from quietswap.domain.protection import EndpointType, ShareMode
from quietswap.domain.quote import (
    Alternative,
    Outcome,
    SourceReport,
    SwapQuote,
    Verification,
)
from quietswap.domain.refusals import ServiceUnavailable
from quietswap.domain.requests import QuoteAsk
from quietswap.domain.route import SwapRequest
from quietswap.domain.scoring import Candidate, Market, Score, UsdRates, rank, score, value_usd
from quietswap.domain.terms import issued_swap
from quietswap.domain.token import Token, TokenPolicy
from quietswap.domain.transaction import TransactionParams
from quietswap.ports.outside import Chain, ChainDown, Clock, Head, Prices, Relay, Sender
from quietswap.ports.stores import ApiKey, OrderStore, QuoteStore, StoreDown
from quietswap.services.choose_relay import protect
from quietswap.services.survey_routes import Survey, SurveyRoutes

_CALLDATA_LIFE_S = 2 * 3600
"""Far beyond the 30 minutes of an order: an order must not revert merely for having waited."""


@dataclass(frozen=True, slots=True)
class SwapTerms:
    """The operator's choices: the relay endpoint, quote validity in ms, a probability of attack."""

    endpoint_type: EndpointType = EndpointType.NOREVERTS
    share_mode: ShareMode = ShareMode.SHARE_SAFE
    validity_ms: int = 30_000
    attack_probability: Decimal = Decimal(1)


@dataclass(frozen=True, slots=True)
class _Setting:
    """Everything but the routes and their sender, read while the sources are thinking."""

    head: Head
    live_nonces: Sequence[int]
    rates: UsdRates


class QuoteSwap:
    """Dependencies are the ports; `relays` is keyed by tier, `new_id` makes quote ids."""

    def __init__(
        self,
        *,
        chain: Chain,
        prices: Prices,
        survey: SurveyRoutes,
        quotes: QuoteStore,
        orders: OrderStore,
        relays: Mapping[int, Relay],
        tokens: TokenPolicy,
        terms: SwapTerms,
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        self._chain = chain
        self._prices = prices
        self._survey = survey
        self._quotes = quotes
        self._orders = orders
        self._relays = relays
        self._tokens = tokens
        self._terms = terms
        self._clock = clock
        self._new_id = new_id

    async def __call__(self, key: ApiKey, ask: QuoteAsk) -> SwapQuote:
        """Return an issued, stored quote.

        Raises InvalidTokenAddress, TokenNotSupported, InsufficientLiquidity, ServiceUnavailable.
        """
        started = self._clock.monotonic()
        try:
            quote = await self._quote(ask)
            issued = issued_swap(quote, key.id, self._new_id(), self._terms.validity_ms)
            await observe.in_phase("storing", self._quotes.save(issued))
        except ChainDown as error:
            raise ServiceUnavailable("the Ethereum node does not answer") from error
        except StoreDown as error:
            raise ServiceUnavailable("the database does not answer") from error
        observe.phase_took("total", self._clock.monotonic() - started)
        observe.source_won(quote.route.source)
        return quote

    async def _quote(self, ask: QuoteAsk) -> SwapQuote:
        reading = asyncio.gather(
            self._token(ask.sell_token, "sellToken"),
            self._token(ask.buy_token, "buyToken"),
            self._chain.head(),
        )
        sell, buy, head = await observe.in_phase("tokens", reading)
        if sell.address == buy.address:
            raise InvalidTokenAddress(
                field="buyToken", provided=buy.address, reason="both tokens are the same"
            )
        request = self._request(ask, sell, buy, head)
        setting = observe.in_phase("prices", self._setting(head, request))
        setting_task = asyncio.create_task(setting)
        try:
            survey = await self._survey(request)
            known = await setting_task
        finally:
            setting_task.cancel()
        if not survey.candidates:
            raise _verdict(survey, ask)
        return self._compose(request, survey, known)

    async def _token(self, address: Address, field: str) -> Token:
        reason = self._tokens.refusal(address)
        if reason:
            raise TokenNotSupported(token=address, reason=reason)
        token = await self._chain.token(address)
        if token is None:
            raise TokenNotSupported(token=address, reason=f"{field} is not an ERC-20 on mainnet")
        return token

    def _request(self, ask: QuoteAsk, sell: Token, buy: Token, head: Head) -> SwapRequest:
        return SwapRequest(
            sell=sell,
            buy=buy,
            sell_amount=ask.sell_amount,
            wallet=ask.wallet,
            slippage_bps=ask.slippage_bps,
            gas_price_wei=max(head.next_base_fee, 1),
            deadline=self._clock.now_ms() // 1000 + _CALLDATA_LIFE_S,
        )

    async def _setting(self, head: Head, request: SwapRequest) -> _Setting:
        live, eth, sell, buy = await asyncio.gather(
            self._orders.live_nonces(request.wallet),
            self._prices.eth_usd(),
            self._prices.token_usd(request.sell),
            self._prices.token_usd(request.buy),
        )
        return _Setting(head, live, UsdRates(eth, sell, buy))

    def _compose(self, request: SwapRequest, survey: Survey, setting: _Setting) -> SwapQuote:
        market = Market(
            request.sell,
            request.sell_amount,
            request.buy,
            setting.rates,
            setting.head.next_base_fee,
        )
        best, *others = rank(survey.candidates, market)
        scored = score(best, market)
        impact = _impact(best, market)
        threat, rebate = self._threat(best, market, impact)
        return SwapQuote(
            sell_token=request.sell.address,
            buy_token=request.buy.address,
            sell_amount=request.sell_amount,
            buy_amount=best.worth,
            min_buy_amount=best.route.min_buy_amount,
            slippage_bps=request.slippage_bps,
            wallet=request.wallet,
            route=best.route,
            gas=best.gas,
            impact_percent=impact,
            net_value_usd=scored.net_value_usd,
            gas_cost_usd=scored.gas_cost_usd,
            threat_level=threat.level,
            protection_usd=threat.loss_usd * self._terms.attack_probability,
            protection=protect(
                self._relays, self._terms.endpoint_type, self._terms.share_mode, rebate
            ),
            params=_params(best, survey.sender, setting),
            verification=best.verification,
            issued_at_ms=self._clock.now_ms(),
            alternatives=tuple(_alternative(c, score(c, market)) for c in others),
            sources=_named(survey.reports, best.route.source),
            notes=_notes(best, setting.rates),
        )

    def _threat(
        self, best: Candidate, market: Market, impact: Decimal | None
    ) -> tuple[mev.Threat, Decimal]:
        sell, buy = market.sell.address, market.buy.address
        value = value_usd(best.worth, market.buy, market.rates.buy)
        if value is None:
            value = value_usd(market.sell_amount, market.sell, market.rates.sell)
        fee = mev.pool_fee(sell, buy)
        share = (impact or Decimal(0)) / 100
        gas_wei = Decimal(mev.ATTACK_GAS * market.base_fee)
        cost = gas_wei.scaleb(-18) * (market.rates.eth or Decimal(0))
        slippage = 1 - Decimal(best.route.min_buy_amount) / Decimal(best.worth)
        known = value or Decimal(0)
        threat = mev.assess(
            value_usd=known, impact=share, fee=fee, slippage=slippage, attack_cost=cost
        )
        majors = sell in mev.MAJORS and buy in mev.MAJORS
        rebate = mev.expected_rebate(value_usd=known, impact=share, fee=fee, majors=majors)
        return threat, rebate


def _impact(best: Candidate, market: Market) -> Decimal | None:
    return impact_percent(
        best.route.impact_percent,
        value_usd(market.sell_amount, market.sell, market.rates.sell),
        value_usd(best.worth, market.buy, market.rates.buy),
    )


def _params(best: Candidate, sender: Sender, setting: _Setting) -> TransactionParams:
    limit = fees.gas_limit_for(best.gas)
    return TransactionParams(
        to=best.route.target,
        data=best.route.data,
        value=0,
        gas_limit=limit,
        max_fee_per_gas=fees.max_fee_per_gas(
            setting.head.next_base_fee,
            fees.SWAP_FEE_MULTIPLE,
            gas_limit=limit,
            balance=sender.eth_balance,
        ),
        nonce=fees.next_nonce(sender.nonce, sender.pending_nonce, setting.live_nonces),
    )


def _alternative(candidate: Candidate, scored: Score) -> Alternative:
    return Alternative(candidate.route.source, candidate.worth, scored.net_value_usd)


def _named(reports: Sequence[SourceReport], winner: str) -> tuple[SourceReport, ...]:
    return tuple(
        replace(report, outcome=Outcome.WON) if report.source == winner else report
        for report in reports
    )


def _notes(best: Candidate, rates: UsdRates) -> tuple[str, ...]:
    notes = []
    if best.verification is Verification.UNVERIFIED:
        notes.append("no simulation was possible: the amounts are the source's promise")
    if rates.buy is None or rates.eth is None:
        notes.append("no trustworthy USD price: routes were compared in the buy token")
    if rates.buy is None and rates.sell is None:
        notes.append("without a price the MEV figures are unknown, not low")
    return tuple(notes)


def _verdict(survey: Survey, ask: QuoteAsk) -> Exception:
    """Return the one answer a set of failures amounts to.

    Any source that looked and found nothing that holds: no liquidity. Else any that does not know
    the token: not supported. Only silence: unavailable.
    """
    outcomes = {report.outcome for report in survey.reports}
    rows = [
        {"source": report.source, "outcome": report.outcome.value, "reason": report.reason}
        for report in survey.reports
    ]
    if outcomes & {Outcome.NO_ROUTE, Outcome.REVERTED, Outcome.SHORT_DELIVERY}:
        return InsufficientLiquidity(sources=rows)
    if Outcome.TOKEN_UNKNOWN in outcomes:
        return TokenNotSupported(
            token=ask.buy_token, reason="no aggregator knows the pair's tokens"
        )
    return ServiceUnavailable("no aggregator gave a usable answer", {"sources": rows})
