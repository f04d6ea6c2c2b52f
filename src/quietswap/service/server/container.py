"""Builds the objects of one process and closes them in order."""

import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from quietswap.rules.orders.new_order import OrderTimeouts
from quietswap.rules.orders.order_ids import PREFIX_OF, new_order_id
from quietswap.rules.tx.fees import MAINNET_FORKS
from quietswap.service import observe
from quietswap.service.api.operation import UseCases
from quietswap.service.base.clock import Clock, SystemClock
from quietswap.service.base.http_client import HttpClient
from quietswap.service.clients.keys import Authenticate
from quietswap.service.clients.usage import GetUsage
from quietswap.service.events.feed import EventFeed
from quietswap.service.node.chain import NodeChain
from quietswap.service.node.rpc import NodeRpcClient
from quietswap.service.node.simulation.transfer_fee import TransferFeeMeter
from quietswap.service.node.token_metadata import TokenReader
from quietswap.service.node.work import NodeWork, TokenCosts
from quietswap.service.orders.cancel import CancelOrder
from quietswap.service.orders.export import ExportOrders
from quietswap.service.orders.history import GetOrderHistory, GetOrderStatus
from quietswap.service.orders.inclusion import GetInclusion
from quietswap.service.orders.statistics import GetOrderStatistics
from quietswap.service.orders.submit import OrderDelivery, SubmitOrder
from quietswap.service.orders.submit_swap import SubmitSwap
from quietswap.service.orders.submit_wrap import SubmitWrap
from quietswap.service.orders.tracking.single_process import GuardedRateStore, SingleProcessGuard
from quietswap.service.prices.usd import Chainlink, CoinGecko, DefiLlama, UsdPrices
from quietswap.service.quoting.price import QuotePrice
from quietswap.service.quoting.routes import CollectRoutes
from quietswap.service.quoting.source_pauses import SourcePauses
from quietswap.service.quoting.sources import Source
from quietswap.service.quoting.swap import QuoteSwap
from quietswap.service.quoting.verify import VerifyRoutes
from quietswap.service.quoting.wrap import GetWrapInfo, QuoteWrap
from quietswap.service.relays.relay import Relay
from quietswap.service.server import factories, token_catalogue, webhooks
from quietswap.service.server.public_url import public_url
from quietswap.service.server.shutdown import run_until_end
from quietswap.service.server.web import is_web_enabled
from quietswap.service.settings import Settings
from quietswap.service.sources.uniswap_reference import PoolPrices
from quietswap.service.storage.factory import Storage, open_storage
from quietswap.service.storage.inclusion import InclusionStore
from quietswap.service.storage.order_export import OrderExportStore
from quietswap.service.storage.order_statistics import OrderStatisticsStore
from quietswap.service.tokens.tokens import GetBalances, ListTokens
from quietswap.service.wallet_rpc.match import MatchTransaction, WalletOrders, WalletRpcPolicy
from quietswap.service.wallet_rpc.node import WalletNodeClient
from quietswap.service.wallet_rpc.send import SendRawTransaction
from quietswap.service.wallet_rpc.tokens import WalletRpcTokens
from quietswap.service.watches.manage import ManageWatches

_ALONE_WITHIN_S = 3.0
"""Wait for the lock at a worker's start; `serve` has already waited for an old process.

It is short, because granian restarts without end a worker that fails later than 5.5 s."""


@dataclass(frozen=True, slots=True)
class ExternalServices:
    """The adapters of all external services except the database."""

    http: HttpClient
    rpc: NodeRpcClient
    chain: NodeChain
    wallet_node: WalletNodeClient
    prices: UsdPrices
    pools: PoolPrices
    relays: Mapping[int, Relay]
    sources: tuple[Source, ...]
    webhooks: webhooks.WebhookCallers


def build_adapters(settings: Settings, clock: Clock) -> ExternalServices:
    """Return the adapters. No request is sent. Raises BadSettings."""
    factories.check_urls(settings)
    factories.check_names(settings)
    factories.check_body_limits(settings)
    factories.check_public_url(settings)
    is_web_enabled(settings)
    http = HttpClient(user_agent=settings.quotes.client_name)
    node = settings.node
    costs = TokenCosts(clock, factories.hub_tokens(settings))
    work = NodeWork(costs)
    rpc = NodeRpcClient(
        http,
        node.urls,
        clock,
        timeout_s=node.timeout_s,
        max_lag_blocks=node.max_lag_blocks,
        batch_size=node.batch_size,
        work=work,
    )
    web = settings.prices
    chain = _chain(settings, rpc, clock, costs)
    gecko = CoinGecko(http, chain.time, url=web.coingecko_url, key=web.coingecko_key)
    llama = DefiLlama(http, chain.time, url=web.defillama_url)
    names = factories.chosen_sources(settings)
    pools = PoolPrices(rpc, chain.time)
    return ExternalServices(
        http=http,
        rpc=rpc,
        chain=chain,
        wallet_node=WalletNodeClient(
            http,
            node.urls,
            clock,
            timeout_s=node.timeout_s,
            max_lag_blocks=node.max_lag_blocks,
            max_bytes=settings.wallet_rpc.max_result_bytes,
            batch_size=node.batch_size,
            work=work,
        ),
        prices=UsdPrices(
            Chainlink(rpc, chain.time),
            pools,
            [llama, gecko],
            clock,
            ttl_s=web.cache_s,
            hubs=factories.hub_tokens(settings),
        ),
        pools=pools,
        relays=factories.make_relays(settings, http, clock),
        sources=tuple(
            factories.make_source(settings, name, http, rpc, clock, costs) for name in names
        ),
        webhooks=webhooks.make_callers(settings, clock),
    )


def _chain(settings: Settings, rpc: NodeRpcClient, clock: Clock, costs: TokenCosts) -> NodeChain:
    return NodeChain(
        rpc,
        clock,
        head_ttl_s=min(0.9, settings.tracking.poll_s / 2),
        batch_size=settings.node.batch_size,
        costs=costs,
        fork_times=(*MAINNET_FORKS, *settings.node.fork_times),
    )


@asynccontextmanager
async def adapters_of_a_command(settings: Settings) -> AsyncIterator[ExternalServices]:
    """Build the adapters for one command, disable the log, and close them. Raises BadSettings."""
    observe.log_nothing()
    outside = build_adapters(settings, SystemClock())
    try:
        yield outside
    finally:
        await outside.rpc.close()
        await outside.http.close()


@dataclass(frozen=True, slots=True)
class Container:
    """The objects of one process for the API and the tracker.

    `alone` is None if rate windows are shared in Redis; then any number of processes may serve.
    """

    settings: Settings
    outside: ExternalServices
    storage: Storage
    alone: SingleProcessGuard | None
    delivery: OrderDelivery
    feed: EventFeed
    use: UseCases

    async def ping(self) -> None:
        """Check that the stores respond and the lock is held. Raises StoreUnavailable."""
        await self.storage.ping()
        if self.alone:
            self.alone.check()


async def open_container(settings: Settings, clock: Clock, stack: AsyncExitStack) -> Container:
    """Open the database and build all objects. Register their shutdown on `stack`.

    Raises BadSettings, StoreUnavailable, SecondProcessError, and the errors of
    `quietswap.service.storage.factory.open_storage`.
    """
    outside = build_adapters(settings, clock)
    for connections in (outside.http, outside.rpc, outside.wallet_node):
        stack.push_async_callback(connections.close)
    storage = await open_storage(
        settings.storage.url,
        clock=clock,
        rates_url=settings.storage.redis_url,
        traced=observe.is_tracing(),
    )
    stack.push_async_callback(storage.close)
    serving = SingleProcessGuard(storage.serving, clock, shared=storage.shared_rates is not None)
    await stack.enter_async_context(serving.held(_ALONE_WITHIN_S))
    # With a shared rate store, nothing depends on the lock: requests are counted right anyway.
    alone = None if storage.shared_rates else serving
    delivery = OrderDelivery(storage.orders, outside.chain, dict(outside.relays), clock)
    stack.push_async_callback(delivery.drain)
    feed = _event_feed(settings, storage, clock, stack)
    use = _use_cases(settings, outside, storage, delivery, clock, feed=feed)
    if alone:
        rate, guesses = (GuardedRateStore(s, alone) for s in (storage.rates, storage.guesses))
        use = replace(use, rate=rate, guesses=guesses)
    return Container(settings, outside, storage, alone, delivery, feed, use)


def _event_feed(
    settings: Settings, storage: Storage, clock: Clock, stack: AsyncExitStack
) -> EventFeed:
    feed = EventFeed(
        storage.events,
        clock,
        per_client=settings.events.streams_per_client,
        total=settings.events.max_streams,
    )
    run_until_end(stack, feed.run())
    stack.callback(feed.stop)
    return feed


def _use_cases(
    settings: Settings,
    outside: ExternalServices,
    storage: Storage,
    delivery: OrderDelivery,
    clock: Clock,
    *,
    feed: EventFeed,
) -> UseCases:
    core = _submit_order(settings, outside, storage, delivery, clock)
    reader = TokenReader(outside.wallet_node.reads_of, clock, TransferFeeMeter(clock))
    catalogue, policy = token_catalogue.token_catalogue(settings), factories.token_policy(settings)
    price = _quote_price(settings, outside, storage, clock)
    inclusion = GetInclusion(InclusionStore(storage.database), outside.relays, clock)
    return UseCases(
        quote_swap=_quote_swap(settings, outside, storage, price),
        submit_swap=SubmitSwap(core, inclusion),
        inclusion=inclusion,
        order_status=GetOrderStatus(storage.orders),
        order_history=GetOrderHistory(storage.orders, clock),
        order_statistics=GetOrderStatistics(
            OrderStatisticsStore(storage.database), outside.relays, clock
        ),
        export_orders=ExportOrders(OrderExportStore(storage.database), outside.chain),
        now_ms=clock.now_ms,
        wrap_info=GetWrapInfo(outside.chain),
        quote_wrap=QuoteWrap(
            chain=outside.chain,
            quotes=storage.quotes,
            usage=storage.usage,
            relays=outside.relays,
            terms=factories.wrap_terms(settings),
            clock=clock,
            new_suffix=lambda: secrets.token_hex(4),
        ),
        submit_wrap=SubmitWrap(core, explorer_url=settings.tracking.explorer_url),
        cancel=CancelOrder(core, new_quote_id=lambda: f"cnq_{secrets.token_hex(12)}"),
        rpc_tokens=WalletRpcTokens(storage.rpc_tokens, clock, public_url(settings)),
        rpc_node=outside.wallet_node,
        rpc_send=SendRawTransaction(core, _match(settings, outside, storage, clock)),
        rpc_orders=WalletOrders(storage.orders),
        webhooks=webhooks.make_manager(settings, storage, outside.webhooks.requested, clock),
        watches=ManageWatches(storage.watches, price, outside.chain.time),
        events=feed,
        list_tokens=ListTokens(catalogue, reader, policy),
        balances=GetBalances(reader, factories.chosen_routers(settings)),
        price=price,
        usage=GetUsage(storage.usage, clock),
        authenticate=Authenticate(storage.keys, clock),
        rate=storage.rates,
        guesses=storage.guesses,
    )


def _quote_price(
    settings: Settings, outside: ExternalServices, storage: Storage, clock: Clock
) -> QuotePrice:
    return QuotePrice(
        chain=outside.chain,
        prices=outside.prices,
        sources=outside.sources,
        pauses=SourcePauses(storage.paused_sources, outside.sources, clock),
        tokens=factories.token_policy(settings),
        clock=clock,
        soft_s=settings.quotes.soft_deadline_s,
        hard_s=settings.quotes.hard_deadline_s,
    )


def _match(
    settings: Settings, outside: ExternalServices, storage: Storage, clock: Clock
) -> MatchTransaction:
    wrap = factories.wrap_terms(settings)
    return MatchTransaction(
        tokens=token_catalogue.token_catalogue(settings),
        routers=factories.chosen_routers(settings),
        quotes=storage.quotes,
        orders=storage.orders,
        relays=outside.relays,
        clock=clock,
        policy=WalletRpcPolicy(
            max_fee_per_gas=settings.wallet_rpc.max_fee_gwei * 10**9,
            quote_validity_ms=settings.quotes.validity_s * 1000,
            endpoint_type=wrap.endpoint_type,
            share_mode=wrap.share_mode,
        ),
    )


def order_timeouts(settings: Settings) -> OrderTimeouts:
    return OrderTimeouts(
        expiry_ms=settings.tracking.order_expiry_s * 1000,
        watch_ms=settings.tracking.watch_s * 1000,
    )


def _submit_order(
    settings: Settings,
    outside: ExternalServices,
    storage: Storage,
    delivery: OrderDelivery,
    clock: Clock,
) -> SubmitOrder:
    return SubmitOrder(
        quotes=storage.quotes,
        orders=storage.orders,
        chain=outside.chain,
        relays=outside.relays,
        delivery=delivery,
        clock=clock,
        chain_clock=outside.chain.time,
        new_id=lambda kind: new_order_id(PREFIX_OF[kind], clock.now_ms()),
        limits=order_timeouts(settings),
    )


def _quote_swap(
    settings: Settings, outside: ExternalServices, storage: Storage, price: QuotePrice
) -> QuoteSwap:
    clock = price.clock
    pinned = {source.name: factories.routers(settings, source.name) for source in outside.sources}
    quotes = settings.quotes
    verify = VerifyRoutes(outside.chain, pinned, required=quotes.require_verification)
    collect_routes = CollectRoutes(
        outside.sources,
        verify,
        clock,
        soft_s=quotes.soft_deadline_s,
        hard_s=quotes.hard_deadline_s,
    )
    return QuoteSwap(
        chain=outside.chain,
        prices=outside.prices,
        price=price,
        pauses=price.pauses,
        collect_routes=collect_routes,
        quotes=storage.quotes,
        usage=storage.usage,
        orders=storage.orders,
        relays=outside.relays,
        tokens=factories.token_policy(settings),
        terms=factories.swap_terms(settings),
        clock=clock,
        new_id=lambda: f"swq_{secrets.token_hex(12)}",
    )
