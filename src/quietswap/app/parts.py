"""The running parts of one process, wired and taken down in order."""

import asyncio
import secrets
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from quietswap.adapters.chain import NodeChain
from quietswap.adapters.http import HttpClient
from quietswap.adapters.jsonrpc import JsonRpc
from quietswap.adapters.prices import UsdPrices
from quietswap.adapters.prices_chainlink import Chainlink
from quietswap.adapters.prices_coingecko import CoinGecko
from quietswap.adapters.prices_defillama import DefiLlama
from quietswap.api.use_cases import UseCases
from quietswap.app import choices
from quietswap.app.ids import order_id
from quietswap.domain.submission import OrderLimits
from quietswap.ports.outside import Clock, Relay
from quietswap.services.api_keys import Authenticate
from quietswap.services.ask_sources import Source
from quietswap.services.deliver_order import Delivery
from quietswap.services.order_history import OrderHistory
from quietswap.services.order_status import OrderStatus
from quietswap.services.quote_swap import QuoteSwap
from quietswap.services.quote_wrap import QuoteWrap
from quietswap.services.serve_alone import ServeAlone, SoleRates
from quietswap.services.submit_swap import SubmitSwap
from quietswap.services.submit_wrap import SubmitWrap
from quietswap.services.survey_routes import SurveyRoutes
from quietswap.services.verify_route import VerifyRoutes
from quietswap.services.wrap_info import ReadWrapInfo
from quietswap.settings.schema import Settings
from quietswap.storage.open import Storage, open_storage

_ALONE_WITHIN_S = 3.0
"""`serve` waited for an old process before; one that fails later than 5.5 s is started for ever."""


@dataclass(frozen=True, slots=True)
class Outside:
    """Everything beyond this process but the database."""

    http: HttpClient
    rpc: JsonRpc
    chain: NodeChain
    prices: UsdPrices
    relays: Mapping[int, Relay]
    sources: tuple[Source, ...]


def reach_outside(settings: Settings, clock: Clock) -> Outside:
    """Return the adapters; nothing is called yet. Raises BadSettings."""
    choices.check_urls(settings)
    http = HttpClient(user_agent=settings.quotes.client_name)
    node = settings.node
    rpc = JsonRpc(
        http, node.urls, clock, timeout_s=node.timeout_s, max_lag_blocks=node.max_lag_blocks
    )
    web = settings.prices
    gecko = CoinGecko(http, clock, url=web.coingecko_url, key=web.coingecko_key)
    llama = DefiLlama(http, clock, url=web.defillama_url)
    names = choices.chosen_sources(settings)
    return Outside(
        http=http,
        rpc=rpc,
        chain=NodeChain(rpc, clock, head_ttl_s=min(0.9, settings.tracking.poll_s / 2)),
        prices=UsdPrices(Chainlink(rpc, clock), [llama, gecko], clock, ttl_s=web.cache_s),
        relays=choices.make_relays(settings, http, clock),
        sources=tuple(choices.make_source(settings, name, http, clock) for name in names),
    )


@dataclass(frozen=True, slots=True)
class Parts:
    """One process's service: what the edge calls and what the tracker needs.

    `alone` is None where rate windows are shared, and any number of processes may serve.
    """

    settings: Settings
    outside: Outside
    storage: Storage
    alone: ServeAlone | None
    delivery: Delivery
    use: UseCases

    async def ping(self) -> None:
        """Return when the stores answer and this process may count. Raises StoreDown."""
        await self.storage.ping()
        if self.alone:
            self.alone.check()


async def open_parts(settings: Settings, clock: Clock, stack: AsyncExitStack) -> Parts:
    """Open the database, wire everything, and register how it is taken down on `stack`.

    Raises BadSettings, StoreDown, NotAlone, and what quietswap.storage.open.open_storage raises.
    """
    outside = reach_outside(settings, clock)
    stack.push_async_callback(outside.http.close)
    stack.push_async_callback(outside.rpc.close)
    storage = await open_storage(
        settings.storage.url,
        clock=clock,
        rates_url=settings.storage.redis_url,
        alone=settings.storage.redis_url is None,
    )
    stack.push_async_callback(storage.close)
    alone = None if storage.shared_rates else await _serve_alone(storage, clock, stack)
    delivery = Delivery(storage.orders, outside.chain, dict(outside.relays), clock)
    stack.push_async_callback(delivery.drain)
    use = _use_cases(settings, outside, storage, delivery, clock)
    if alone:
        rate, guesses = SoleRates(storage.rates, alone), SoleRates(storage.guesses, alone)
        use = replace(use, rate=rate, guesses=guesses)
    return Parts(settings, outside, storage, alone, delivery, use)


async def _serve_alone(storage: Storage, clock: Clock, stack: AsyncExitStack) -> ServeAlone:
    alone = ServeAlone(storage.alone, clock)
    await alone.begin(_ALONE_WITHIN_S)
    keeping = asyncio.create_task(alone.keep())

    async def stop() -> None:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)

    stack.push_async_callback(stop)
    return alone


def _use_cases(
    settings: Settings, outside: Outside, storage: Storage, delivery: Delivery, clock: Clock
) -> UseCases:
    limits = OrderLimits(
        expiry_ms=settings.tracking.order_expiry_s * 1000,
        watch_ms=settings.tracking.watch_s * 1000,
    )
    return UseCases(
        quote_swap=_quote_swap(settings, outside, storage, clock),
        submit_swap=SubmitSwap(
            quotes=storage.quotes,
            orders=storage.orders,
            chain=outside.chain,
            relays=outside.relays,
            delivery=delivery,
            clock=clock,
            new_id=lambda: order_id("ord", clock),
            limits=limits,
        ),
        order_status=OrderStatus(storage.orders),
        order_history=OrderHistory(storage.orders, clock),
        wrap_info=ReadWrapInfo(outside.chain),
        quote_wrap=QuoteWrap(
            chain=outside.chain,
            quotes=storage.quotes,
            relays=outside.relays,
            terms=choices.wrap_terms(settings),
            clock=clock,
            new_suffix=lambda: secrets.token_hex(4),
        ),
        submit_wrap=SubmitWrap(
            quotes=storage.quotes,
            orders=storage.orders,
            chain=outside.chain,
            relays=outside.relays,
            delivery=delivery,
            clock=clock,
            new_id=lambda: order_id("wrp", clock),
            limits=limits,
            explorer_url=settings.tracking.explorer_url,
        ),
        authenticate=Authenticate(storage.keys, clock),
        rate=storage.rates,
        guesses=storage.guesses,
    )


def _quote_swap(settings: Settings, outside: Outside, storage: Storage, clock: Clock) -> QuoteSwap:
    pinned = {source.name: choices.routers(settings, source.name) for source in outside.sources}
    quotes = settings.quotes
    verify = VerifyRoutes(outside.chain, pinned, required=quotes.require_verification)
    survey = SurveyRoutes(
        outside.sources,
        verify,
        clock,
        soft_s=quotes.soft_deadline_s,
        hard_s=quotes.hard_deadline_s,
    )
    return QuoteSwap(
        chain=outside.chain,
        prices=outside.prices,
        survey=survey,
        quotes=storage.quotes,
        orders=storage.orders,
        relays=outside.relays,
        tokens=choices.token_policy(settings),
        terms=choices.swap_terms(settings),
        clock=clock,
        new_id=lambda: f"swq_{secrets.token_hex(12)}",
    )
