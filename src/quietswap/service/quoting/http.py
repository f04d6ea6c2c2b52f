"""The handler of swap quotes."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace

from quietswap.rules.contract import quotes as contract
from quietswap.rules.contract.quotes import SwapQuoteEnvelope
from quietswap.rules.contract.requests import SwapQuoteQuery
from quietswap.rules.quotes.indicative_price import IndicativePrice
from quietswap.rules.quotes.quote import SourceReport, SwapQuote
from quietswap.rules.quotes.request import SwapQuoteRequest
from quietswap.rules.quotes.scoring import Candidate
from quietswap.service.api.event_sender import (
    ANSWER_EVENT,
    EVENT_STREAM,
    ROUTE_EVENT,
    event_text,
)
from quietswap.service.api.json import StreamedAnswer, amount, number
from quietswap.service.api.operation import ApiRequest, operation
from quietswap.service.api.parsing import requests
from quietswap.service.quoting.quote_response import loss_of, scoring_of, swap_quote_response

_CODES = (
    "INVALID_TOKEN_ADDRESS NATIVE_ETH_NOT_SUPPORTED INVALID_AMOUNT USER_ADDRESS_REQUIRED "
    "INVALID_ADDRESS INVALID_PARAMETER INSUFFICIENT_LIQUIDITY TOKEN_NOT_SUPPORTED "
    "WALLET_NOT_ALLOWED TOKEN_NOT_ALLOWED SWAP_VALUE_UNKNOWN SWAP_VALUE_LIMIT_EXCEEDED "
    "QUOTE_LIMIT_EXCEEDED SERVICE_UNAVAILABLE"
)


@operation("GET /api/v1/quote", _CODES, query=SwapQuoteQuery)
async def swap_quote(request: ApiRequest) -> SwapQuoteEnvelope:
    """Best verified route and the transaction to sign."""
    query = request.query_values(SwapQuoteQuery)
    return _envelope(await request.use.quote_swap(request.key, requests.parse_swap_quote(query)))


def _envelope(quote: SwapQuote) -> SwapQuoteEnvelope:
    data = swap_quote_response(quote)
    return SwapQuoteEnvelope(ok=True, data=data, timestamp=quote.issued_at_ms)


@operation(
    "GET /api/v1/quote/stream",
    _CODES,
    ends_with=SwapQuoteEnvelope,
    query=SwapQuoteQuery,
    streams=(contract.StreamedRoute,),
)
async def swap_quote_stream(request: ApiRequest) -> StreamedAnswer:
    """The same quote as events: each verified route, then the answer."""
    ask = requests.parse_swap_quote(request.query_values(SwapQuoteQuery))
    return StreamedAnswer(EVENT_STREAM, _quote_events(request, ask))


async def _quote_events(request: ApiRequest, ask: SwapQuoteRequest) -> AsyncGenerator[bytes]:
    """Yield an event for each route when it is verified, then the answer. Raises its error.

    Nothing is left running when the generator is closed.
    """
    verified: asyncio.Queue[Candidate | None] = asyncio.Queue()
    streamed = replace(ask, verified=verified.put_nowait)
    quoting = asyncio.ensure_future(request.use.quote_swap(request.key, streamed))
    quoting.add_done_callback(lambda _: verified.put_nowait(None))
    try:
        while (candidate := await verified.get()) is not None:
            yield event_text(ROUTE_EVENT, _streamed_route(candidate))
        yield event_text(ANSWER_EVENT, _envelope(await quoting))
    finally:
        quoting.cancel()
        await asyncio.gather(quoting, return_exceptions=True)


def _streamed_route(candidate: Candidate) -> contract.StreamedRoute:
    """Return a route without calldata: only the stored quote has a transaction."""
    route = candidate.route
    return contract.StreamedRoute(
        signable=False,
        source=route.source,
        buy_amount=amount(candidate.worth),
        min_buy_amount=amount(route.min_buy_amount),
        promised=amount(route.buy_amount),
        simulated=amount(candidate.simulated),
        estimated_gas=candidate.gas,
    )


def price_response(price: IndicativePrice) -> contract.PriceResponse:
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
        scoring=scoring_of(price),
        sources=tuple(map(_price_source, price.sources)),
        loss=loss_of(price, 0),
    )


def _price_source(report: SourceReport) -> contract.PriceSourceEntry:
    return contract.PriceSourceEntry(
        source=report.source,
        outcome=report.outcome.value,
        latency_ms=report.latency_ms,
        buy_amount=None if report.promised is None else amount(report.promised),
        reason=report.reason,
        reference_bps=report.reference_bps,
    )
