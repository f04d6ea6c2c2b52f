"""GET /api/v1/quote: collect routes, choose the highest net value, issue a transaction."""

import asyncio
import dataclasses
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from quietswap.rules.amounts import AMOUNT_MAX
from quietswap.rules.chain.records import (
    AccountState,
    ChainReader,
    Head,
    UnreadableToken,
)
from quietswap.rules.clients import ApiKey, to_cents
from quietswap.rules.errors.base import InsufficientLiquidity, RequestError
from quietswap.rules.errors.requests import InvalidAmount, TokenNotSupported
from quietswap.rules.orders.checks import CONTRACT_NOTE, is_contract
from quietswap.rules.orders.nonces import OwnNonces, next_nonce
from quietswap.rules.orders.tracking import deadline_base_s
from quietswap.rules.quotes import at_least, mev, scoring
from quietswap.rules.quotes.at_least import AtLeast, TriedAmount
from quietswap.rules.quotes.issued_quote import issued_swap
from quietswap.rules.quotes.quote import (
    FEE_MAY_RISE,
    UNREAD_DECIMALS,
    AlternativeRoute,
    RouteRequest,
    SourceOutcome,
    SourceReport,
    SwapQuote,
    VerificationStatus,
)
from quietswap.rules.quotes.request import IndicativePriceRequest, SwapQuoteRequest
from quietswap.rules.relays import EndpointType, ShareMode
from quietswap.rules.routers.method import Measure
from quietswap.rules.safety.methods import measure
from quietswap.rules.safety.wallet_effects import QuoteIssues, find_issues
from quietswap.rules.tokens.token import WETH, WITHOUT_TRANSFER_FEE, Token, TokenPolicy
from quietswap.rules.tx import fees
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import UnsignedTransaction
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.clients.failures import (
    require_no_fork,
    require_within_limits,
    service_unavailable,
)
from quietswap.service.node.work import name_tokens
from quietswap.service.prices.usd import UsdPrices
from quietswap.service.quoting.batched_form import batched_form
from quietswap.service.quoting.price import QuotePrice
from quietswap.service.quoting.routes import (
    CollectedRoutes,
    CollectRoutes,
    minimum_not_reached,
    no_route_error,
    require_tradable,
    tradable_tokens,
)
from quietswap.service.quoting.source_pauses import SourcePauses
from quietswap.service.relays.choice import protect
from quietswap.service.relays.relay import Relay
from quietswap.service.storage.client_usage import UsageStore
from quietswap.service.storage.orders import OrderStore
from quietswap.service.storage.quotes import QuoteStore


def notes(
    best: scoring.Candidate,
    buy: Address,
    rates: scoring.UsdRates,
    quoted: scoring.UsdRates,
    *,
    weighed: bool,
) -> tuple[str, ...]:
    """Return the notes: `rates` are the prices the quote was computed with, `quoted` those read.

    `weighed`: gas could be converted into the buy token, so routes were compared net of gas.
    """
    texts = []
    route = best.route
    if (
        buy not in WITHOUT_TRANSFER_FEE
        and measure(route.target, route.data) is not Measure.RECIPIENT
    ):
        texts.append(FEE_MAY_RISE)
    if best.verification is VerificationStatus.UNVERIFIED:
        texts.append("no simulation was possible: the amounts are the source's promise")
    if rates != quoted:
        texts.append("the USD prices of the two tokens contradict the rate: they are not used")
    if rates.buy is None or rates.eth is None:
        texts.append("no trustworthy USD price: routes were compared in the buy token")
    if not weighed:
        texts.append(
            "gas was not weighed: of nearly equal outputs the one with least gas was taken"
        )
    if rates.buy is None and rates.sell is None:
        texts.append("no USD price of either token: the loss to a sandwich is unknown")
    return tuple(texts)


_GAS_PRICE_MAX_AGE_S = 24.0
"""Of the gas price that sources are told. What they answer is simulated on the latest block."""


@dataclass(frozen=True, slots=True)
class SwapQuotePolicy:
    """The operator's settings: relay endpoint, probability of an attack, and in ms how long a quote
    and its calldata are valid.
    """

    endpoint_type: EndpointType
    share_mode: ShareMode
    validity_ms: int
    calldata_life_ms: int
    attack_probability: Decimal


@dataclass(frozen=True, slots=True)
class _QuoteContext:
    nonces: OwnNonces
    rates: scoring.UsdRates
    by_pools: Sequence[Decimal | None]

    def reference(self, request: RouteRequest) -> int | None:
        return scoring.reference_amount(
            request.sell, request.sell_amount, request.buy, self.by_pools
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuoteSwap:
    """`relays` by tier; `new_id` returns a fresh quote id."""

    chain: ChainReader
    prices: UsdPrices
    price: QuotePrice
    pauses: SourcePauses
    collect_routes: CollectRoutes
    quotes: QuoteStore
    usage: UsageStore
    orders: OrderStore
    relays: Mapping[int, Relay]
    tokens: TokenPolicy
    terms: SwapQuotePolicy
    clock: Clock
    new_id: Callable[[], str]

    async def __call__(self, key: ApiKey, ask: SwapQuoteRequest) -> SwapQuote:
        """Return an issued, stored quote.

        Raises InvalidTokenAddress, TokenNotSupported, InsufficientLiquidity, ServiceUnavailable;
        the third also for a minimum that no quote reaches.
        """
        name_tokens(ask.sell_token, ask.buy_token)
        await self.pauses.refresh()
        pair = ask.sell_token, ask.buy_token
        await require_within_limits(self.usage, self.clock, key, ask.wallet, *pair)
        started = self.clock.monotonic()
        with service_unavailable():
            try:
                if isinstance(ask.sell_amount, AtLeast):
                    quote = await self._least(key, ask, ask.sell_amount)
                else:
                    quote = await self._quote(key, ask, ask.sell_amount)
            except UnreadableToken as error:
                reason = f"sellToken: {error}"
                raise TokenNotSupported(token=ask.sell_token, reason=reason) from error
            issued = issued_swap(quote, key.client_id, self.new_id(), self.terms.validity_ms)
            await observe.in_phase("storing", self.quotes.save(issued))
        observe.phase_took("total", self.clock.monotonic() - started)
        observe.source_won(quote.route.source)
        return quote

    async def _least(self, key: ApiKey, ask: SwapQuoteRequest, goal: AtLeast) -> SwapQuote:
        """Return the quote with the least sell amount, of at most three, that reaches the goal."""
        ask = dataclasses.replace(ask, verified=None)  # its routes would be those of several swaps
        amount = await self._first_amount(key, ask, goal)
        quotes: list[SwapQuote] = []
        cause: RequestError | None = None
        while len(quotes) < at_least.MOST_QUOTES:
            try:
                quotes.append(await self._quote(key, ask, amount))
            except RequestError as error:
                cause = error
                break
            tried = [TriedAmount(quote.sell_amount, quote.min_buy_amount) for quote in quotes]
            amount = min(at_least.next_sell_amount(goal, tried), AMOUNT_MAX)
            if at_least.is_close(goal, tried[-1]) or amount in (
                quote.sell_amount for quote in quotes
            ):
                break
        enough = [quote for quote in quotes if quote.min_buy_amount >= goal.min_buy_amount]
        if enough:
            return min(enough, key=lambda quote: quote.sell_amount)
        if cause is not None and not isinstance(cause, InsufficientLiquidity):
            raise cause
        raise minimum_not_reached(goal, quotes, cause)

    async def _first_amount(self, key: ApiKey, ask: SwapQuoteRequest, goal: AtLeast) -> int:
        """Return what the goal sells for in the other direction; less than what has to be sold.

        A goal that sells for nothing may be less than the smallest unit buys: that unit is quoted.
        """
        # an error names the parameters of this direction
        await tradable_tokens(self.chain, self.tokens, ask.sell_token, ask.buy_token)
        promise = min(at_least.promise_for(goal, ask.slippage_bps), AMOUNT_MAX)
        reverse = IndicativePriceRequest(ask.buy_token, ask.sell_token, promise)
        try:
            price = await observe.in_phase("amount", self.price(key, reverse))
        except InsufficientLiquidity:
            return 1
        return min(at_least.first_sell_amount(price.best.buy_amount), AMOUNT_MAX)

    async def _quote(self, key: ApiKey, ask: SwapQuoteRequest, sell_amount: int) -> SwapQuote:
        request, head, reading = await observe.in_phase("tokens", self._tokens(ask, sell_amount))
        prices = observe.in_phase("prices", self._context(key, request, head))
        context_task = asyncio.create_task(prices)
        asking = self.collect_routes(key.client_id, request, ask.verified, reading)
        try:
            if reading is None:
                collected = await asking
            else:
                request, collected = await _both(reading, asking)
            context = await context_task
        finally:
            context_task.cancel()
        if not collected.candidates:
            await self._require_supply(ask, sell_amount, collected.reports)
            raise no_route_error(collected.reports, ask.sell_token, ask.buy_token)
        quote = self._compose(request, collected, context, head)
        return replace(quote, batch=await batched_form(quote, collected, ask.conversion))

    async def _require_supply(
        self, ask: SwapQuoteRequest, sell_amount: int, reports: Sequence[SourceReport]
    ) -> None:
        """Raise InvalidAmount if no swap could be simulated because nobody can hold so much.

        Some tokens count in fewer bits than 256, so that no balance can be set for a simulation.
        """
        is_blind = any(report.outcome is SourceOutcome.UNVERIFIED for report in reports)
        supply = await self.chain.total_supply(ask.sell_token) if is_blind else None
        if supply is None or sell_amount <= supply:
            return
        reason = f"it is more than the token's whole supply of {supply}"
        if isinstance(ask.sell_amount, AtLeast):
            raise InsufficientLiquidity(sources=(), message=f"sellAmount {sell_amount}: {reason}")
        raise InvalidAmount(field="sellAmount", provided=str(sell_amount), reason=reason)

    async def _tokens(
        self, ask: SwapQuoteRequest, sell_amount: int
    ) -> "tuple[RouteRequest, Head, asyncio.Future[RouteRequest] | None]":
        """Return the request and the head; nearly always all is cached, and nothing is waited for.

        A token that was not read yet is read beside the sources: the future has the whole request.
        """
        pair = ask.sell_token, ask.buy_token
        require_tradable(self.tokens, *pair)
        head = await self.chain.head(max_age_s=_GAS_PRICE_MAX_AGE_S)

        async def whole() -> RouteRequest:
            tokens = await tradable_tokens(self.chain, self.tokens, *pair)
            return self._request(ask, sell_amount, *tokens, head)

        if self.chain.has_read(*pair):
            return await whole(), head, None
        reading = asyncio.create_task(whole())  # not cancelled: another caller may share its routes
        reading.add_done_callback(lambda task: task.cancelled() or task.exception())
        sell, buy = (Token(address, UNREAD_DECIMALS) for address in pair)
        return self._request(ask, sell_amount, sell, buy, head), head, reading

    def _request(
        self, ask: SwapQuoteRequest, sell_amount: int, sell: Token, buy: Token, head: Head
    ) -> RouteRequest:
        return RouteRequest(
            sell=sell,
            buy=buy,
            sell_amount=sell_amount,
            wallet=ask.wallet,
            slippage_bps=ask.slippage_bps,
            gas_price_wei=max(head.next_base_fee, 1),
            deadline=deadline_base_s(self.clock.now_ms(), head.time)
            + self.terms.calldata_life_ms // 1000,
        )

    async def _context(self, key: ApiKey, request: RouteRequest, head: Head) -> _QuoteContext:
        for _ in range(2):  # turns of the loop, in which the sources are asked: they take longest
            await asyncio.sleep(0)
        nonces = await self.orders.own_nonces(key.client_id, request.wallet)
        sell, buy = request.sell, request.buy
        prices = await self.prices.usd(WETH, sell.address, buy.address)
        by_pools = await self.prices.by_pools(sell.address, buy.address)  # `usd` reads them, too
        await require_no_fork(self.chain, head.time)
        return _QuoteContext(nonces, scoring.UsdRates(*prices), by_pools)

    def _compose(
        self, request: RouteRequest, collected: CollectedRoutes, context: _QuoteContext, head: Head
    ) -> SwapQuote:
        read = scoring.PricingContext(
            request.sell,
            request.sell_amount,
            request.buy,
            context.rates,
            collected.prepared.next_base_fee,
            scoring.first_approval_gas(is_amsterdam=head.is_amsterdam),
        )
        market = scoring.without_contradicted_prices(read, collected.candidates)
        sender, reference = collected.prepared.sender, context.reference(request)
        terms = self.terms
        best, *others = scoring.rank(
            collected.candidates, read, _approved(request, sender), reference
        )
        reports = scoring.with_reference(_named(collected.reports, best.route.source), reference)
        _observe([best, *others], reports)
        weighed = scoring.gas_price_in_buy_token(collected.candidates, read) is not None
        scored = scoring.score(best, market)
        sold = scoring.value_usd(market.sell_amount, market.sell, market.rates.sell)
        bought = scoring.value_usd(best.worth, market.buy, market.rates.buy)
        impact = scoring.impact_percent(best.route.impact_percent, sold, bought)
        threat, rebate = self._threat(best, market, impact, sold if bought is None else bought)
        limit = best.gas_limit or fees.gas_limit_for(best.gas) + fees.NEW_SLOT_GAS
        nonce = next_nonce(sender.nonce, sender.pending_nonce, context.nonces)
        params = collected.transaction(best.route.target, best.route.data, limit, nonce)
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
            threat_known=threat.known,
            protection_usd=threat.loss_usd * terms.attack_probability,
            protection=protect(self.relays, terms.endpoint_type, terms.share_mode, rebate),
            params=params,
            verification=best.verification,
            issued_at_ms=self.clock.now_ms(),
            alternatives=tuple(
                AlternativeRoute(c.route.source, c.worth, scoring.score(c, market).net_value_usd)
                for c in others
            ),
            sources=reports,
            notes=(
                *((CONTRACT_NOTE,) if is_contract(sender.code) else ()),
                *notes(best, request.buy.address, market.rates, context.rates, weighed=weighed),
            ),
            issues=_issues(request, params, sender),
            usd_cents=_usd_cents(sold, bought),
        )

    @staticmethod
    def _threat(
        best: scoring.Candidate,
        market: scoring.PricingContext,
        impact: Decimal | None,
        value: Decimal | None,
    ) -> tuple[mev.SandwichRisk, Decimal]:
        sell, buy = market.sell.address, market.buy.address
        fee = mev.pool_fee(sell, buy)
        share = (impact or Decimal(0)) / 100
        gas_wei = Decimal(mev.ATTACK_GAS * market.base_fee)
        cost = gas_wei.scaleb(-18) * (market.rates.eth or Decimal(0))
        slippage = 1 - Decimal(best.route.min_buy_amount) / Decimal(best.worth)
        threat = mev.assess_sandwich(
            value_usd=value,
            impact=None if impact is None else share,
            fee=fee,
            slippage=slippage,
            attack_cost=cost,
        )
        majors = sell in mev.MAJORS and buy in mev.MAJORS
        rebate = mev.expected_rebate(
            value_usd=value or Decimal(0), impact=share, fee=fee, majors=majors
        )
        return threat, rebate


async def _both(
    reading: "asyncio.Future[RouteRequest]", asking: Coroutine[Any, Any, CollectedRoutes]
) -> tuple[RouteRequest, CollectedRoutes]:
    """Return the results of both; an error of `reading` ends the other at once."""
    collecting = asyncio.create_task(asking)
    try:
        return await asyncio.shield(reading), await collecting
    finally:
        collecting.cancel()


def _usd_cents(*values: Decimal | None) -> int | None:
    """Return the greater value of the two sides: a price that is too low must not hide a swap."""
    known_usd = [value for value in values if value is not None]
    return to_cents(max(known_usd)) if known_usd else None


def _approved(request: RouteRequest, sender: AccountState) -> set[Address]:
    allowances = sender.allowances.items()
    return {router for router, allowed in allowances if allowed >= request.sell_amount}


def _issues(
    request: RouteRequest, params: UnsignedTransaction, sender: AccountState
) -> QuoteIssues:
    return find_issues(
        params,
        request.sell.address,
        request.sell_amount,
        sell_balance=sender.sell_balance,
        allowance=sender.allowances.get(params.to, 0),
        eth_balance=sender.eth_balance,
    )


def _observe(ranked: Sequence[scoring.Candidate], reports: Sequence[SourceReport]) -> None:
    bps = {report.source: report.reference_bps for report in reports}
    for place, candidate in enumerate(ranked, 1):
        source = candidate.route.source
        observe.source_ranked(source, place, bps.get(source))


def _named(reports: Sequence[SourceReport], winner: str) -> tuple[SourceReport, ...]:
    return tuple(
        replace(report, outcome=SourceOutcome.WON) if report.source == winner else report
        for report in reports
    )
