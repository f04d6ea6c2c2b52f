"""The whole sandbox put together: chain, node, relays, builder, searcher, venues, prices, control.

The only module that knows every part. Everything runs in the caller's event loop but anvil, which
is a process of its own and dies with this one.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from quietswap.domain.address import Address
from quietswap.sandbox.builder import Builder
from quietswap.sandbox.chain import Chain, running_chain
from quietswap.sandbox.control import Control, Controlled
from quietswap.sandbox.faults import RELAYS, VENUES, Fault, FaultBoard
from quietswap.sandbox.mempool import PublicRecord
from quietswap.sandbox.node import Node
from quietswap.sandbox.part import Part
from quietswap.sandbox.prices import CoinGecko, DefiLlama
from quietswap.sandbox.relay import Relay
from quietswap.sandbox.searcher import Searcher
from quietswap.sandbox.tokens import TOKENS
from quietswap.sandbox.turns import Turns
from quietswap.sandbox.venues.kyberswap import KyberSwap
from quietswap.sandbox.venues.market import Market
from quietswap.sandbox.venues.oneinch import OneInch
from quietswap.sandbox.venues.openocean import OpenOcean
from quietswap.sandbox.venues.sushi import Sushi
from quietswap.sandbox.venues.velora import Velora
from quietswap.sandbox.venues.zeroex import ZeroEx
from quietswap.sandbox.wallets import WALLETS, Wallet
from quietswap.sandbox.web import Answer, Handler, Request, Server

CONTROL = "control"


class _Served(Protocol):
    async def handle(self, request: Request) -> Answer: ...


_VENUES: dict[str, Callable[[Market, FaultBoard], _Served]] = {
    "kyberswap": KyberSwap,
    "velora": Velora,
    "sushi": Sushi,
    "openocean": OpenOcean,
    "zeroex": ZeroEx,
    "oneinch": OneInch,
}


@dataclass(frozen=True, slots=True)
class Options:
    """How a sandbox is started.

    `block_time` in seconds; `faults` as `faults.parse_option` reads them; `ports` by part name or
    `control`, a free port for those left out. A `paused` one builds blocks only when told to.
    """

    block_time: float = 2.0
    faults: Sequence[tuple[str, Fault]] = ()
    ports: Mapping[str, int] = field(default_factory=dict)
    paused: bool = False


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A running sandbox: its parts, and where they are served. URLs end without a slash."""

    chain: Chain
    board: FaultBoard
    builder: Builder
    searcher: Searcher
    relays: Mapping[str, Relay]
    public: PublicRecord
    urls: Mapping[str, str]
    """By part name, and `control`."""
    _running: AsyncExitStack

    @classmethod
    async def start(cls, options: Options | None = None) -> "Sandbox":
        """Start everything and return when it answers; end it with `stop`.

        Raises MissingPackage (says what to install), AnvilFailed, GenesisFailed, and OSError when
        a wanted port is taken. Nothing is left running then, nor when it is cancelled.
        """
        options = options or Options()
        async with AsyncExitStack() as stack:
            chain = await stack.enter_async_context(running_chain(order="fifo"))
            board, turns, public = FaultBoard(options.faults), Turns(), PublicRecord()
            relays = {name: Relay(name, chain.rpc, board) for name in RELAYS}
            searcher = Searcher(chain)
            await searcher.start()
            builder = Builder(
                chain,
                turns=turns,
                relays=list(relays.values()),
                searcher=searcher,
                public=public,
                block_time=options.block_time,
                genesis=int((await chain.head())["number"], 16),
            )
            builder.paused = options.paused
            node = Node(chain.rpc, turns, public, board)
            stack.push_async_callback(node.close)
            handlers = _handlers(chain, board) | {n: one.handle for n, one in relays.items()}
            parts = _parts(handlers | {"node": node.handle}, board, options)
            urls = {part.name: await _serve(stack, part) for part in parts}

            async def settled() -> None:
                await asyncio.gather(*(part.settled() for part in parts))

            control = Control(
                Controlled(chain, board, builder, [*relays.values()], searcher, public, settled)
            )
            served = Server(control.handle, options.ports.get(CONTROL, 0))
            urls[CONTROL] = await served.start()
            stack.push_async_callback(served.stop)
            stack.push_async_callback(_end, builder, asyncio.create_task(builder.run()))
            return cls(chain, board, builder, searcher, relays, public, urls, stack.pop_all())

    async def stop(self) -> None:
        """End everything; nothing is left of it afterwards. Harmless when done twice."""
        await self._running.aclose()

    @property
    def rpc_url(self) -> str:
        """The node to use: a proxy before the chain that keeps private things private."""
        return self.urls["node"]

    @property
    def relay_url(self) -> str:
        """The relay of tier 2."""
        return self.urls["relay"]

    @property
    def backup_relay_url(self) -> str:
        """The relay of tier 4."""
        return self.urls["backup_relay"]

    @property
    def control_url(self) -> str:
        """Where faults are switched and blocks are made (see `control.ROUTES`)."""
        return self.urls[CONTROL]

    @property
    def defillama_url(self) -> str:
        """The first price source."""
        return self.urls["defillama"]

    @property
    def coingecko_url(self) -> str:
        """The second price source."""
        return self.urls["coingecko"]

    @property
    def venues(self) -> Mapping[str, str]:
        """The base URL of each aggregator, by its name."""
        return {name: self.urls[name] for name in VENUES}

    @property
    def wallets(self) -> Sequence[Wallet]:
        """Accounts that hold ETH and some of every token."""
        return WALLETS

    @property
    def tokens(self) -> Mapping[str, Address]:
        """Token addresses by symbol."""
        return {symbol: token.address for symbol, token in TOKENS.items()}


@asynccontextmanager
async def running_sandbox(options: Options | None = None) -> AsyncIterator[Sandbox]:
    """Run a sandbox for the length of a `with` block (see `Sandbox.start`)."""
    sandbox = await Sandbox.start(options)
    try:
        yield sandbox
    finally:
        await sandbox.stop()


def _handlers(chain: Chain, board: FaultBoard) -> dict[str, Handler]:
    market = Market(chain)
    venues: dict[str, Handler] = {
        name: venue(market, board).handle for name, venue in _VENUES.items()
    }
    prices: dict[str, Handler] = {
        "defillama": DefiLlama(market, board).handle,
        "coingecko": CoinGecko(market, board).handle,
    }
    return venues | prices


def _parts(handlers: Mapping[str, Handler], board: FaultBoard, options: Options) -> list[Part]:
    return [
        Part(name, board, handler, options.ports.get(name, 0)) for name, handler in handlers.items()
    ]


async def _serve(stack: AsyncExitStack, part: Part) -> str:
    url = await part.start()
    stack.push_async_callback(part.stop)
    return url


async def _end(builder: Builder, running: asyncio.Task[None]) -> None:
    builder.halt()
    await running
