"""The whole network: chain, node, relays, block builder, searcher, venues, prices and control API.

Everything runs in the caller's event loop except the node: a process, which ends with this one.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from quietswap.rules.tx.address import Address
from quietswap.sandbox.block_builder import BlockBuilder
from quietswap.sandbox.chain.anvil import ReadWriteLock
from quietswap.sandbox.chain.geth_chain import running_geth_chain
from quietswap.sandbox.chain.local_chain import LocalChain, running_chain
from quietswap.sandbox.contracts.abi import WALLETS, Wallet
from quietswap.sandbox.contracts.pools import TOKENS
from quietswap.sandbox.control import ControlApi
from quietswap.sandbox.faults import RELAYS, VENUES, ActiveFaults, Fault
from quietswap.sandbox.geth_feeder import GethFeeder
from quietswap.sandbox.http_server import ComponentServer, Handler, HttpServer
from quietswap.sandbox.node import NAME as NODE
from quietswap.sandbox.node import NodeProxy
from quietswap.sandbox.relay import SandboxRelay
from quietswap.sandbox.searcher import Searcher
from quietswap.sandbox.vendors.market import CoinGeckoStub, DefiLlamaStub, FeedUpdater, Market
from quietswap.sandbox.vendors.stand_in import VendorStandIn, stand_ins

CONTROL = "control"


@dataclass(frozen=True, slots=True)
class SandboxNetwork:
    """A running sandbox: its parts and their URLs, without a trailing slash."""

    chain: LocalChain
    active_faults: ActiveFaults
    builder: BlockBuilder
    searcher: Searcher
    relays: Mapping[str, SandboxRelay]
    public: set[str]
    urls: Mapping[str, str]
    """By part name, and `control`."""

    @property
    def rpc_url(self) -> str:
        """The node's proxy, which hides private transactions."""
        return self.urls[NODE]

    @property
    def relay_url(self) -> str:
        return self.urls["relay"]

    @property
    def control_url(self) -> str:
        return self.urls[CONTROL]

    @property
    def venues(self) -> Mapping[str, str]:
        return {name: self.urls[name] for name in VENUES}

    @property
    def wallets(self) -> Sequence[Wallet]:
        """Accounts that hold ETH and every token."""
        return WALLETS

    @property
    def tokens(self) -> Mapping[str, Address]:
        return {symbol: token.address for symbol, token in TOKENS.items()}


@dataclass(frozen=True, slots=True)
class GethOptions:
    """Amsterdam's rules begin `amsterdam_in` seconds after the start; None: never."""

    amsterdam_in: int | None = None


def _running(
    block_time: float, geth: GethOptions | None
) -> AbstractAsyncContextManager[LocalChain]:
    if geth is None:
        return running_chain(order="fifo")
    return running_geth_chain(block_time, geth.amsterdam_in)


@asynccontextmanager
async def running_network(
    block_time: float = 2.0,
    faults: Iterable[tuple[str, Fault]] = (),
    ports: Mapping[str, int] | None = None,
    *,
    yields: bool = False,
    paused: bool = False,
    geth: GethOptions | None = None,
) -> AsyncIterator[SandboxNetwork]:
    """Start everything, and give it when it answers; end it after the `with` block.

    `block_time` in seconds; `faults` as returned by `faults.parse_option`; `ports` by part name or
    `control`. A part without a port takes a free one; with `yields` so does a part whose port is in
    use. With `paused`, blocks are built on request only. With `geth` the chain is on geth.

    Raises MissingPackage (the message says what to install), AnvilFailed, GethFailed, GenesisFailed
    and OSError when a port is in use. After an error or a cancellation nothing is left running.
    """
    ports = ports or {}
    async with AsyncExitStack() as stack:
        chain = await stack.enter_async_context(_running(block_time, geth))
        active_faults, chain_lock = ActiveFaults(faults), ReadWriteLock()
        public: set[str] = set()
        relays = {name: SandboxRelay(name, chain.rpc, active_faults) for name in RELAYS}
        searcher, feeds = Searcher(chain), FeedUpdater(chain)
        if not geth:
            await searcher.start()
        builder = (GethFeeder if geth else BlockBuilder)(
            chain=chain,
            chain_lock=chain_lock,
            relays=list(relays.values()),
            searcher=searcher,
            public=public,
            block_time=block_time,
            genesis=await chain.rpc.number("eth_blockNumber"),
            changed=None if geth else feeds.update,
            paused=paused,
        )
        node = NodeProxy(chain.rpc, chain_lock, public, active_faults, is_geth=geth is not None)
        stack.push_async_callback(node.close)
        market = Market(chain)
        venues = {name: kind(market, active_faults) for name, kind in stand_ins().items()}
        handlers: dict[str, Handler] = {name: one.handle for name, one in venues.items()}
        for price in (DefiLlamaStub, CoinGeckoStub):
            handlers[price.name] = price(market, active_faults).handle
        handlers |= {name: relay.handle for name, relay in relays.items()} | {NODE: node.handle}
        parts = [
            ComponentServer(name, active_faults, handle, ports.get(name, 0), yields=yields)
            for name, handle in handlers.items()
        ]
        urls = {part.name: await _serve(stack, part) for part in parts}
        control = ControlApi(
            builder, active_faults, feeds, partial(_settle, parts, venues.values())
        )
        server = HttpServer(control.handle, ports.get(CONTROL, 0), yields=yields)
        urls[CONTROL] = await _serve(stack, server)
        stack.push_async_callback(_end, builder, asyncio.create_task(builder.run()))
        yield SandboxNetwork(chain, active_faults, builder, searcher, relays, public, urls)


async def _serve(stack: AsyncExitStack, server: ComponentServer | HttpServer) -> str:
    url = await server.start()
    stack.push_async_callback(server.stop)
    return url


async def _settle(parts: Iterable[ComponentServer], venues: Iterable[VendorStandIn]) -> None:
    changing = [part.settled() for part in parts]
    await asyncio.gather(*changing, *(venue.settle() for venue in venues))


async def _end(builder: BlockBuilder, running: asyncio.Task[None]) -> None:
    builder.halt()
    await running
