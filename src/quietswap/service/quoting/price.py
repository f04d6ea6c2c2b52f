"""GET /api/v1/price: what the sources promise, without wallet, transaction or storage."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field

from cachetools import TTLCache

from quietswap.rules.amounts import BPS
from quietswap.rules.chain.records import ChainReader, Head
from quietswap.rules.clients import ApiKey
from quietswap.rules.errors.base import RequestError
from quietswap.rules.errors.requests import InvalidParameter
from quietswap.rules.quotes import indicative_price, scoring
from quietswap.rules.quotes.quote import NoRoute, NoRouteReason, SourceOutcome, SourceReport
from quietswap.rules.quotes.request import IndicativePriceRequest
from quietswap.rules.safety.loss import CONFIRM_BPS
from quietswap.rules.tokens.token import WETH, TokenPolicy
from quietswap.service.base.clock import Clock
from quietswap.service.base.concurrency import SingleFlight
from quietswap.service.clients.failures import service_unavailable
from quietswap.service.node.work import name_tokens
from quietswap.service.prices.usd import UsdPrices
from quietswap.service.quoting.routes import no_route_error, tradable_tokens
from quietswap.service.quoting.source_pauses import SourcePauses
from quietswap.service.quoting.sources import Source, SourceAnswer, SourceFanOut
from quietswap.service.sources.adapter import VendorAdapter

ANSWER_TTL_S = 2.0
"""An answer is given again for so long: a page asks while its user types."""
_ANSWERS_CACHED = 4096
NOT_ASKED = "not asked: the price is that of the service's own source, at no vendor's budget"


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A price or why there is none; `is_partial`: only this client may not ask each source."""

    client_id: str
    is_partial: bool
    price: indicative_price.IndicativePrice | RequestError


@dataclass(slots=True, kw_only=True)
class QuotePrice:
    """`soft_s`, `hard_s`: as for quotes; seconds until one price is enough, and until the end.

    The service's own source is asked first: it has no vendor's budget. The vendors keep theirs for
    the quotes that follow, unless it gives no price near the reference of the pools and feeds.

    Answers hold nothing of a client. So concurrent and later equal requests share one answer, and
    the first client's share of the vendor budgets pays for it. Where that share was spent, the
    answer is that client's alone: nobody else gets fewer sources by it.
    """

    chain: ChainReader
    prices: UsdPrices
    sources: Sequence[Source]
    pauses: SourcePauses
    tokens: TokenPolicy
    clock: Clock
    soft_s: float
    hard_s: float
    _in_flight: SingleFlight[tuple[IndicativePriceRequest, str], _Outcome] = field(init=False)
    _answers: TTLCache[IndicativePriceRequest, indicative_price.IndicativePrice] = field(init=False)

    def __post_init__(self) -> None:
        self._in_flight = SingleFlight()
        self._answers = TTLCache(_ANSWERS_CACHED, ANSWER_TTL_S, timer=self.clock.monotonic)

    async def __call__(
        self, key: ApiKey, ask: IndicativePriceRequest
    ) -> indicative_price.IndicativePrice:
        """Return the best promise, with the result of each source.

        Raises InvalidTokenAddress, TokenNotSupported, InsufficientLiquidity, ServiceUnavailable,
        and InvalidParameter if there is no own source and no other may be asked.
        """
        if ask.only_own:
            self.require_own()
        name_tokens(ask.sell_token, ask.buy_token)
        await self.pauses.refresh()
        cached = self._answers.get(ask)
        if cached is not None:
            return cached
        with service_unavailable():
            client_id = key.client_id
            answer = await self._in_flight((ask, ""), lambda: self._asked(client_id, ask))
            if answer.is_partial and answer.client_id != client_id:
                own = ask, client_id
                answer = await self._in_flight(own, lambda: self._asked(client_id, ask))
            if isinstance(answer.price, RequestError):
                raise answer.price.with_traceback(None)
            return answer.price

    def require_own(self) -> None:
        """Raise InvalidParameter if no source reads the operator's node."""
        if not any(source.is_own for source in self.sources):
            raise InvalidParameter(
                parameter="sources", provided="own", reason="this service has no source of its own"
            )

    async def own_amount(self, client_id: str, ask: IndicativePriceRequest) -> int | None:
        """Return what the own source promises now; None without a promise. Nobody else is asked.

        Raises InvalidTokenAddress, TokenNotSupported and NodeUnavailable.
        """
        name_tokens(ask.sell_token, ask.buy_token)
        await self.pauses.refresh()
        request, _ = await self._request(ask)
        own = [source for source in self.sources if source.is_own]
        answers = await self._collect(client_id, request, own, until_found=True)
        return max((one.found.buy_amount for one in answers.values() if one.found), default=None)

    async def _request(
        self, ask: IndicativePriceRequest
    ) -> tuple[indicative_price.SourcePriceRequest, Head]:
        """Return what sources are asked, and the head of which it has the base fee."""
        # at once: unlike a quote's, this head may not be older than a block, so it is seldom cached
        (sell, buy), head = await asyncio.gather(
            tradable_tokens(self.chain, self.tokens, ask.sell_token, ask.buy_token),
            self.chain.head(),
        )
        base_fee = max(head.next_base_fee, 1)
        return indicative_price.SourcePriceRequest(sell, buy, ask.sell_amount, base_fee), head

    async def _asked(self, client_id: str, ask: IndicativePriceRequest) -> _Outcome:
        request, head = await self._request(ask)
        sell, buy = request.sell, request.buy
        asked_at_ms = self.clock.now_ms()
        own = [source for source in self.sources if source.is_own]
        first = own if own or ask.only_own else self.sources
        is_last = ask.only_own or not own
        usd, by_pools, answers = await asyncio.gather(
            self.prices.usd(WETH, sell.address, buy.address),
            self.prices.by_pools(sell.address, buy.address),
            self._collect(client_id, request, first, until_found=is_last),
        )
        market = scoring.PricingContext(
            sell, ask.sell_amount, buy, scoring.UsdRates(*usd), head.next_base_fee
        )
        reference = scoring.reference_amount(sell, ask.sell_amount, buy, by_pools)
        if not is_last and not _is_fair(answers, reference):
            vendors = [source for source in self.sources if not source.is_own]
            answers |= await self._collect(client_id, request, vendors, until_found=True)
        is_partial = any(
            answers[source.name].skipped and source.may_be_asked
            for source in self.sources
            if source.name in answers
        )
        rows = [answers.get(one.name) or _not_asked(one.name) for one in self.sources]
        try:
            price = self._compose(request, market, reference, rows, asked_at_ms)
        except RequestError as error:
            return _Outcome(client_id, is_partial, error)
        if not is_partial:
            self._answers[ask] = price
        return _Outcome(client_id, is_partial, price)

    async def _collect(
        self,
        client_id: str,
        request: indicative_price.SourcePriceRequest,
        sources: Sequence[Source],
        *,
        until_found: bool,
    ) -> dict[str, SourceAnswer[scoring.SourcePrice]]:
        def ask(adapter: VendorAdapter) -> Awaitable[scoring.SourcePrice]:
            return adapter.price(request)

        with SourceFanOut(
            sources, client_id, ask, self.clock, hard_s=self.hard_s, soft_s=self.soft_s
        ) as asked:
            await asked.wait_for_prompt()
            while until_found and not asked.has_found and asked.is_open:
                await asked.wait(self.hard_s, first=True)
            return {answer.source: answer for answer in asked.answers()}

    def _compose(
        self,
        request: indicative_price.SourcePriceRequest,
        read: scoring.PricingContext,
        reference: int | None,
        answers: Sequence[SourceAnswer[scoring.SourcePrice]],
        asked_at_ms: int,
    ) -> indicative_price.IndicativePrice:
        promised = [answer.found for answer in answers if answer.found]
        if not promised:
            raise no_route_error(
                [_report(one) for one in answers if not one.miss or one.miss.reason != NOT_ASKED],
                request.sell.address,
                request.buy.address,
            )
        best = indicative_price.rank_prices(promised, read, reference)[0]
        used = scoring.without_contradicted_prices(read, promised).rates
        value = scoring.value_usd(best.buy_amount, request.buy, used.buy)
        cost = scoring.gas_cost_usd(best.gas_estimate, read.base_fee, used.eth)
        sold = scoring.value_usd(request.sell_amount, request.sell, used.sell)
        return indicative_price.IndicativePrice(
            sell_token=request.sell.address,
            buy_token=request.buy.address,
            sell_amount=request.sell_amount,
            best=best,
            impact_percent=scoring.impact_percent(best.impact_percent, sold, value),
            net_value_usd=None if value is None or cost is None else value - cost,
            gas_cost_usd=cost,
            asked_at_ms=asked_at_ms,
            sources=scoring.with_reference(
                [_report(answer, best.source) for answer in answers], reference
            ),
        )


def _is_fair(
    answers: Mapping[str, SourceAnswer[scoring.SourcePrice]], reference: int | None
) -> bool:
    """Return whether a promise is near the reference price, so that no vendor has to be asked."""
    best = max((one.found.buy_amount for one in answers.values() if one.found), default=0)
    return reference is not None and abs(best - reference) * BPS <= reference * CONFIRM_BPS


def _not_asked(source: str) -> SourceAnswer[scoring.SourcePrice]:
    miss = NoRoute(NoRouteReason.NO_ROUTE, NOT_ASKED)
    return SourceAnswer(source, 0, miss=miss, skipped=True)


def _report(answer: SourceAnswer[scoring.SourcePrice], winner: str = "") -> SourceReport:
    if answer.found is None:
        return answer.missed()
    outcome = SourceOutcome.WON if answer.source == winner else SourceOutcome.ANSWERED
    return SourceReport(answer.source, outcome, answer.latency_ms, answer.found.buy_amount)
